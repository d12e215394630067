"""Read a page as a browser does: its title, its words and its forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

Attributes = dict[str, str]
NOT_SENT = frozenset({"button", "submit", "reset", "image", "file"})
SILENT = frozenset({"script", "style", "title"})
VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"}
)
HIDDEN = "hidden"


@dataclass
class Button:
    """A button that sends a form."""

    name: str
    value: str
    text: str = ""


@dataclass
class Form:
    """A form, with the values that it would send untouched."""

    action: str
    method: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[Button] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Whether the form has a field of that name."""
        return any(sent == name for sent, _ in self.fields)

    def value(self, name: str) -> str | None:
        """Return the first value of a field."""
        return next((value for sent, value in self.fields if sent == name), None)

    def filled(self, values: dict[str, str], button: Button | None = None) -> list[tuple[str, str]]:
        """Return what is sent when the form is filled in and the button pressed."""
        sent = [(name, values.get(name, value)) for name, value in self.fields]
        if button is not None and button.name:
            sent.append((button.name, button.value))
        return sent


class Page(HTMLParser):
    """A page that was read."""

    def __init__(self, url: str, source: str) -> None:
        super().__init__()
        self.url = url
        self.title = ""
        self.forms: list[Form] = []
        self._words: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._form: Form | None = None
        self._select: str | None = None
        self._chosen: str | None = None
        self._first: str | None = None
        self._area: str | None = None
        self._area_text = ""
        self.feed(source)
        self.close()

    @property
    def words(self) -> str:
        """The words that the page shows."""
        return " ".join(" ".join(self._words).split())

    def form_with(self, name: str, value: str | None = None) -> Form | None:
        """Return the form that has a field of that name, and of that value."""
        for form in self.forms:
            if form.has(name) and value in {None, form.value(name)}:
                return form
        return None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append((tag, any(name == HIDDEN for name, _ in attrs)))
        opened = getattr(self, f"_open_{tag}", None)
        if opened is not None:
            opened({name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass
        closed = getattr(self, f"_close_{tag}", None)
        if closed is not None:
            closed()

    def handle_data(self, data: str) -> None:
        inside = {tag for tag, _ in self._open}
        if "title" in inside and "svg" not in inside:
            self.title += data
        elif self._area is not None:
            self._area_text += data
        elif not SILENT & inside and not any(hidden for _, hidden in self._open):
            self._words.append(data)
        if "button" in inside and self._form and self._form.buttons:
            self._form.buttons[-1].text += data

    def _open_form(self, attributes: Attributes) -> None:
        method = attributes.get("method", "get").upper()
        self._form = Form(attributes.get("action", ""), method)
        self.forms.append(self._form)

    def _close_form(self) -> None:
        self._form = None

    def _field(self, name: str, value: str) -> None:
        if self._form is not None and name:
            self._form.fields.append((name, value))

    def _open_input(self, attributes: Attributes) -> None:
        kind = attributes.get("type", "text")
        if kind == "submit" and self._form is not None:
            value = attributes.get("value", "")
            self._form.buttons.append(Button(attributes.get("name", ""), value, value))
        if kind in NOT_SENT or "disabled" in attributes:
            return
        if kind in {"checkbox", "radio"}:
            if "checked" in attributes:
                self._field(attributes.get("name", ""), attributes.get("value", "on"))
            return
        self._field(attributes.get("name", ""), attributes.get("value", ""))

    def _open_button(self, attributes: Attributes) -> None:
        if self._form is not None and attributes.get("type", "submit") == "submit":
            button = Button(attributes.get("name", ""), attributes.get("value", ""))
            self._form.buttons.append(button)

    def _open_select(self, attributes: Attributes) -> None:
        self._select = attributes.get("name", "")
        self._chosen = self._first = None

    def _open_option(self, attributes: Attributes) -> None:
        value = attributes.get("value", "")
        self._first = value if self._first is None else self._first
        if "selected" in attributes:
            self._chosen = value

    def _close_select(self) -> None:
        chosen = self._first if self._chosen is None else self._chosen
        if self._select and chosen is not None:
            self._field(self._select, chosen)
        self._select = None

    def _open_textarea(self, attributes: Attributes) -> None:
        self._area, self._area_text = attributes.get("name", ""), ""

    def _close_textarea(self) -> None:
        self._field(self._area or "", self._area_text.removeprefix("\n"))
        self._area = None
