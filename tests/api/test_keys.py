"""What a new SECRET_KEY means for what was asked, approved and performed under the one before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from poppy_operations.models import Operation, Revision
from tests.agents import ApiClient, operation_in

pytestmark = [pytest.mark.django_db, pytest.mark.database, pytest.mark.usefixtures("jacket")]
Effects = Callable[[], list[str]]
PATHS = ["/api/class/", "/api/plain/"]


@pytest.fixture
def rotate(settings: Any) -> Callable[..., None]:
    """Replace the site's key; the one before is kept among the fallbacks, or not."""

    def rotated(*, kept: bool = True) -> None:
        before = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
        settings.SECRET_KEY = f"{before[0]}-new"
        settings.SECRET_KEY_FALLBACKS = before if kept else []

    return rotated


def begin(operation_id: str) -> None:
    """Somebody's attempt at it, whose outcome is not known."""
    now = timezone.now()
    Operation.objects.filter(operation_id=operation_id).update(
        state="performing",
        effects="external",
        started_at=now - timedelta(hours=2),
        lease_until=now - timedelta(hours=1),
        outcome_unknown_since=now - timedelta(hours=1),
    )


@pytest.mark.parametrize("path", PATHS)
def test_an_approval_counts_under_the_next_key(
    path: str, agents_api: ApiClient, effects: Effects, rotate: Callable[..., None]
) -> None:
    agents_api.path = path
    operation = agents_api.ask()
    rotate()
    assert agents_api.ask() == operation
    rotate()
    assert agents_api.approve(operation).status_code == 201
    assert len(effects()) == 1


@pytest.mark.parametrize("path", PATHS)
def test_the_first_answer_is_given_again_under_the_next_key(
    path: str, agents_api: ApiClient, effects: Effects, rotate: Callable[..., None]
) -> None:
    agents_api.path = path
    operation = agents_api.ask()
    first = agents_api.approve(operation)
    rotate()
    again = agents_api.approve(operation)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert len(effects()) == 1


def test_no_second_operation_stands_beside_one_that_is_performed_under_the_key_before(
    agents_api: ApiClient, rotate: Callable[..., None]
) -> None:
    operation = agents_api.ask()
    begin(operation["operation_id"])
    rotate()
    assert agents_api.send().status_code == 503
    assert Operation.objects.count() == 1


def test_no_second_operation_stands_beside_an_expired_one_of_the_key_before(
    agents_api: ApiClient, rotate: Callable[..., None]
) -> None:
    operation = agents_api.ask()
    Revision.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    rotate()
    again = agents_api.ask()
    assert again["operation_id"] == operation["operation_id"]
    assert again["revision"] != operation["revision"]


def test_without_the_key_before_what_waits_is_asked_anew_and_what_is_done_is_told_plainly(
    agents_api: ApiClient, effects: Effects, rotate: Callable[..., None]
) -> None:
    done, waiting = agents_api.ask(), agents_api.ask(body={"sku": "jacket", "quantity": 2})
    assert agents_api.approve(done).status_code == 201
    rotate(kept=False)

    told = agents_api.approve(done)
    assert (told.status_code, told.json()["status"]) == (200, "performed")

    other = operation_in(agents_api.approve(waiting, body={"sku": "jacket", "quantity": 2}))
    assert other["operation_id"] != waiting["operation_id"]
    assert len(effects()) == 1


def test_without_the_key_before_an_action_can_be_asked_for_beside_an_unknown_outcome(
    agents_api: ApiClient, rotate: Callable[..., None]
) -> None:
    operation = agents_api.ask()
    begin(operation["operation_id"])
    rotate(kept=False)
    assert agents_api.ask()["operation_id"] != operation["operation_id"]
    # Whoever names it learns that its outcome is not known.
    assert agents_api.approve(operation).status_code == 503
