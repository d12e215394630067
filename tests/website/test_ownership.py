"""Whose operation it is: every Session against every operation, at the endpoint and in browsers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from poppy_operations.models import Approval, Operation
from tests.agents import ORDER, SessionOf, approval_of, reference
from tests.asking import MADE_UP_REF, answer, ask, is_refused_with, recorded
from tests.shop.models import Item

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
Anybody = Callable[..., SessionOf]


@dataclass(frozen=True)
class Cell:
    """An operation of the agent A, the User u1 and an account or none, and who wants it."""

    owner_account: str
    agent: str
    user_id: str
    account: str

    @property
    def is_owner(self) -> bool:
        """Whether the Session can approve the operation (3)."""
        return (self.agent, self.user_id, self.account) == ("A", "u1", self.owner_account)

    @property
    def is_challenged(self) -> bool:
        """Whether only signing in is missing."""
        asker = (self.agent, self.user_id, self.account)
        return self.owner_account != "nobody" and asker == ("A", "u1", "nobody")

    def __str__(self) -> str:
        return f"of-{self.owner_account}-for-{self.agent}-{self.user_id}-{self.account}"


def cells() -> Iterator[Any]:
    """Every combination of who owns and who asks."""
    for owner_account in ("nobody", "alice"):
        for agent in ("A", "B"):
            for user_id in ("u1", "u2"):
                for account in ("nobody", "alice", "bob"):
                    cell = Cell(owner_account, agent, user_id, account)
                    yield pytest.param(cell, id=str(cell))


every_cell = pytest.mark.parametrize("cell", list(cells()))


@pytest.fixture
def owner(cell: Cell, anybody: Anybody) -> SessionOf:
    """The Session whose browser asked."""
    return anybody(account=cell.owner_account)


@pytest.fixture
def asker(cell: Cell, anybody: Anybody) -> SessionOf:
    """The Session that wants the operation; always another one than the owner's."""
    return anybody(cell.agent, cell.user_id, cell.account, sid="ses_2")


def is_a_mere_challenge(response: Any) -> bool:
    """Whether the answer says "sign in" and nothing else."""
    return (
        response.status_code == 401
        and response["WWW-Authenticate"].startswith("Bearer resource_metadata=")
        and response.json() == {"error": "sign_in_required"}
    )


@pytest.mark.requirement(
    "OPS-3-42", "OPS-3-43", "OPS-4-29", "OPS-4-45", "OPS-4-47", "OPS-4-50", "OPS-4-51",
    "OPS-4-52", "OPS-4-53", "OPS-6-64", "OPS-8.2-04",
)  # fmt: skip
@pytest.mark.ambiguity("AMB-01", "AMB-02")
@pytest.mark.parametrize("state", ["returned", "approved", "performed"])
@every_cell
def test_amb_01_amb_02_a_look_up_by_anybody(
    cell: Cell, owner: SessionOf, asker: SessionOf, state: str, jacket: Item
) -> None:
    browser = owner.browser()
    ref = ask(browser)
    operation = owner.look_up(ref)
    if state != "returned":
        owner.approve(ref)
    if state == "performed":
        assert browser.post("/buy/", ORDER).status_code == 302

    response = asker.endpoint(ref)

    if cell.is_owner and state == "returned":
        assert is_refused_with(response, operation)
    elif cell.is_owner:
        operation_id = operation["operation_id"]
        assert response.json() == {"operation_id": operation_id, "status": state}
    elif cell.is_challenged:
        assert is_a_mere_challenge(response)
    else:
        assert answer(response) == answer(asker.endpoint(MADE_UP_REF))
        assert response.status_code == 400
        assert response.json() == {"error": "invalid_request"}


@pytest.mark.requirement(
    "OPS-3-31", "OPS-3-33", "OPS-3-34", "OPS-3-35", "OPS-3-36", "OPS-3-37", "OPS-3-39", "OPS-3-40",
    "OPS-3-41", "OPS-3-42", "OPS-3-43", "OPS-6-39", "OPS-6-73",
)  # fmt: skip
@pytest.mark.ambiguity("AMB-01", "AMB-02")
@every_cell
def test_amb_01_amb_02_an_approval_by_anybody(
    cell: Cell, owner: SessionOf, asker: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = owner.browser()
    ref = ask(browser)
    approval = approval_of(owner.look_up(ref))

    response = asker.endpoint(ref, approval)

    if cell.is_owner:
        assert (response.status_code, response.content) == (204, b"")
        assert browser.post("/buy/", ORDER).status_code == 302
        assert len(effects()) == 1
        return
    if cell.is_challenged:
        assert is_a_mere_challenge(response)
    else:
        assert answer(response) == answer(asker.endpoint(MADE_UP_REF, approval))
        assert response.status_code == 400
        assert response.json() == {"error": "invalid_request"}
    assert not Approval.objects.exists()
    assert ask(browser) == ref
    assert effects() == []
    owner.approve(ref)
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-6-39", "OPS-6-45", "OPS-6-73")
@pytest.mark.ambiguity("AMB-01", "AMB-02", "AMB-12")
@pytest.mark.parametrize("state", ["approved", "performed"])
@every_cell
def test_amb_01_amb_02_amb_12_an_approval_by_anybody_of_what_is_approved_or_performed(
    cell: Cell, owner: SessionOf, asker: SessionOf, state: str, jacket: Item, effects: Effects
) -> None:
    browser = owner.browser()
    ref, approval = recorded(owner, browser)
    if state == "performed":
        assert browser.post("/buy/", ORDER).status_code == 302
    before = effects()

    response = asker.endpoint(ref, approval)

    if cell.is_owner:
        assert (response.status_code, response.content) == (204, b"")
    elif cell.is_challenged:
        assert is_a_mere_challenge(response)
    else:
        assert answer(response) == answer(asker.endpoint(MADE_UP_REF, approval))
        assert response.status_code == 400
    assert Approval.objects.count() == 1
    assert owner.status(ref) == state
    assert effects() == before


@pytest.mark.requirement("OPS-3-44", "OPS-6-39", "OPS-6-57", "OPS-6-71")
@pytest.mark.ambiguity("AMB-02")
@every_cell
def test_amb_02_the_approved_request_from_anybodys_browser(
    cell: Cell, owner: SessionOf, asker: SessionOf, jacket: Item, effects: Effects
) -> None:
    browser = owner.browser()
    ref, approval = recorded(owner, browser)

    response = asker.browser().post("/buy/", ORDER)

    if cell.is_owner:
        assert response.status_code == 302
        assert len(effects()) == 1
        assert owner.status(ref) == "performed"
        return
    assert response.status_code == 403
    sid, own_ref = reference(response)
    assert sid == asker.sid
    own = asker.look_up(own_ref)
    assert own["operation_id"] != approval["operation_id"]
    assert own["revision"] != approval["revision"]
    assert effects() == []
    assert owner.status(ref) == "approved"
    assert browser.post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-42", "OPS-4-53")
@every_cell
def test_what_strangers_get_tells_them_apart_neither_from_each_other_nor_from_the_unknown(
    cell: Cell, owner: SessionOf, asker: SessionOf, anybody: Anybody, jacket: Item
) -> None:
    ref = ask(owner.browser())
    approval = approval_of(owner.look_up(ref))
    if cell.is_owner or cell.is_challenged:
        return
    unknown = answer(anybody("B", "u9").endpoint(MADE_UP_REF))
    assert answer(asker.endpoint(ref)) == unknown
    assert answer(asker.endpoint(ref, approval)) == unknown
    assert answer(asker.endpoint(ref, declared=False)) == unknown


@pytest.mark.requirement("OPS-3-32")
@pytest.mark.parametrize("account", ["nobody", "alice"])
def test_an_operation_outlives_the_session_that_returned_it(
    account: str, anybody: Anybody, jacket: Item, effects: Effects
) -> None:
    first = anybody(account=account)
    browser = first.browser()
    ref = ask(browser)
    browser.post("/accounts/logout/")  # ends the join and with it what the browser was
    second = anybody(account=account, sid="ses_new")
    second.approve(ref)
    assert second.browser().post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-38")
@pytest.mark.ambiguity("AMB-01")
@pytest.mark.parametrize("sid", ["ses_1", "ses_2"])
def test_amb_01_after_a_sign_out_the_approval_is_challenged_and_after_a_sign_in_it_is_good(
    sid: str, anybody: Anybody, jacket: Item, effects: Effects
) -> None:
    ref = ask(anybody(account="alice").browser())
    approval = approval_of(anybody(account="alice").look_up(ref))
    assert is_a_mere_challenge(anybody(sid=sid).endpoint(ref, approval))
    assert not Approval.objects.exists()
    signed_in_again = anybody(account="alice", sid=sid)
    assert signed_in_again.endpoint(ref, approval).status_code == 204
    assert signed_in_again.browser().post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-34")
def test_a_signed_out_operation_waits_until_the_session_is_signed_out_again(
    anybody: Anybody, jacket: Item, effects: Effects
) -> None:
    ref = ask(anybody().browser())
    approval = approval_of(anybody().look_up(ref))
    assert anybody(account="alice").endpoint(ref, approval).status_code == 400
    assert anybody().endpoint(ref, approval).status_code == 204
    assert anybody().browser().post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-3-35")
def test_a_renewed_token_is_the_same_account(
    anybody: Anybody, jacket: Item, effects: Effects
) -> None:
    alice = anybody(account="alice")
    ref = ask(alice.browser())
    operation = alice.look_up(ref)
    renewed = alice.issuer.access_token(
        alice.account or "", client_id=alice.agent.client_id, lifetime=60
    )
    response = alice.endpoint(ref, approval_of(operation), access_token=renewed)
    assert response.status_code == 204
    assert alice.browser().post("/buy/", ORDER).status_code == 302
    assert len(effects()) == 1


@pytest.mark.slow
def test_another_users_equal_request_is_another_operation(anybody: Anybody, jacket: Item) -> None:
    browsers = [
        anybody(agent, user_id, account).browser()
        for agent in ("A", "B")
        for user_id in ("u1", "u2")
        for account in ("nobody", "alice", "bob")
    ]
    assert len({ask(browser) for browser in browsers}) == len(browsers)
    assert Operation.objects.count() == len(browsers)
