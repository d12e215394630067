"""What a test misses skips it on somebody's machine, and fails it where it was promised."""

from __future__ import annotations

import pytest

from tests.needed import missing


def test_what_is_missing_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POPPY_REQUIRE", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such server"):
        missing("no such server")


def test_what_was_promised_and_is_missing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POPPY_REQUIRE", "1")
    with pytest.raises(pytest.fail.Exception, match="no such server"):
        missing("no such server")
