"""What the statements of each request read is what Django's own would have read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.db.models.functions import Substr

from poppy_operations.declarations.outcomes import Decline as Decision
from poppy_operations.gate.named import OF_ASKS, named_by, performed_revision
from poppy_operations.gate.revisions import (
    BRIEF,
    LIVE,
    has_live,
    live_revisions,
    revision_of_operation,
    revision_of_ref,
    revision_of_watch,
    seconds,
)
from poppy_operations.lifecycle import approving, asking, finishing
from poppy_operations.models import Decline, Operation, Performance, Revision
from poppy_operations.models.row_by_key import row_by_key
from poppy_operations.protocol.canonical import digest
from poppy_operations.protocol.stored_answer import StoredAnswer
from poppy_operations.sessions.agents import add_agent, find_agent, listed_agents, revoke_agent
from poppy_operations.testing.agents import PersonalAgent
from tests.lifecycle.rows import ASKED, MINE, NOW, OWNER, begun, read, returned, statement_of
from tests.statements.rows import facts, related

pytestmark = [pytest.mark.django_db, pytest.mark.database]
Story = Callable[[Revision], object]
ANSWER = StoredAnswer(201, [("Location", "/done/")], bytes(range(256)))
LATER = NOW + timedelta(minutes=5)


def waits(revision: Revision) -> None:
    """Nothing happens to it."""


def is_recorded(revision: Revision) -> None:
    statement = statement_of(revision)
    assert approving.record(statement, revision, sid="ses_1", now=NOW)


def is_declined(revision: Revision) -> None:
    revision.operation = read(revision.operation)
    statement = statement_of(revision)
    assert approving.decline(statement, revision, Decision(), sid="ses_1", now=NOW)


def is_recorded_and_declined(revision: Revision) -> None:
    is_recorded(revision)
    is_declined(revision)


def is_voided(revision: Revision) -> None:
    is_recorded(revision)
    assert approving.void(revision.record, by="bob", because="asked", now=NOW)


def is_performing(revision: Revision) -> None:
    begun(revision, effects="external")


def is_performing_what_was_recorded(revision: Revision) -> None:
    is_recorded(revision)
    begun(revision, approval=revision.record, effects="external")


def is_unknown(revision: Revision) -> None:
    is_performing(revision)
    assert finishing.mark_unknown(revision.operation, MINE, NOW)


def is_performed(revision: Revision) -> None:
    approval = begun(revision, effects="external")
    finishing.finish_external(revision.operation, approval, ANSWER, attempt=MINE, now=NOW)


def has_a_newer_one(revision: Revision) -> None:
    assert asking.return_revision(ASKED, read(revision.operation), LATER)


def is_performed_beside_a_newer_one(revision: Revision) -> None:
    has_a_newer_one(revision)
    is_performed(revision)


STORIES = [
    waits,
    is_recorded,
    is_declined,
    is_recorded_and_declined,
    is_voided,
    is_performing,
    is_performing_what_was_recorded,
    is_unknown,
    is_performed,
    has_a_newer_one,
    is_performed_beside_a_newer_one,
]
told = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)


def was_declined(revision: Revision, approver: str) -> bool:
    return Decline.objects.filter(revision=revision, approver=approver).exists()


def of_django(revision: Revision) -> Revision:
    """The revision with what the gate asks of it, as Django reads it."""
    return Revision.objects.select_related("operation", "record").get(pk=revision.pk)


def is_as_django_reads_it(found: Revision) -> None:
    """Compare a revision, its operation and its record with what Django reads."""
    expected = of_django(found)
    record = related(found, "record")
    assert facts(found).items() <= facts(expected).items()
    assert facts(related(found, "operation")) == facts(expected.operation)
    assert facts(record) == facts(getattr(expected, "record", None))
    if record is not None:
        assert related(record, "recorded_for") is found


@told
@pytest.mark.parametrize("approver", ["user", "agent"])
def test_what_an_approval_names(
    story: Story, approver: str, django_assert_num_queries: Any
) -> None:
    for revision in (returned(), returned(slot="another")):
        story(revision)
        name = revision.operation.operation_id
        with django_assert_num_queries(1):
            found = named_by(name, revision.revision, approver)
            assert found is not None
            assert found.revision is not None
        expected = Operation.objects.get(operation_id=name)
        assert facts(found.operation) == facts(expected)
        assert facts(found.revision).items() <= facts(of_django(revision)).items()
        assert found.revision.get_deferred_fields() == set(OF_ASKS)
        assert related(found.revision, "operation") is found.operation
        assert found.revision.was_declined is was_declined(revision, approver)  # type: ignore[attr-defined]
        performance = Performance.objects.filter(operation=expected).first()
        told = facts(related(found.operation, "performance"))
        assert told.items() <= facts(performance).items()
        assert bool(told) is (performance is not None)


@told
def test_an_approval_that_names_another_operations_revision_names_the_operation(
    story: Story,
) -> None:
    revision, other = returned(), returned(slot="another")
    story(revision)
    found = named_by(revision.operation.operation_id, other.revision, "user")
    assert found is not None
    assert facts(found.operation) == facts(read(revision.operation))
    assert found.revision is None


@told
def test_an_approval_that_names_another_revision_of_the_operation_names_that(
    story: Story,
) -> None:
    revision = returned()
    further = asking.return_revision(ASKED, read(revision.operation), LATER)
    assert further is not None
    story(of_django(revision))
    found = named_by(revision.operation.operation_id, further.revision, "user")
    assert found is not None
    assert facts(found.revision).items() <= facts(of_django(further)).items()


def test_an_approval_of_no_operation_names_nothing() -> None:
    revision = returned()
    name = revision.operation.operation_id
    for other in (f"{name}_", name.upper(), ""):
        assert named_by(other, revision.revision, "user") is None


@pytest.mark.parametrize(("by", "queries"), [("its own", 0), ("another", 1), ("an unknown", 1)])
def test_what_was_performed_is_found_by_any_revision_that_is_named(
    by: str, queries: int, django_assert_num_queries: Any
) -> None:
    revision = returned()
    further = asking.return_revision(ASKED, read(revision.operation), LATER)
    assert further is not None
    is_performed(of_django(revision))
    names = {
        "its own": revision.revision,
        "another": further.revision,
        "an unknown": "1-unknown",
    }
    found = named_by(revision.operation.operation_id, names[by], "user")
    assert found is not None
    with django_assert_num_queries(queries):
        performed = performed_revision(found)
    assert facts(performed).items() <= facts(of_django(revision)).items()
    assert performed.terms == revision.terms
    assert related(performed, "operation") is found.operation
    assert related(found.operation.performance, "revision") is performed
    assert bytes(found.operation.performance.body or b"") == bytes(range(256))


@told
@pytest.mark.parametrize("approver", ["user", "agent"])
def test_the_revision_of_a_reference_and_of_a_page_that_watches(
    story: Story, approver: str, django_assert_num_queries: Any
) -> None:
    revision = returned(interface="website")
    story(revision)
    assert revision.ref is not None
    assert revision.watch is not None
    with django_assert_num_queries(1):
        found = revision_of_ref(revision.ref, approver)
    with django_assert_num_queries(1):
        watched = revision_of_watch(revision.watch)
    operation = read(revision.operation)
    with django_assert_num_queries(1):
        named = revision_of_operation(operation, revision.revision, approver)
    assert found is not None
    assert watched is not None
    assert named is not None
    assert related(named, "operation") is operation
    for one in (found, watched, named):
        is_as_django_reads_it(one)
        record = related(one, "record")
        declined = record is not None and was_declined(revision, "user")
        assert one.record_declined is declined  # type: ignore[attr-defined]
    for one in (found, named):
        assert one.was_declined is was_declined(revision, approver)  # type: ignore[attr-defined]


def test_what_names_no_revision_reads_none() -> None:
    revision = returned(interface="website")
    other = returned(interface="website", slot="another")
    assert revision.ref is not None
    for text in ("", "x", revision.ref.upper()):
        assert revision_of_ref(text) is None
    assert revision_of_watch("x") is None
    for text in ("1-unknown", other.revision, revision.revision.upper()):
        assert revision_of_operation(revision.operation, text, "user") is None


def live_of_django(now: Any, slots: list[str]) -> list[Revision]:
    """What ``live_revisions`` promises, in Django's own words."""
    newest = Revision.objects.filter(operation=OuterRef("operation")).order_by("-number")
    is_newest = Q(number=Subquery(newest.values("number")[:1]))
    declined = Decline.objects.filter(
        revision=OuterRef("pk"), approver=OuterRef("record__approver")
    )
    wanted = (
        Q(expires_at__gte=seconds(now), retired_at=None)
        | Q(Q(operation__state="performing"), is_newest | Q(record=F("operation__approval")))
        | Q(Q(operation__slot__in=slots), is_newest)
    )
    return list(
        Revision.objects.select_related("operation", "record")
        .filter(wanted, operation__owner_digest=OWNER.digest, operation__state__in=LIVE)
        .annotate(record_declined=Exists(declined), brief=Substr("summary", 1, BRIEF + 1))
        .order_by("record__received_at", "pk")
    )


@told
@pytest.mark.parametrize("named", [0, 1, 2])
@pytest.mark.parametrize("now", [NOW, NOW + timedelta(hours=1)], ids=["in time", "too late"])
def test_the_live_revisions_of_an_owner(
    story: Story, named: int, now: Any, django_assert_num_queries: Any
) -> None:
    slots = [digest(str(number)) for number in range(3)]
    summaries = [None, "Brief.", "x" * BRIEF + "é", "x" * BRIEF]
    for slot, summary in zip([*slots, digest("further")], summaries, strict=True):
        revision = returned(interface="website", slot=slot, summary=summary)
    story(revision)
    with django_assert_num_queries(1):
        found = live_revisions(OWNER, now, slots[:named])
    expected = live_of_django(now, slots[:named])
    assert [one.pk for one in found] == [one.pk for one in expected]
    for ours, theirs in zip(found, expected, strict=True):
        is_as_django_reads_it(ours)
        assert ours.record_declined is theirs.record_declined  # type: ignore[attr-defined]
        kept = {"terms", "content_fields"}
        if theirs.summary is not None and len(theirs.summary) > BRIEF:
            kept.add("summary")
        assert ours.get_deferred_fields() == kept


def test_whether_an_owner_has_anything_live() -> None:
    assert not has_live(OWNER)
    revision = returned()
    assert has_live(OWNER)
    is_performed(revision)
    assert not has_live(OWNER)


def test_an_agent_and_whether_it_is_revoked(django_assert_num_queries: Any) -> None:
    agents = [PersonalAgent(), PersonalAgent(client_id="https://other.example/agent")]
    for one in agents:
        add_agent(one.client_id, name="An agent", jwks=one.jwks)
    revoke_agent(agents[1].client_id)
    for one in agents:
        with django_assert_num_queries(1):
            found = find_agent(one.client_id)
        assert facts(found) == facts(listed_agents().get(client_id=one.client_id))
    assert find_agent("https://unknown.example/") is None


def test_a_row_of_the_sites_own_by_its_key(django_assert_num_queries: Any) -> None:
    users = [User.objects.create_user(name) for name in ("ann", "bob")]
    for user in users:
        with django_assert_num_queries(1):
            found = row_by_key(User, str(user.pk))
        assert facts(found) == facts(User.objects.get(pk=user.pk))
        assert found is not None
        assert found.last_login is None
        assert found.is_active is True
    assert row_by_key(User, str(users[1].pk + 1)) is None


@pytest.mark.parametrize("key", [str(2**31), str(2**63), str(10**30), f"-{2**63 + 1}"])
def test_no_row_has_a_key_that_no_database_takes(key: str) -> None:
    assert row_by_key(User, key) is None


@pytest.mark.parametrize("key", ["", "x", "1.5"])
def test_what_is_no_key_is_refused_as_django_refuses_it(key: str) -> None:
    for read_by in (User.objects.get, lambda pk: row_by_key(User, pk)):
        with pytest.raises((ValueError, TypeError)):
            read_by(pk=key)


def test_a_manager_of_the_sites_own_decides_who_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that gives the rows of the tenant that a request is of."""
    ann, bob = (User.objects.create_user(name) for name in ("ann", "bob"))

    class OfOneTenant(type(User.objects)):  # type: ignore[misc]  # whatever the manager's class is
        tenant = "ann"

        def get_queryset(self) -> Any:
            return super().get_queryset().filter(username=self.tenant)

    manager = OfOneTenant()
    manager.model = User
    monkeypatch.setattr(User._meta, "default_manager", manager)
    assert User._default_manager is manager
    for tenant, user, other in (("ann", ann, bob), ("bob", bob, ann)):
        OfOneTenant.tenant = tenant
        assert row_by_key(User, str(user.pk)) == user
        assert row_by_key(User, str(other.pk)) is None
