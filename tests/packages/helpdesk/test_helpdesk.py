"""django-helpdesk: its own views behind approval; whoever is no agent notices nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core import mail
from django.test import Client
from helpdesk.models import Queue, Ticket

from poppy_operations.models import Operation
from tests.agents import ApiClient, SessionOf, reference
from tests.asking import ask, recorded
from tests.packages.browsers import whose

FORMS = ("/helpdesk/", "/helpdesk/tickets/submit/", "/helpdesk/tickets/submit_iframe/")
SUBMIT = "/helpdesk/tickets/submit/"
TITLE = "The zip is broken"


@pytest.fixture
def queue(db: None) -> Queue:
    """Where the public files tickets."""
    made: Queue = Queue.objects.create(
        title="Repairs",
        slug="repairs",
        allow_public_submission=True,
        new_ticket_cc="desk@shop.example",
    )
    return made


@pytest.fixture
def form(queue: Queue) -> dict[str, str]:
    """What one fills in."""
    return {
        "queue": str(queue.pk),
        "title": TITLE,
        "body": "It came off in the rain.",
        "priority": "3",
        "submitter_email": "alice@shop.example",
    }


def titles() -> list[str]:
    """The tickets that were filed."""
    return list(Ticket.objects.order_by("pk").values_list("title", flat=True))


@pytest.mark.parametrize("path", FORMS)
def test_a_visitor_files_a_ticket_at_once(path: str, visitor: Client, form: dict[str, str]) -> None:
    assert visitor.get(path).status_code == 200
    assert visitor.post(path, form).status_code == 302
    assert titles() == [TITLE]
    assert len(mail.outbox) == 2
    assert not Operation.objects.exists()


def test_a_visitor_sees_what_is_wrong_with_the_form(visitor: Client, form: dict[str, str]) -> None:
    shown = visitor.post(SUBMIT, {**form, "submitter_email": "nobody"})

    assert shown.status_code == 200
    assert "Enter a valid email address." in shown.content.decode()
    assert titles() == []


@pytest.mark.parametrize("path", FORMS)
def test_an_agent_asks_has_it_approved_and_files_one_ticket(
    path: str, signed_in: SessionOf, form: dict[str, str]
) -> None:
    browser = signed_in.browser()
    assert whose(browser) == "alice"
    assert browser.get(path).status_code == 200

    ref, _ = recorded(signed_in, browser, path, form)
    assert (titles(), mail.outbox) == ([], [])

    assert browser.post(path, form).status_code == 302
    assert titles() == [TITLE]
    assert len(mail.outbox) == 2
    assert signed_in.status(ref) == "performed"

    assert ask(browser, path, form) != ref
    assert titles() == [TITLE]


def test_the_terms_are_the_whole_ticket(signed_in: SessionOf, form: dict[str, str]) -> None:
    operation = signed_in.look_up(ask(signed_in.browser(), SUBMIT, form))

    assert operation["terms"] == {
        "queue": "repairs",
        "title": TITLE,
        "body": "It came off in the rain.",
        "submitter": "alice@shop.example",
        "priority": 3,
    }
    assert TITLE in operation["summary"]


@pytest.mark.parametrize(
    "change",
    [{"title": "Something else"}, {"submitter_email": "bob@shop.example"}, {"priority": "1"}],
    ids=lambda change: next(iter(change)),
)
def test_another_ticket_than_the_approved_one_is_not_filed(
    change: Mapping[str, str], signed_in: SessionOf, form: dict[str, str]
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser, SUBMIT, form)

    assert browser.post(SUBMIT, {**form, **change}).status_code == 403
    assert (titles(), mail.outbox) == ([], [])


def test_an_approval_for_one_form_files_nothing_by_another(
    signed_in: SessionOf, form: dict[str, str]
) -> None:
    browser = signed_in.browser()
    recorded(signed_in, browser, FORMS[0], form)

    assert browser.post(FORMS[1], form).status_code == 403
    assert titles() == []


def test_an_agent_sees_what_is_wrong_with_the_form(
    signed_in: SessionOf, form: dict[str, str]
) -> None:
    shown = signed_in.browser().post(SUBMIT, {**form, "submitter_email": "nobody"})

    assert shown.status_code == 200
    assert "Enter a valid email address." in shown.content.decode()
    assert not Operation.objects.exists()


class TestALinkThatActs:
    """The package closes a ticket by a link, which is a GET."""

    @pytest.fixture
    def ticket(self, queue: Queue) -> Ticket:
        made: Ticket = Ticket.objects.create(
            title=TITLE,
            queue=queue,
            submitter_email="alice@shop.example",
            status=Ticket.RESOLVED_STATUS,
        )
        return made

    @pytest.fixture
    def page(self, ticket: Ticket) -> str:
        """The page of the ticket."""
        named = {
            "ticket": ticket.ticket_for_url,
            "email": ticket.submitter_email,
            "key": ticket.secret_key,
        }
        return f"/helpdesk/view/?{urlencode(named)}"

    def status(self) -> Any:
        return Ticket.objects.get().status

    def test_a_visitor_closes_the_ticket_at_once(
        self, visitor: Client, page: str, alice: Any
    ) -> None:
        visitor.login(username="alice", password="alice")

        assert visitor.get(page).status_code == 200
        assert visitor.get(f"{page}&close").status_code == 302
        assert self.status() == Ticket.CLOSED_STATUS

    def test_an_agent_looks_at_the_ticket_without_an_approval(
        self, signed_in: SessionOf, page: str
    ) -> None:
        shown = signed_in.browser().get(page)

        assert shown.status_code == 200
        assert TITLE in shown.content.decode()

    def test_an_agent_closes_the_ticket_once_it_is_approved(
        self, signed_in: SessionOf, page: str
    ) -> None:
        browser = signed_in.browser()
        refused = browser.get(f"{page}&close")
        assert refused.status_code == 403
        assert self.status() == Ticket.RESOLVED_STATUS

        signed_in.approve(reference(refused)[1])
        assert self.status() == Ticket.RESOLVED_STATUS
        assert browser.get(f"{page}&close").status_code == 302
        assert self.status() == Ticket.CLOSED_STATUS


class TestTheApi:
    """The package's view set, with its own permissions and serializer."""

    @pytest.fixture
    def desk(self, signed_in: SessionOf, alice: Any) -> ApiClient:
        """An agent of alice, who works at the desk."""
        alice.is_staff = True
        alice.save()
        return ApiClient(signed_in, "/helpdesk/api/tickets/")

    @pytest.fixture
    def ticket(self, form: dict[str, str]) -> dict[str, Any]:
        """What one sends."""
        return {
            "queue": int(form["queue"]),
            "title": TITLE,
            "description": form["body"],
            "submitter_email": form["submitter_email"],
            "priority": 3,
        }

    def test_a_member_of_staff_files_a_ticket_at_once(
        self, visitor: Client, desk: ApiClient, ticket: dict[str, Any]
    ) -> None:
        visitor.login(username="alice", password="alice")

        assert visitor.post(desk.path, ticket, "application/json").status_code == 201
        assert titles() == [TITLE]

    def test_an_agent_asks_has_it_approved_files_one_ticket_and_gets_the_answer_again(
        self, desk: ApiClient, ticket: dict[str, Any]
    ) -> None:
        operation = desk.ask(body=ticket)
        assert operation["terms"] == {"queue": "repairs", "title": TITLE}
        assert titles() == []

        performed = desk.approve(operation, body=ticket)
        assert performed.status_code == 201
        replayed = desk.approve(operation, body=ticket)
        assert (replayed.status_code, replayed.json()) == (201, performed.json())
        assert titles() == [TITLE]

    def test_what_the_package_refuses_while_it_saves_is_not_performed(
        self, desk: ApiClient, ticket: dict[str, Any]
    ) -> None:
        """Its form asks for more than its serializer, inside the view."""
        del ticket["priority"]
        operation = desk.ask(body=ticket)

        refused = desk.approve(operation, body=ticket)
        assert (refused.status_code, list(refused.json())) == (400, ["priority"])
        assert titles() == []
        assert Operation.objects.get().state == Operation.State.OPEN

    def test_an_agent_of_a_customer_is_kept_out_by_the_packages_permissions(
        self, desk: ApiClient, ticket: dict[str, Any], alice: Any
    ) -> None:
        alice.is_staff = False
        alice.save()

        assert desk.send(body=ticket).status_code == 403
        assert not Operation.objects.exists()
