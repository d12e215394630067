"""What operators see in Chromium: the history of an operation, and the pages of their decisions."""

from __future__ import annotations

from typing import Any

import pytest

from example_project.tour.server import Server
from tests.browser_story.npm import npm_file
from tests.browser_story.tabs import AXE, SMALL, Tabs, picture, sideways

OURS = [".poppy-now", ".poppy-history", ".poppy-decide", ".poppy-standing"]
# An operation with two revisions and two approvals; nobody knows whether its attempt took effect.
ROWS = """
from datetime import timedelta
from json import dumps
from django.contrib.auth import get_user_model
from django.utils import timezone
from poppy_operations.models import *
users = get_user_model().objects
users.filter(username="operator").exists() or users.create_superuser("operator", password="o")
Operation.objects.filter(operation_id="rfd_shown").delete()
now = timezone.now().replace(microsecond=0)
ago = lambda minutes: now - timedelta(minutes=minutes)
operation = Operation.objects.create(
    operation_id="rfd_shown", action="orders.refund", interface="api", account="1",
    client_id="https://pip.example/client", user_id="usr_8Kd2", owner_digest="o", slot="shown",
    attempt="a" * 32, state="performing", effects="external", lease_s=10, started_at=ago(20),
    lease_until=ago(19), outcome_unknown_since=ago(20), created_at=ago(30), revision_count=2)
for number, amount in ((1, "20.00"), (2, "25.00")):
    revision = Revision.objects.create(
        operation=operation, revision=f"shown-{number}", number=number,
        terms=dumps({"order_id": "ord_7Hk2", "amount": {"amount": amount, "currency": "USD"}}),
        content_fields=dumps({"amount": amount}), summary=f"Refund ${amount} to the card.",
        returned_at=ago(50 - 20 * number), expires_at=now + timedelta(hours=1), lifetime_s=3600)
    approval = Approval.objects.create(
        operation=operation, revision=revision, approver="user", input_type="tap",
        approved_at=int(ago(33 - 12 * number).timestamp()), reference=f"apr_{number}",
        sid="ses_31Xm", received_at=ago(33 - 12 * number))
    if number == 1:
        Operation.objects.filter(pk=operation.pk).update(approval=approval)
print(operation.pk)
"""


@pytest.fixture
def operation(demo: Server) -> str:
    """The address of the operation in the admin."""
    found = demo.command("shell", "--verbosity=0", "-c", ROWS).strip()
    return f"{demo.url}/admin/poppy_operations/operation/{found}"


def signed_in(tabs: Tabs, demo: Server) -> Any:
    page = tabs.open(f"{demo.url}/admin/login/")
    page.get_by_label("Username").fill("operator")
    page.get_by_label("Password").fill("o")
    page.get_by_role("button", name="Log in").click()
    return page


def check(page: Any) -> None:
    """Look at what is ours on a page, wide and small; the rest is Django's."""
    assert _problems(page) == []
    wide = page.viewport_size
    page.set_viewport_size(SMALL)
    assert sideways(page) == 0
    assert _problems(page) == []
    page.set_viewport_size(wide)


def _problems(page: Any) -> list[str]:
    source = npm_file(AXE).read_text("utf-8")
    ours = [selector for selector in OURS if page.locator(selector).count()]
    found = page.evaluate(
        f"async (ours) => {{ {source};"
        " const where = {include: ours.map((one) => [one])};"
        " return (await axe.run(where, {preload: false})).violations }",
        ours,
    )
    return [
        f"{one['id']}: {node['html'][:120]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_operator_settles_and_voids_by_clicks(
    scheme: str, chromium: Any, demo: Server, operation: str
) -> None:
    with Tabs(chromium, color_scheme=scheme) as tabs:
        page = signed_in(tabs, demo)
        page.goto(f"{demo.url}/admin/poppy_operations/operation/")
        page.get_by_role("link", name="outcome unknown").click()
        check(page)
        picture(page, f"admin-operations-{scheme}", full_page=True)
        page.get_by_role("link", name="orders.refund").last.click()
        page.goto(f"{operation}/change/")
        page.get_by_text("Nobody knows whether the last attempt took effect.").wait_for()
        assert page.locator(".poppy-changes ins").inner_text() == "25.00"
        check(page)
        picture(page, f"admin-unknown-{scheme}", full_page=True)
        page.get_by_role("link", name="Settle …").click()
        check(page)
        picture(page, f"admin-settle-{scheme}", full_page=True)
        page.get_by_role("button", name="Settle").click()
        page.get_by_text("This field is required.").first.wait_for()
        check(page)
        page.get_by_label("It was not performed").check()
        page.get_by_label("approval of terms 2 by user").check()
        page.get_by_label("Why").fill("The gateway has no such refund.")
        page.get_by_role("button", name="Settle").click()
        page.get_by_text("Settled as not performed.").wait_for()
        check(page)
        page.get_by_role("link", name="Void …").click()
        check(page)
        picture(page, f"admin-void-{scheme}", full_page=True)
        page.get_by_label("Why").fill("Asked by phone.")
        page.get_by_role("button", name="Void").click()
        page.get_by_text("The approval is void.").wait_for()
        assert page.get_by_role("link", name="Void …").count() == 0
        check(page)
        picture(page, f"admin-history-{scheme}", full_page=True)
