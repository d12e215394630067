"""How long revisions are remembered when the site purges."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from poppy_operations.maintenance import purge
from poppy_operations.models import Operation
from tests.agents import ORDER, SessionOf
from tests.asking import ask
from tests.shop.models import Item
from tests.shop.operations import buy

pytestmark = pytest.mark.django_db


@pytest.mark.requirement("OPS-3-30")
def test_a_revision_that_can_be_approved_for_days_is_remembered_for_days(
    signed_out: SessionOf, jacket: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buy, "lifetime", timedelta(days=3))
    start = timezone.now().replace(microsecond=0)
    with time_machine.travel(start, tick=False) as clock:
        browser = signed_out.browser()
        ref = ask(browser)
        signed_out.approve(ref)
        clock.move_to(start + timedelta(days=1))
        later = signed_out.browser()
        assert later.post("/buy/", ORDER).status_code == 302
        clock.move_to(start + timedelta(days=3))
        assert purge().operations == 0
        assert signed_out.status(ref) == "performed"
        clock.move_to(start + timedelta(days=4, seconds=1))
        assert purge().operations == 1
        assert not Operation.objects.exists()
