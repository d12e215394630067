"""How long an approval is good at the API (3, 6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.agents import ApiClient, operation_in
from tests.clock import Clock

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]


@pytest.mark.requirement("OPS-3-17", "OPS-3-29", "OPS-6-37")
@pytest.mark.ambiguity("AMB-16")
def test_amb_16_an_approval_is_good_until_the_very_second_that_the_operation_names(
    agents_api: ApiClient, clock: Clock, effects: Effects
) -> None:
    operation = agents_api.ask()
    last = (clock.start + timedelta(minutes=15)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert operation["expires_at"] == last

    clock.at(minutes=15, seconds=1)
    assert operation_in(agents_api.approve(operation))["revision"] != operation["revision"]
    assert effects() == []
    clock.at(minutes=15, milliseconds=999)
    assert agents_api.approve(operation).status_code == 201
    assert effects() == ["api.order 1 jacket"]
