"""Write the figures of ``var/bench.json`` into the documentation: ``python -m benchmarks.report``.

The pages have a pair of comments around each table, ``<!-- figures: NAME -->`` and
``<!-- end of figures -->``; what stands between them is replaced, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.machine import read_machine
from benchmarks.results import PROJECT, read

FOLDER = PROJECT / "docs" / "explanation"
PAGES = (FOLDER / "performance.md", FOLDER / "scale.md")
_TABLE = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", flags=re.DOTALL)

Figures = Mapping[str, Any]
Rows = Sequence[Sequence[str]]
UNKNOWN = "–"

# What a request is called in the page, by the figure that compares it with the bare view.
COSTS = {
    "bare": "bare: a POST that inserts one row in a transaction",
    "floor": "floor: the least that performs once, by hand",
    "by_hand": "by hand: the same rows as ours, in plain ORM",
    "ask": "ask, at an API",
    "ask_again": "ask again, same terms",
    "api_perform_bare": "perform at an API, effects in the database",
    "api_perform_external_bare": "perform at an API, effects outside",
    "replay_verified": "repeat of a performed request",
    "replay": "the same, without verifying the Session",
    "website_ask": "ask, on the website",
    "lookup": "look-up at the endpoint",
    "approve": "approval at the endpoint",
    "website_perform": "perform on the website",
}
OURS = {
    "api_perform": "perform at an API × by hand",
    "api_perform_floor": "perform at an API × floor",
    "session_warm": "Session and access token × one `jwt.decode`, delegation known, no query",
    "session_with_queries": "the same with its query",
    "session_cold": "Session and access token, both new, no query",
    "session_warm_signatures": "Session and access token × two bare signature checks",
}
PACKAGES = {
    "drf_idempotency": "drf-idempotency 1.0.0",
    "rest_framework_idempotency_key": "djangorestframework-idempotency-key 1.0.3",
    "drf_idempotencykey": "drf-idempotencykey 0.2.0",
}
PASSING = {
    "visitor": "a gated view with trivial terms",
    "middleware_wsgi": "the middleware, WSGI",
    "middleware_asgi": "the middleware, ASGI",
}
LOADS = {
    "bare": "bare",
    "ask": "ask",
    "api_perform": "perform",
    "replay": "repeat",
}
CLIENTS = (1, 8, 32)
SECONDS_A_DAY = 86_400
GROWN = {
    "ask": "ask, at an API",
    "ask_again": "ask again, same terms",
    "website_ask": "ask, on the website",
    "lookup": "look-up at the endpoint",
    "match": "perform on the website",
}
A_SECOND = ("operations_a_second", " operations a second")
BESIDE = "traffic_beside_purge"
PURGED = (
    ("purge, among 1 thousand", "purge_1k", *A_SECOND),
    ("purge, among 100 thousand", "purge_100k", *A_SECOND),
    ("purge, among 1 million", "purge_1m", *A_SECOND),
    ("purge, beside traffic", BESIDE, *A_SECOND),
    ("its longest statement that writes", BESIDE, "longest_write_ms", " ms"),
    ("its longest transaction that holds locks", BESIDE, "longest_locks_ms", " ms"),
    ("a perform beside it, × alone", BESIDE, "ratio", ""),
    ("ask again, for an owner with 50 live revisions × with 1", "ask_again_50_live", "ratio", ""),
    ("perform on the website, the same", "match_50_live", "ratio", ""),
    ("memory of a worker, after 50,000 requests × after 5,000", "memory_worker", "ratio", ""),
)


def main() -> None:
    """Replace every table of the pages."""
    figures = read()
    for page in PAGES:
        page.write_text(replaced(page.read_text("utf-8"), figures), "utf-8")


def replaced(text: str, figures: Figures) -> str:
    """Give a page with the figures in its tables.

    Raises:
        KeyError: the page has a table that nobody fills.

    """
    return _TABLE.sub(lambda match: match[1] + TABLES[match[2]](figures) + match[3], text)


def _machine(_figures: Figures) -> str:
    known = {name: str(value) for name, value in read_machine().items()}
    if not known:
        return "Not measured yet.\n"
    return (
        f"Measured on {known['date']}: {known['processors']} processors ({known['processor']}), "
        f"Python {known['python']}, Django {known['django']}, "
        f"PostgreSQL {known.get('postgres', UNKNOWN)}, SQLite {known['sqlite']}; "
        f"load average at the beginning {known['busy']}.\n"
    )


def _costs(figures: Figures) -> str:
    rows = [
        [
            said,
            _number(figures, name, "statements"),
            _ratio(figures, name),
            _milliseconds(figures, name),
            _ratio(figures, f"{name}_sqlite"),
            _milliseconds(figures, f"{name}_sqlite"),
        ]
        for name, said in COSTS.items()
    ]
    head = ["request", "statements", "PostgreSQL × bare", "ms", "SQLite × bare", "ms"]
    return _table(head, rows)


def _ours(figures: Figures) -> str:
    rows = [
        [said, _ratio(figures, name), _ratio(figures, f"{name}_sqlite")]
        for name, said in OURS.items()
    ]
    return _table(["compared", "PostgreSQL", "SQLite"], rows)


def _packages(figures: Figures) -> str:
    rows = [
        [
            said,
            _ratio(figures, name),
            _ratio(figures, f"{name}_repeat"),
            _ratio(figures, f"api_perform_{name}"),
            _ratio(figures, f"api_perform_{name}_sqlite"),
        ]
        for name, said in PACKAGES.items()
    ]
    head = ["package", "first × bare", "repeat × bare", "our perform × it", "on SQLite"]
    return _table(head, rows)


def _passing(figures: Figures) -> str:
    rows = [
        [said, _ratio(figures, name), _number(figures, name, "difference_us", " µs")]
        for name, said in PASSING.items()
    ]
    return _table(["what is passed", "× without", "more"], rows)


def _load(figures: Figures) -> str:
    rows = []
    for clients in CLIENTS:
        for kind, said in LOADS.items():
            name = f"gunicorn_{kind}_{clients}"
            times = [figures.get(name, {}).get(key) for key in ("median_us", "p95_us", "p99_us")]
            rows.append(
                [
                    str(clients),
                    said,
                    _number(figures, name, "requests_a_second"),
                    *(UNKNOWN if time is None else f"{time / 1000:.0f}" for time in times),
                    _number(figures, name, "errors"),
                ]
            )
    head = ["clients", "request", "a second", "p50 ms", "p95 ms", "p99 ms", "errors"]
    return _table(head, rows)


def _capacity(figures: Figures) -> str:
    rows = []
    for clients in CLIENTS:
        kinds = [figures.get(f"gunicorn_{kind}_{clients}") for kind in ("ask", "api_perform")]
        known = [1 / kind["requests_a_second"] for kind in kinds if kind is not None]
        both = 1 / sum(known) if len(known) == len(kinds) else None
        day = None if both is None else both * SECONDS_A_DAY
        rows.append([str(clients), _rounded(both), _rounded(day), _rounded(day and day / 10)])
    return _table(["clients", "operations a second", "a day", "a day, at a tenth of that"], rows)


def _growth(figures: Figures) -> str:
    rows = [
        [
            said,
            _milliseconds(figures, f"{name}_1k"),
            _ratio(figures, f"{name}_100k"),
            _ratio(figures, f"{name}_1m"),
        ]
        for name, said in GROWN.items()
    ]
    return _table(["request", "ms at 1 thousand", "× at 100 thousand", "× at 1 million"], rows)


def _purge(figures: Figures) -> str:
    rows = [[said, _number(figures, name, key, unit)] for said, name, key, unit in PURGED]
    return _table(["what", "measured"], rows)


TABLES: Mapping[str, Callable[[Figures], str]] = {
    "machine": _machine,
    "costs": _costs,
    "ours": _ours,
    "packages": _packages,
    "passing": _passing,
    "load": _load,
    "capacity": _capacity,
    "growth": _growth,
    "purge": _purge,
}


def _table(head: Sequence[str], rows: Rows) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _ratio(figures: Figures, name: str) -> str:
    one = figures.get(name)
    if one is None:
        return UNKNOWN
    return f"{one['ratio']:.2f} ± {one['spread'] * one['ratio']:.2f}"


def _milliseconds(figures: Figures, name: str) -> str:
    one = figures.get(name)
    return UNKNOWN if one is None else f"{one['median_us'] / 1000:.1f}"


def _rounded(value: float | None) -> str:
    """Give two significant digits, since more would promise too much."""
    return UNKNOWN if value is None else f"{float(f'{value:.1e}'):,.0f}"


def _number(figures: Figures, name: str, key: str, unit: str = "") -> str:
    value = figures.get(name, {}).get(key)
    return UNKNOWN if value is None else f"{value:g}{unit}"


if __name__ == "__main__":
    main()
