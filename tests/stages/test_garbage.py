from __future__ import annotations

import gc


def test_garbage_is_looked_for_among_what_is_new() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 100_000
