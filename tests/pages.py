"""Pages as tests read them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Page(HTMLParser):
    """A parsed page: its elements in order, its visible text, and what is wrong with it."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.inline_code: list[str] = []
        self.unclosed: list[str] = []
        self.text = ""
        self.title = ""
        self._hidden = 0

    @classmethod
    def of(cls, response: Any) -> Page:
        """Parse the body of a response."""
        page = cls()
        page.feed(response.content.decode())
        page.close()
        page.text = " ".join(page.text.split())
        return page

    def count(self, tag: str) -> int:
        """How many elements of a kind there are."""
        return sum(name == tag for name, _ in self.elements)

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def first(self, tag: str) -> dict[str, str]:
        """The attributes of the first element of a kind."""
        return self.all(tag)[0]

    def fields(self) -> list[tuple[str, str]]:
        """Names and values of the hidden fields, in order, but for the CSRF token."""
        hidden = [field for field in self.all("input") if field["type"] == "hidden"]
        named = [(field["name"], field["value"]) for field in hidden]
        return [field for field in named if field[0] != "csrfmiddlewaretoken"]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep an element, and notice what a strict content security policy forbids."""
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        forbidden = [name for name in attributes if name == "style" or name.startswith("on")]
        if forbidden or tag == "style" or (tag == "script" and "src" not in attributes):
            self.inline_code.append(self.get_starttag_text() or "")
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the element that is open."""
        assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep visible text."""
        if self.unclosed and self.unclosed[-1] == "title":
            self.title += data.strip()
        elif "hidden" not in self.elements[-1][1] if self.elements else True:
            self.text += data
