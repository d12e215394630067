"""The page on performance gets its tables from what was measured."""

from __future__ import annotations

import re

import pytest

from benchmarks.report import PAGES, TABLES, replaced

BEGIN, END = "<!-- figures: purge -->\n", "<!-- end of figures -->"
MEMORY = {"database": "postgres", "ratio": 1.012, "spread": 0.0, "median_us": 1.0}


def test_a_table_is_replaced_and_nothing_else() -> None:
    text = f"Before.\n\n{BEGIN}| an | earlier one |\n{END}\nAfter.\n"

    new = replaced(text, {"memory_worker": MEMORY})

    assert new.startswith(f"Before.\n\n{BEGIN}| what | measured |\n| --- | --- |\n")
    assert new.endswith(f"{END}\nAfter.\n")
    assert "after 50,000 requests × after 5,000 | 1.012 |" in new
    assert "earlier" not in new
    assert replaced(new, {"memory_worker": MEMORY}) == new


def test_what_was_not_measured_is_a_dash() -> None:
    tables = "\n".join(make({}) for name, make in TABLES.items() if name != "machine")

    assert "| – |" in tables
    assert not re.search(r"\d \|$", tables.replace("| 0 |", ""), flags=re.M)


def test_a_table_that_nobody_fills_is_an_error() -> None:
    with pytest.raises(KeyError):
        replaced(f"<!-- figures: unheard-of -->\n{END}", {})


def test_the_pages_have_every_table_once() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)

    assert sorted(re.findall(r"<!-- figures: (\S+) -->", text)) == sorted(TABLES)


def test_the_operations_of_a_day_are_what_asking_and_performing_take() -> None:
    figures = {
        "gunicorn_ask_8": {"requests_a_second": 200.0},
        "gunicorn_api_perform_8": {"requests_a_second": 100.0},
    }

    assert "| 8 | 67 | 5,800,000 | 580,000 |" in TABLES["capacity"](figures)
