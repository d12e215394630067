"""What a log is about is escaped and cut, whoever logs it and whatever it is."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from poppy_operations.logs import LONGEST_TOLD, escaped, log_of

FORGED = "one\ntwo\r\x85\u2028\u2029\x00\x1b[31m\ud800"
SHOWN = "one\\ntwo\\r\\x85\\u2028\\u2029\\x00\\x1b[31m\\ud800"


@pytest.mark.parametrize(
    "log",
    [
        lambda: log_of(logging.INFO, "About %s", FORGED),
        lambda: log_of(logging.INFO, "About", operation_id=FORGED),
        lambda: log_of(logging.INFO, "About", action=FORGED, fields=[FORGED], named=FORGED),
        lambda: logging.getLogger("poppy_operations").info("About %s", LookupError(FORGED)),
        lambda: logging.getLogger("poppy_operations").info("About %s", [FORGED]),
        lambda: logging.getLogger("poppy_operations").info("About %(one)s", {"one": FORGED}),
    ],
    ids=["value", "operation", "extras", "error", "list", "mapping"],
)
def test_a_record_is_one_line_whatever_it_is_about(
    log: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        log()
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    assert "About" in record.getMessage()
    for name in ("operation_id", "action", "named"):
        assert getattr(record, name, SHOWN) == SHOWN
    assert getattr(record, "fields", [SHOWN]) == [SHOWN]


def test_what_is_long_is_cut() -> None:
    assert escaped("é" * LONGEST_TOLD) == "é" * LONGEST_TOLD
    assert escaped("é" * (LONGEST_TOLD + 1)) == "é" * LONGEST_TOLD + "…"
    assert escaped(FORGED) == SHOWN


def test_numbers_and_names_stay_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        logging.getLogger("poppy_operations").info("%d times, %.1f s", 3, 1.25, extra={"much": 7})
    assert caplog.messages[-1] == "3 times, 1.2 s"
    assert vars(caplog.records[-1])["much"] == 7


def test_a_request_is_told_with_an_error_alone(caplog: pytest.LogCaptureFixture) -> None:
    request = object()
    log_of(logging.WARNING, "Fine.", request=request)
    log_of(logging.WARNING, "Not fine.", error=LookupError(), request=request)
    assert [getattr(record, "request", None) for record in caplog.records] == [None, request]
