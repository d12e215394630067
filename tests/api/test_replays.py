"""The answer of an action that was performed, given again (7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest
from django.http import FileResponse, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.template.response import TemplateResponse
from rest_framework.response import Response

from poppy_operations import CurrentOperation
from poppy_operations.lifecycle import finishing
from poppy_operations.models import Operation, Performance
from tests.agents import ORDER, ApiClient, operation_in
from tests.configuring import configure
from tests.shop.models import Effect
from tests.shop.orders import LOCATION, ApiBehaviour

pytestmark = pytest.mark.usefixtures("transactions")
Effects = Callable[[], list[str]]
PER_REQUEST = {"cache-control", "content-length", "date"}


def headers_of(response: Any) -> dict[str, str]:
    """The headers that mean the same at every request."""
    return {
        name.lower(): value
        for name, value in response.headers.items()
        if name.lower() not in PER_REQUEST
    }


def sent_and_again(api: ApiClient, **request: Any) -> tuple[Any, Any]:
    """The first answer to an approved request, and the second one."""
    operation = api.ask(**request)
    return api.approve(operation, **request), api.approve(operation, **request)


@pytest.mark.requirement("OPS-7-02")
@pytest.mark.parametrize("path", ["/api/class/", "/api/function/", "/api/generic/", "/api/plain/"])
def test_status_headers_and_bytes_come_again(path: str, agents_api: ApiClient) -> None:
    first, again = sent_and_again(agents_api, path=path)

    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert headers_of(again) == headers_of(first)
    assert first["Content-Type"] == "application/json"
    if path != "/api/generic/":
        assert LOCATION.items() <= dict(again.headers).items()
    assert "no-store" in again["Cache-Control"]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda operation: Response(status=204), 204),
        (lambda operation: HttpResponse(status=204), 204),
        (lambda operation: HttpResponse(status=205), 205),
        (lambda operation: Response(None, 200), 200),
        (lambda operation: HttpResponseRedirect("/done/"), 302),
        (lambda operation: Response(status=303, headers={"Location": "/done/"}), 303),
        (lambda operation: HttpResponse(b"%PDF \xff\x00", content_type="application/pdf"), 200),
        (lambda operation: Response({"queued": True}, 202, headers={"Link": "</jobs/1>"}), 202),
        (lambda operation: HttpResponse("plain", content_type="text/plain; charset=latin-1"), 200),
    ],
    ids=["204", "204 plain", "205", "empty", "302", "303", "bytes", "202", "charset"],
)
def test_every_kind_of_answer_comes_again(
    answer: Any, status: int, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.answer = answer
    first, again = sent_and_again(agents_api)

    assert first.status_code == again.status_code == status
    assert first.content == again.content
    assert headers_of(first) == headers_of(again)
    assert len(effects()) == 1


def test_cookies_and_what_belongs_to_one_request_do_not_come_again(
    agents_api: ApiClient, shop: ApiBehaviour
) -> None:
    def answer(operation: CurrentOperation) -> HttpResponse:
        response = Response(ORDER, headers={"Date": "yesterday", "X-Kept": "1"})
        response.set_cookie("secret", "of the first")
        response.headers["Cache-Control"] = "max-age=60"
        return response

    shop.answer = answer
    first, again = sent_and_again(agents_api)

    assert first.cookies["secret"].value == "of the first"
    assert not again.cookies
    assert "Date" not in again
    assert (again["X-Kept"], again.content) == ("1", first.content)
    assert again["Cache-Control"] == "no-store, private"


def test_lazy_data_is_read_once_and_inside_the_transaction(
    agents_api: ApiClient, shop: ApiBehaviour
) -> None:
    def answer(operation: CurrentOperation) -> Response:
        def rows() -> Iterator[str]:
            yield from Effect.objects.values_list("key", flat=True)

        return Response(rows())

    shop.answer = answer
    first, again = sent_and_again(agents_api)

    assert first.json() == ["1 jacket"]
    assert again.content == first.content


def test_a_rendering_error_undoes_the_action(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = agents_api.ask()
    shop.answer = lambda operation: Response({"not json": object()})
    with pytest.raises(TypeError, match="not JSON serializable"):
        agents_api.approve(operation)
    assert effects() == []

    shop.answer = None
    assert agents_api.approve(operation).status_code == 201
    assert len(effects()) == 1


def test_a_template_is_rendered_inside_the_run(
    agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.answer = lambda operation: TemplateResponse(None, "no such template.txt")  # type: ignore[arg-type]
    operation = agents_api.ask(path="/api/plain/")
    with pytest.raises(Exception, match="no such template"):
        agents_api.approve(operation, path="/api/plain/")
    assert effects() == []


def test_the_first_representation_comes_again_whatever_is_accepted_then(
    agents_api: ApiClient,
) -> None:
    operation = agents_api.ask()
    first = agents_api.approve(operation, headers={"Accept": "application/json; indent=4"})
    again = agents_api.approve(operation, headers={"Accept": "application/json"})

    assert b"\n    " in first.content
    assert again.content == first.content
    assert headers_of(again) == headers_of(first)


def test_a_page_of_the_browsable_api_is_not_stored(agents_api: ApiClient, effects: Effects) -> None:
    """It holds a CSRF token of the one who got it."""
    operation = agents_api.ask()
    first = agents_api.approve(operation, headers={"Accept": "text/html"})
    assert first["Content-Type"].startswith("text/html")
    assert Performance.objects.get().body is None

    again = agents_api.approve(operation, headers={"Accept": "text/html"})
    assert again["Content-Type"].startswith("text/html")  # The view's replay, rendered now.
    assert b"&quot;again&quot;: true" in again.content
    assert len(effects()) == 1


STREAMS: dict[str, Callable[[CurrentOperation], Any]] = {
    "file": lambda operation: FileResponse(BytesIO(b"a file"), filename="order.txt"),
    "stream": lambda operation: StreamingHttpResponse(iter([b"a ", b"stream"])),
    "large": lambda operation: HttpResponse(b"x" * 2000, content_type="text/plain"),
}


@pytest.mark.requirement("OPS-7-02")
@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/transfer/"])
def test_what_cannot_be_stored_is_given_again_by_the_views_replay(
    kind: str,
    path: str,
    agents_api: ApiClient,
    shop: ApiBehaviour,
    settings: Any,
    effects: Effects,
) -> None:
    configure(settings, STORED_BODY_BYTES=1000)
    shop.answer = STREAMS[kind]
    if path == "/api/plain/":
        shop.replay = lambda request, operation: HttpResponse(
            f"{operation.operation_id} {operation.terms['sku']} again", content_type="text/plain"
        )
    operation = agents_api.ask(path=path)
    first = agents_api.approve(operation, path=path)
    again = agents_api.approve(operation, path=path)

    assert first.getvalue() in {b"a file", b"a stream", b"x" * 2000}
    if path == "/api/plain/":
        assert again.content.decode() == f"{operation['operation_id']} jacket again"
    else:
        assert again.json() == {"sku": "jacket", "again": True}
    assert len(effects()) == 1


@pytest.mark.parametrize("kind", STREAMS)
def test_without_a_replay_it_is_said_that_it_was_performed(
    kind: str, agents_api: ApiClient, shop: ApiBehaviour, settings: Any, effects: Effects
) -> None:
    configure(settings, STORED_BODY_BYTES=1000)
    shop.answer = STREAMS[kind]
    operation = agents_api.ask(path="/api/one-order/")
    first = agents_api.approve(operation, path="/api/one-order/")
    again = agents_api.approve(operation, path="/api/one-order/")

    assert first.status_code == again.status_code == 200
    assert again.json() == {"operation_id": operation["operation_id"], "status": "performed"}
    assert len(effects()) == 1


@pytest.mark.parametrize(("size", "is_stored"), [(1000, True), (1001, False)])
def test_the_largest_stored_body_is_a_setting(
    size: int, is_stored: bool, agents_api: ApiClient, shop: ApiBehaviour, settings: Any
) -> None:
    configure(settings, STORED_BODY_BYTES=1000)
    shop.answer = lambda operation: HttpResponse(b"x" * size, content_type="text/plain")
    sent_and_again(agents_api)

    assert (Performance.objects.get().body is not None) is is_stored


def fails(request: Any, operation: CurrentOperation) -> Response:
    message = "The archive is closed."
    raise LookupError(message)


FAILING_REPLAYS: dict[str, Any] = {
    "raises": fails,
    "returns nothing": lambda request, operation: None,
    "returns no response": lambda request, operation: {"again": True},
    "cannot be rendered": lambda request, operation: TemplateResponse(None, "no such template"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("kind", FAILING_REPLAYS)
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/"])
def test_a_replay_that_fails_says_plainly_that_it_was_performed(
    kind: str, path: str, agents_api: ApiClient, shop: ApiBehaviour, effects: Effects
) -> None:
    """What was performed must not read like a failure, whatever the site's code does."""
    shop.answer = STREAMS["stream"]
    shop.replay = FAILING_REPLAYS[kind]
    operation = agents_api.ask(path=path)
    agents_api.approve(operation, path=path)
    again = agents_api.approve(operation, path=path)

    assert (again.status_code, again.json()["status"]) == (200, "performed")
    assert len(effects()) == 1


def test_an_error_after_the_answer_was_rendered_is_answered_in_its_own_form(
    agents_api: ApiClient, monkeypatch: pytest.MonkeyPatch, effects: Effects
) -> None:
    """Finalising once must not keep the view from sending something else."""
    agents_api.path = "/api/catch-all/"
    operation = agents_api.ask()

    def fails(*args: Any, **kwargs: Any) -> bool:
        message = "deferred constraint"
        raise ValueError(message)

    with monkeypatch.context() as patched:
        patched.setattr(finishing, "finish", fails)
        answer = agents_api.approve(operation)
    assert (answer.status_code, answer.json()) == (500, {"caught": "ValueError"})
    error = agents_api.send(body="not json")
    assert (answer["Vary"], answer["Allow"]) == (error["Vary"], error["Allow"])
    assert effects() == []
    assert Operation.objects.get().state == Operation.State.OPEN
    assert agents_api.approve(operation).status_code == 201


def test_the_gates_own_answers_have_the_views_headers(agents_api: ApiClient) -> None:
    answer = agents_api.send()

    assert operation_in(answer)
    assert "Accept" in answer["Vary"]
    assert answer["Allow"] == agents_api.send(method="GET", body="")["Allow"]
