"""The pictures of the package's layers and of the way of a request, drawn from what is true.

``python -m tests.docs.drawing`` draws them anew into ``docs/images``.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

IMAGES = Path("docs/images")
WIDTH = 760
ROW, GAP, TOP = 34, 10, 16
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1f2328}.box{fill:#eef2f7;stroke:#8795a8}"
    ".note{fill:#57606a;font-size:12px}.line{stroke:#57606a;fill:none}.head{fill:#57606a}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.box{fill:#1c2633;stroke:#5b6b80}"
    ".note{fill:#9aa7b5}.line{stroke:#9aa7b5}.head{fill:#9aa7b5}}"
)
# What stands in a layer, in the order of the contract in pyproject.toml.
MEANINGS = {
    "action": "what a site touches",
    "views": "views, and what Django and its REST framework call",
    "doors": "doors: translate, call the gate, translate back",
    "responses": "forms of answers; what runs outside of requests",
    "gate": "the one order behind every door",
    "lifecycle": "the only code that writes operations",
    "browser": "joins, marks, transactions",
    "company": "the site's hooks, and where its actions are",
    "sessions": "who asks, what a site declares, what is told",
    "models": "tables and settings",
    "protocol": "the text, in plain Python",
}
# The steps of design, and the module that holds each.
WAY = (
    ("A door makes a call of its kind of request", "doors/plain.py, doors/api.py"),
    ("Who asks?", "gate/callers.py"),
    ("May they? allowed= is asked of everybody", "gate/order.py"),
    ("An approval that came: checks 1 and 2", "gate/approvals.py"),
    ("The site validates, and says the terms", "gate/calls.py"),
    ("Check 3: the very same request?", "gate/decision.py, gate/comparing.py"),
    ("Decline, by the site's policies", "gate/approvals.py"),
    ("Approved: claim, perform once, record", "gate/performing/, lifecycle/claims.py"),
    ("Not approved: return an operation", "gate/returning.py, lifecycle/asking.py"),
    ("The answer gets the form of its interface", "responses/"),
)


def layers() -> list[str]:
    """The layers of the import contract, the highest first."""
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
    found: list[str] = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return found


def _members(layer: str) -> list[str]:
    return [name.strip() for name in layer.replace(":", "|").split("|")]


def _svg(title: str, height: int, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title><style>{STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _row(number: int, text: str, note: str) -> list[str]:
    y = TOP + number * (ROW + GAP)
    return [
        f'<rect class="box" x="16" y="{y}" width="{WIDTH - 32}" height="{ROW}" rx="6"/>',
        f'<text x="28" y="{y + 22}">{escape(text)}</text>',
        f'<text class="note" x="{WIDTH - 28}" y="{y + 22}" text-anchor="end">{escape(note)}</text>',
    ]


def _arrow(number: int) -> str:
    y = TOP + number * (ROW + GAP) - GAP
    x = WIDTH // 2
    return (
        f'<path class="line" d="M{x} {y}v{GAP - 3}"/>'
        f'<path class="head" d="M{x - 4} {y + GAP - 5}h8l-4 5z"/>'
    )


def _stack(title: str, rows: list[tuple[str, str]]) -> str:
    parts: list[str] = []
    for number, (text, note) in enumerate(rows):
        if number:
            parts.append(_arrow(number))
        parts += _row(number, text, note)
    return _svg(title, TOP * 2 + len(rows) * (ROW + GAP) - GAP, parts)


def layers_svg() -> str:
    """The picture of the layers: imports go down."""
    rows = []
    for layer in layers():
        members = _members(layer)
        rows.append((" · ".join(members), MEANINGS[members[0]]))
    # Long layers have no room for a note.
    rows = [(text, note if len(text) + len(note) < 108 else "") for text, note in rows]
    return _stack("The layers of the package. Imports go down.", rows)


def way_svg() -> str:
    """The picture of the way of a request through the gate."""
    return _stack("The way of a request for a gated action.", list(WAY))


PICTURES = {"layers.svg": layers_svg, "way-of-a-request.svg": way_svg}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(draw(), "utf-8")
