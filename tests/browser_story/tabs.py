"""Chromium's tabs: what they show, what came over the wire, and whatever went wrong in them."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Self

import http_sf

from tests.browser_story.npm import npm_file
from tests.source import ROOT

AXE = "axe-core/axe.min.js"
# Chromium says this of every answer with such a status, whoever expects it.
EXPECTED = "Failed to load resource: the server responded with a status of"
VIOLATIONS = """() => {
    document.addEventListener("securitypolicyviolation", (event) =>
        console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
}"""
IN_THE_DOCUMENTATION = frozenset(
    {
        "demo-agent-asks-light",
        "demo-agent-done-light",
        "demo-agent-new-terms",
        "join-light",
        "shop-order-light",
        "waiting",
        "waiting-done",
        "waiting-expired",
    }
)
SMALL = {"width": 320, "height": 640}


class Tabs:
    """A browser context of its own. Leaving it fails where a page had something to complain of."""

    def __init__(self, chromium: Any, **options: Any) -> None:
        self.context = chromium.new_context(**{"locale": "en", **options})
        self.context.set_default_timeout(20_000)
        self.faults: list[str] = []
        self.references: list[str] = []
        self.refusals: list[int] = []
        self.context.add_init_script(f"({VIOLATIONS})()")
        self.context.on("console", self._console)
        self.context.on("weberror", lambda error: self.faults.append(str(error.error)))
        self.context.on("response", self._response)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.context.close()
        assert kind is not None or not self.faults, "\n".join(self.faults)

    def open(self, url: str) -> Any:
        """Open a new tab at an address."""
        page = self.context.new_page()
        page.goto(url)
        return page

    @property
    def ref(self) -> str:
        """The newest reference that the browser received, in a header."""
        return self.references[-1]

    def _console(self, message: Any) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(EXPECTED):
            self.faults.append(message.text)

    def _response(self, response: Any) -> None:
        header = response.headers.get("poppy-operation")
        if header is not None:
            parsed = http_sf.parse(header.encode(), tltype="dictionary")
            self.references.append(parsed["ref"][0])
            self.refusals.append(response.status)


def problems_of(page: Any) -> list[str]:
    """What axe finds serious or critical on a page; by another way than the page's own scripts."""
    source = npm_file(AXE).read_text("utf-8")
    found = page.evaluate(f"async () => {{ {source}; return (await axe.run()).violations }}")
    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


def sideways(page: Any) -> int:
    """By how many pixels a page is wider than the window."""
    width: int = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return width


def picture(page: Any, name: str, **options: Any) -> None:
    """Take a screenshot where ``POPPY_SCREENSHOTS`` is set, for the documentation or to look at."""
    if os.environ.get("POPPY_SCREENSHOTS"):
        folder = "docs/images" if name in IN_THE_DOCUMENTATION else "build/screenshots"
        page.wait_for_load_state("load")
        path = ROOT / folder / f"{name}.png"
        page.screenshot(path=path, animations="disabled", **options)
