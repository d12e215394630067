"""Many requests at once with one approval: one effect (7)."""

from __future__ import annotations

import time
from functools import partial
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection

from poppy_operations.models import Operation, Performance
from tests.agents import ORDER, ApiClient, SessionOf
from tests.connections import together
from tests.shop.models import Effect
from tests.shop.operations import Behaviour

pytestmark = [
    pytest.mark.database,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_connections", "transactions"),
]
TOGETHER = 12
PATHS = ["/api/class/", "/api/plain/", "/api/aplain/", "/api/transfer/", "/api/one-order/"]


def client_of(api: ApiClient) -> ApiClient:
    """The same agent with a test client of its own."""
    session = api.session
    own = SessionOf(session.agent, session.issuer, account=session.account)
    own.client.raise_request_exception = True
    return ApiClient(own, api.path)


@pytest.mark.requirement("OPS-7-01", "OPS-1-06", "OPS-7-09")
@pytest.mark.parametrize("path", PATHS)
def test_one_approval_sent_together_is_performed_once(
    path: str, agents_api: ApiClient, site: Behaviour
) -> None:
    agents_api.path = path
    operation = agents_api.ask()
    site.after_effect = lambda operation: time.sleep(0.05)
    clients = [client_of(agents_api) for _ in range(TOGETHER)]
    answers = together([partial(client.approve, operation) for client in clients])

    assert Effect.objects.count() == 1
    done = [answer for answer in answers if answer.status_code == 201]
    waiting = [answer for answer in answers if answer.status_code == 503]
    assert len(done) + len(waiting) == TOGETHER, [answer.content for answer in answers]
    assert done
    assert {answer.content for answer in done} == {done[0].content}
    for answer in waiting:
        assert int(answer["Retry-After"]) > 0
    assert agents_api.approve(operation).content == done[0].content
    assert Performance.objects.count() == 1


@pytest.mark.requirement("OPS-3-26")
def test_approvals_of_several_revisions_together_perform_it_once(
    agents_api: ApiClient, site: Behaviour
) -> None:
    agents_api.path = "/api/one-order/"
    bodies = [{**ORDER, "quantity": quantity} for quantity in range(1, 7)]
    operations = [agents_api.ask(body=body) for body in bodies]
    assert len({operation["operation_id"] for operation in operations}) == 1
    clients = [client_of(agents_api) for _ in bodies]
    answers = together(
        [
            partial(client.approve, operation, body=body)
            for client, operation, body in zip(clients, operations, bodies, strict=True)
        ]
    )

    assert Effect.objects.count() == 1
    done = {answer.content for answer in answers if answer.status_code == 201}
    assert len(done) == 1
    assert {answer.status_code for answer in answers} <= {201, 503}


def test_the_same_request_asked_together_is_one_operation(agents_api: ApiClient) -> None:
    clients = [client_of(agents_api) for _ in range(TOGETHER)]
    answers = together([client.send for client in clients])

    statuses = {answer.status_code for answer in answers}
    assert statuses <= {403, 503}, statuses
    operations = {
        answer.json()["operation"]["operation_id"]
        for answer in answers
        if answer.status_code == 403
    }
    assert len(operations) == 1
    assert Operation.objects.count() == 1


@pytest.mark.requirement("OPS-7-09")
def test_a_repeat_during_the_action_waits_its_turn(agents_api: ApiClient, site: Behaviour) -> None:
    """Neither a new operation nor a second effect, and the answer once it is over."""
    agents_api.path = "/api/transfer/"
    operation = agents_api.ask()
    began, go_on = Event(), Event()

    def blocked(operation: Any) -> None:
        began.set()
        assert go_on.wait(30)

    site.after_effect = blocked
    answers: list[Any] = []
    first = client_of(agents_api)

    def run() -> None:
        answers.append(first.approve(operation))
        connection.close()

    running = Thread(target=run)
    running.start()
    assert began.wait(30)
    for repeat in (agents_api.approve(operation), agents_api.send()):
        assert (repeat.status_code, repeat.json()["status"]) == (503, "performing")
        assert int(repeat["Retry-After"]) > 0
    other = agents_api.ask(body={**ORDER, "quantity": 2})
    assert other["operation_id"] != operation["operation_id"]
    go_on.set()
    running.join(30)

    again = agents_api.approve(operation)
    assert (again.status_code, again.content) == (201, answers[0].content)
    assert Effect.objects.count() == 1
