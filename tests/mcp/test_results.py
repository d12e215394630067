"""What a gated tool returns: sent, judged, stored and given again (6, 7)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.http import FileResponse, Http404, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.test import RequestFactory
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent
from pydantic import BaseModel
from rest_framework.exceptions import NotFound
from rest_framework.exceptions import ValidationError as RestValidationError
from rest_framework.response import Response

from poppy_operations import NotPerformed, Performed, Terms, maintenance, operation_of
from poppy_operations.background import perform_attempt
from poppy_operations.doors.mcp_results import ToolResults
from poppy_operations.models import Operation, Performance
from tests.configuring import configure
from tests.mcp.clients import ToolClient, operation_in, text_of
from tests.mcp.servers import OwnServer, fixed_terms
from tests.shop.models import Effect
from tests.shop.orders import ApiBehaviour

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]
QUEUED: list[tuple[str, str]] = []


def result(text: str, *, is_error: bool = False, **structured: Any) -> CallToolResult:
    """A result of the SDK."""
    content = [TextContent(type="text", text=text)]
    return CallToolResult(
        content=list(content), structured_content=structured or None, is_error=is_error
    )


class Made(BaseModel):
    """What a tool of these tests returns."""

    number: int


def raising(error: Exception) -> Callable[..., Any]:
    """Something that raises."""

    def raise_it(*arguments: Any) -> Any:
        raise error

    return raise_it


# What nothing happened says


@pytest.mark.parametrize(
    ("said", "text", "structured"),
    [
        (NotPerformed(), "Not done. Nothing happened.", None),
        (NotPerformed(result("Sold out.", is_error=True)), "Sold out.", None),
        (NotPerformed(result("Waiting.", queue=3)), "Waiting.", {"queue": 3}),
        (
            NotPerformed(JsonResponse({"error": "sold_out"}, status=409)),
            '{"error": "sold_out"}',
            {"error": "sold_out"},
        ),
        (
            NotPerformed(Response({"error": "sold_out"}, 422)),
            '{"error": "sold_out"}',
            {"error": "sold_out"},
        ),
        (NotPerformed(HttpResponse("Sold out.", "text/plain", 409)), "Sold out.", None),
        (NotPerformed(HttpResponse("<p>Sold out.</p>", status=409)), "Not done.", None),
    ],
)
@pytest.mark.parametrize("tool", ["order", "transfer"])
def test_a_tool_may_say_that_nothing_happened(
    said: NotPerformed,
    text: str,
    structured: Any,
    tool: str,
    tools: ToolClient,
    shop: ApiBehaviour,
    effects: Effects,
) -> None:
    tools.tool = tool
    operation = tools.ask()
    shop.answer = raising(said)
    told = tools.approve(operation)

    assert (text_of(told), told.structured_content) == (text, structured)
    assert effects() == ([] if tool == "order" else ["api.transfer 1 jacket"])
    shop.answer = None
    assert not tools.approve(operation).is_error


def test_what_is_no_answer_of_a_tool_is_told_to_the_site() -> None:
    said = NotPerformed()
    said.response = "Sold out."  # type: ignore[assignment]
    with pytest.raises(TypeError, match="a result of a tool, a response or None, not str"):
        ToolResults(lambda value: result("x")).nothing_happened(said)


@pytest.mark.ambiguity("AMB-15")
def test_amb_15_an_error_result_undoes_what_was_done(
    tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = tools.ask()
    shop.answer = lambda operation: result("No.", is_error=True)  # type: ignore[assignment]
    told = tools.approve(operation)

    assert (told.is_error, text_of(told)) == (True, "No.")
    assert effects() == []
    assert Operation.objects.get().state == "open"


@pytest.mark.ambiguity("AMB-15")
@pytest.mark.parametrize(
    "answer", [lambda operation: result("No.", is_error=True), raising(OSError())]
)
def test_amb_15_an_external_action_that_fails_is_not_known_to_have_done_nothing(
    answer: Any, tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    tools.tool = "transfer"
    operation = tools.ask()
    shop.answer = answer
    for told in (tools.approve(operation), tools.approve(operation)):
        assert not told.is_error
        assert "in progress" in text_of(told)
    assert len(effects()) == 1


def test_a_question_of_the_tool_is_no_end_of_the_action(
    own: OwnServer, effects: Effects, tools: ToolClient
) -> None:
    action = own.action()

    @own.server.tool()
    @action.tool(terms=fixed_terms)
    def asking(ctx: Context) -> str | InputRequiredResult:
        """Ask something."""
        Effect.objects.create(kind="asked", key="1")
        return InputRequiredResult(request_state="more")

    tools.server, tools.tool = own.server, "asking"
    operation = tools.ask(arguments={})
    with pytest.raises(Exception):  # noqa: B017, PT011  the client goes on asking
        tools.approve(operation, arguments={})
    assert effects() == []
    assert Operation.objects.get().state == "open"


# What the site raises


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Http404("No such order."), "Not found. No such order."),
        (PermissionDenied("Not yours."), "Not permitted. Not yours."),
        (ValidationError(["Too many.", "Too late."]), "Too many. Too late."),
        (SuspiciousOperation("../"), "The request is not acceptable."),
        (NotFound("No such order."), "Not done. No such order."),
        (
            RestValidationError({"quantity": ["Too many."]}),
            "Not done. quantity: Too many.",
        ),
        (ToolError("Too many."), "Error executing tool order: Too many."),
        (KeyError("secret"), "Error executing tool order"),
    ],
)
@pytest.mark.parametrize("where", ["terms", "allowed", "answer"])
def test_what_the_site_raises_is_answered_in_words(
    error: Exception,
    text: str,
    where: str,
    tools: ToolClient,
    shop: ApiBehaviour,
    effects: Effects,
) -> None:
    operation = tools.ask()
    setattr(shop, where, raising(error))
    told = tools.approve(operation)

    assert (told.is_error, text_of(told)) == (True, text)
    assert "operation" not in (told.structured_content or {})
    assert effects() == []
    assert Operation.objects.get().state == "open"


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: result("Not that.", is_error=True),
        lambda request: HttpResponse("Not that.", status=400, content_type="text/plain"),
    ],
    ids=["result", "response"],
)
@pytest.mark.parametrize("where", ["terms", "allowed"])
def test_the_site_may_refuse_a_call(
    answer: Any, where: str, tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = tools.ask()
    setattr(shop, where, answer)
    for told in (tools.call(), tools.approve(operation)):
        assert (told.is_error, text_of(told)) == (True, "Not that.")
    assert effects() == []


def test_a_lost_right_gets_no_stored_result(tools: ToolClient, shop: ApiBehaviour) -> None:
    operation = tools.ask()
    tools.approve(operation)
    shop.allowed = lambda request: HttpResponse(status=403)
    assert tools.approve(operation).is_error


@pytest.mark.parametrize("where", ["terms", "allowed"])
def test_what_is_no_answer_is_an_error_of_the_site(
    where: str, tools: ToolClient, shop: ApiBehaviour, caplog: Any, effects: Effects
) -> None:
    setattr(shop, where, lambda request: "No.")
    assert tools.call().is_error
    assert f"api.order: {where} returns" in caplog.text
    assert effects() == []


def test_a_result_that_has_another_shape_than_the_tools_undoes_the_action(
    tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    operation = tools.ask()
    shop.answer = lambda operation: {"sku": 7}  # type: ignore[assignment, return-value]
    assert tools.approve(operation).is_error
    assert effects() == []
    shop.answer = None
    assert not tools.approve(operation).is_error


def test_a_result_of_the_sdk_has_to_have_the_shape_too(
    own: OwnServer, tools: ToolClient, effects: Effects
) -> None:
    @own.server.tool()
    @own.action().tool(terms=fixed_terms)
    def shaped(ctx: Context) -> Annotated[CallToolResult, Made]:
        """Return something else."""
        Effect.objects.create(kind="shaped", key="1")
        return result("Done.", figure=7)

    tools.server, tools.tool = own.server, "shaped"
    operation = tools.ask(arguments={})
    assert tools.approve(operation, arguments={}).is_error
    assert effects() == []
    assert Operation.objects.get().state == "open"


def test_after_an_external_effect_no_shape_reads_as_a_failure(
    tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    tools.tool = "transfer"
    operation = tools.ask()
    shop.answer = lambda operation: {"sku": 7}  # type: ignore[assignment, return-value]
    for told in (tools.approve(operation), tools.approve(operation)):
        assert not told.is_error
        assert (told.structured_content or {})["status"] == "performed"
    assert len(effects()) == 1
    assert Performance.objects.count() == 1


# What is stored


@pytest.mark.requirement("OPS-7-02")
@pytest.mark.parametrize("tool", ["order", "sync_order"])
def test_a_result_that_is_too_large_is_given_again_by_replay_or_told(
    tool: str, tools: ToolClient, shop: ApiBehaviour, settings: Any, effects: Effects
) -> None:
    configure(settings, STORED_BODY_BYTES=50)
    tools.tool = tool
    shop.replay = lambda request, operation: result(
        f"{request.user} again", sku="jacket", quantity=1
    )  # type: ignore[assignment, return-value]
    operation = tools.ask()
    first, again = tools.approve(operation), tools.approve(operation)

    assert not first.is_error
    assert not again.is_error
    if tool == "order":
        assert text_of(again) == "alice again"
    else:
        assert again.structured_content == {
            "operation_id": operation["operation_id"],
            "status": "performed",
        }
    assert len(effects()) == 1


def test_a_replay_that_fails_says_plainly_that_it_was_performed(
    tools: ToolClient, shop: ApiBehaviour, settings: Any, caplog: Any
) -> None:
    configure(settings, STORED_BODY_BYTES=50)
    shop.replay = raising(OSError())
    operation = tools.ask()
    tools.approve(operation)
    again = tools.approve(operation)

    assert not again.is_error
    assert (again.structured_content or {})["status"] == "performed"
    assert "A replay failed." in caplog.text


@pytest.mark.parametrize(
    ("happened", "structured"),
    [
        (Performed({"number": 7}), {"number": 7}),
        (Performed(JsonResponse({"number": 8}, status=201)), {"number": 8}),
        (Performed(JsonResponse([1], safe=False)), None),
        (Performed(HttpResponse(status=204)), None),
        (Performed(HttpResponse("<p>Done.</p>")), None),
        (Performed(), None),
    ],
)
def test_what_reconcile_found_is_the_result_from_then_on(
    happened: Performed, structured: Any, own: OwnServer, tools: ToolClient, effects: Effects
) -> None:
    action = own.action(effects="external")
    action.reconcile(lambda operation: happened)

    @own.server.tool()
    @action.tool(terms=fixed_terms)
    def reach(ctx: Context) -> Made:
        """Reach outside."""
        Effect.objects.create(kind="reached", key="1")
        raise OSError

    tools.server, tools.tool = own.server, "reach"
    operation = tools.ask(arguments={})
    assert not tools.approve(operation, arguments={}).is_error
    assert maintenance.reconcile().performed == 1
    again = tools.approve(operation, arguments={})

    assert not again.is_error
    performed = {"operation_id": operation["operation_id"], "status": "performed"}
    assert again.structured_content == (structured or performed)
    assert text_of(again)
    assert effects() == ["reached 1"]


def keep(operation_id: str, attempt: str) -> None:
    """Stand for a queue."""
    QUEUED.append((operation_id, attempt))


def test_long_work_is_in_progress_until_a_worker_has_done_it(
    own: OwnServer, tools: ToolClient, settings: Any, effects: Effects
) -> None:
    configure(settings, QUEUE=f"{__name__}.keep")
    QUEUED.clear()

    def perform(operation: Any) -> Any:
        Effect.objects.create(kind="worked", key=operation.terms["what"])
        return {"number": 3}

    action = own.action(
        perform=perform, still=lambda operation: Terms(operation.terms), background=True
    )

    @own.server.tool()
    @action.tool(terms=fixed_terms)
    async def work(ctx: Context) -> Made:
        """Work long."""
        raise AssertionError

    tools.server, tools.tool = own.server, "work"
    operation = tools.ask(arguments={})
    for told in (tools.approve(operation, arguments={}), tools.approve(operation, arguments={})):
        assert not told.is_error
        assert "in progress" in text_of(told)
        assert (told.structured_content or {})["status"] == "performing"
    ((operation_id, attempt),) = QUEUED
    assert perform_attempt(operation_id, attempt)

    done = tools.approve(operation, arguments={})
    assert (done.is_error, done.structured_content) == (False, {"number": 3})
    assert effects() == ["worked it"]


def test_what_a_worker_refused_is_told_once(
    own: OwnServer, tools: ToolClient, settings: Any, effects: Effects
) -> None:
    configure(settings, QUEUE=f"{__name__}.keep")
    QUEUED.clear()
    action = own.action(
        perform=raising(NotPerformed(JsonResponse({"error": "sold_out"}, status=409))),
        still=lambda operation: Terms(operation.terms),
        background=True,
    )

    @own.server.tool()
    @action.tool(terms=fixed_terms)
    async def work(ctx: Context) -> Made:
        """Work long."""
        raise AssertionError

    tools.server, tools.tool = own.server, "work"
    operation = tools.ask(arguments={})
    tools.approve(operation, arguments={})
    perform_attempt(*QUEUED[0])
    told = tools.approve(operation, arguments={})
    assert (told.is_error, told.structured_content) == (True, {"error": "sold_out"})
    assert "in progress" in text_of(tools.approve(operation, arguments={}))


# One call, one action


def test_a_tool_may_call_a_gated_one_once(tools: ToolClient, effects: Effects) -> None:
    tools.tool = "nested"
    asked = tools.call(arguments={"sku": "jacket", "times": 1})
    operation = operation_in(CallToolResult.model_validate_json(text_of(asked)))

    assert effects() == []
    tools.approve(operation, arguments={"sku": "jacket", "times": 1})
    assert effects() == ["api.order 1 jacket"]
    twice = tools.call(arguments={"sku": "jacket", "times": 2})
    assert twice.is_error


@pytest.mark.requirement("OPS-3-01")
def test_an_action_may_call_its_own_tools(
    own: OwnServer, tools: ToolClient, effects: Effects
) -> None:
    action, other = own.action(), own.action("tests.other")

    def leave(ctx: Any) -> int:
        Effect.objects.create(kind="left", key=operation_of(ctx).terms["what"])
        return 3

    inner = action.tool(terms=fixed_terms)(_tool(leave))
    of_other = other.tool(terms=fixed_terms)(_tool(leave))

    @own.server.tool()
    @action.tool(terms=fixed_terms)
    async def outer(ctx: Context, foreign: bool = False) -> str:
        """Call another tool."""
        made = await (of_other if foreign else inner)(ctx=ctx)
        return text_of(made)

    tools.server, tools.tool = own.server, "outer"
    operation = tools.ask(arguments={})
    assert text_of(tools.approve(operation, arguments={})) == "3"
    assert effects() == ["left it"]
    other_operation = tools.ask(arguments={"foreign": True})
    assert tools.approve(other_operation, arguments={"foreign": True}).is_error
    assert len(effects()) == 1


def _tool(act: Callable[[Any], int]) -> Any:
    def tool(ctx: Context) -> int:
        return act(ctx)

    return tool


def test_a_tool_without_need_is_performed_at_once(
    tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.needed = False
    done = tools.call()

    assert (done.is_error, (done.structured_content or {})["sku"]) == (False, "jacket")
    assert effects() == ["api.order 1 jacket"]
    assert Operation.objects.count() == 0


@pytest.mark.parametrize("needed", [True, False])
def test_a_tool_may_return_nothing(needed: bool, own: OwnServer, tools: ToolClient) -> None:
    @own.server.tool()
    @own.action().tool(terms=lambda request: Terms({"what": "it"}, needed=needed))
    def act(ctx: Context) -> None:
        """Act."""
        Effect.objects.create(kind="acted", key="1")

    tools.server, tools.tool = own.server, "act"
    done = tools.call(arguments={})
    if needed:
        done = tools.approve(operation_in(done), arguments={})
    assert (done.is_error, done.structured_content) == (False, {"result": None})
    assert Effect.objects.count() == 1


def test_without_need_too_an_error_leaves_nothing(
    tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.needed = False
    shop.answer = raising(NotPerformed(result("Sold out.", is_error=True)))
    assert text_of(tools.call()) == "Sold out."
    assert effects() == []


def test_pages_and_files_of_the_site_have_no_words_for_a_tool() -> None:
    results = ToolResults(lambda value: result("x"))
    page = TemplateResponse(RequestFactory().get("/"), "nowhere.html", status=404)
    for response in (page, FileResponse(b"x", status=400)):
        assert text_of(results.final(response)) == "Not done."  # type: ignore[arg-type]
    broken = HttpResponse("{", "application/json", status=400)
    assert text_of(results.final(broken)) == "{"  # type: ignore[arg-type]


def test_the_answers_are_logged_without_terms(tools: ToolClient, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "poppy_operations")
    operation = tools.ask()
    records = [one for one in caplog.records if one.name == "poppy_operations"]
    answered = [one for one in records if "with ApprovalRequired" in one.getMessage()]

    assert [one.operation_id for one in answered] == [operation["operation_id"]]
    assert "70.00" not in "".join(one.getMessage() for one in records)


def test_a_flood_of_one_owners_asks_ends_in_words(
    tools: ToolClient, settings: Any, effects: Effects
) -> None:
    configure(settings, OPEN_REVISIONS=3)
    for quantity in range(1, 4):
        tools.ask(arguments={"sku": "jacket", "quantity": quantity})
    flooded = tools.call(arguments={"sku": "jacket", "quantity": 9})

    assert flooded.is_error
    assert flooded.structured_content == {"error": "rate_limited"}
    assert "Try again in" in text_of(flooded)
