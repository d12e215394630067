"""Who calls a tool: the Session in the headers of the call, and nobody else (2, 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ImproperlyConfigured
from django.http import JsonResponse
from mcp import Client
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult

from poppy_operations import Company, Refusal, Session, Terms, operation_of
from poppy_operations.exceptions import InvalidSession
from poppy_operations.models import Operation
from poppy_operations.sessions.agents import revoke_agent
from tests.agents import ApiClient, SessionOf, approval_of
from tests.agents import operation_in as api_operation_in
from tests.asking import ORDER, ask
from tests.configuring import configure
from tests.connections import in_the_way
from tests.mcp.clients import ToolClient, operation_in, text_of
from tests.mcp.servers import OwnServer
from tests.shop.company import Policy
from tests.shop.models import Item
from tests.shop.operations import buy, happen
from tests.shop.orders import ApiBehaviour
from tests.shop.tools import server

pytestmark = pytest.mark.django_db
Effects = Callable[[], list[str]]


def refused(result: CallToolResult, code: str = "invalid_session") -> None:
    """Expect an error of the core protocol, in words as well."""
    assert result.is_error
    assert (result.structured_content or {}).get("error") == code
    assert code in text_of(result)


# Undeclared


@pytest.mark.requirement("OPS-2-10", "OPS-2-12", "OPS-2-13", "OPS-2-16", "OPS-2-17")
@pytest.mark.parametrize("extensions", ["", '"operations";v="2"', "operations;v=3"])
def test_an_undeclared_call_gets_an_ordinary_tool_error(
    extensions: str, tools: ToolClient, effects: Effects
) -> None:
    tools.headers = {"Poppy-Extensions": extensions}
    result = tools.call()

    assert result.is_error
    assert result.structured_content is None
    assert "needs an approval" in text_of(result)
    assert "extension_required" not in result.model_dump_json()
    assert Operation.objects.count() == 0
    assert effects() == []


@pytest.mark.requirement("OPS-2-15")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_undeclared_client_is_served_by_tools_that_need_no_approval(
    mode: str, tools: ToolClient
) -> None:
    tools.headers, tools.mode = {"Poppy-Extensions": ""}, mode

    assert text_of(tools.call(tool="price")) == "70.00"
    assert "extension_required" not in "".join(answer.text for answer in tools.answers)


@pytest.mark.requirement("OPS-2-12")
@pytest.mark.ambiguity("AMB-03")
def test_amb_03_an_undeclared_approval_is_honoured_and_gets_no_operation(
    tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()
    tools.headers = {"Poppy-Extensions": ""}
    other = tools.approve(operation, arguments={"sku": "jacket", "quantity": 2})

    assert other.is_error
    assert other.structured_content is None
    assert not tools.approve(operation).is_error
    assert effects() == ["api.order 1 jacket"]


@pytest.mark.requirement("OPS-2-13")
@pytest.mark.parametrize(
    "answer",
    [
        lambda: JsonResponse({"see": "https://shop.example/approve"}, status=409),
        lambda: CallToolResult(
            content=[], structured_content={"see": "https://shop.example/approve"}, is_error=True
        ),
    ],
    ids=["response", "result"],
)
def test_the_site_may_answer_undeclared_calls_its_own_way(
    answer: Callable[[], Any], tools: ToolClient, company: Policy, effects: Effects
) -> None:
    company.undeclared = lambda request: Refusal(answer())
    tools.headers = {"Poppy-Extensions": ""}
    result = tools.call()

    assert result.is_error
    assert result.structured_content == {"see": "https://shop.example/approve"}
    assert effects() == []


def test_a_result_of_the_sdk_is_no_answer_of_an_api(tools: ToolClient, company: Policy) -> None:
    company.undeclared = lambda request: Refusal(CallToolResult(content=[]))
    assert tools.session is not None
    with pytest.raises(TypeError, match="CallToolResult, which is no answer at this door"):
        ApiClient(tools.session).send(declared=False)


@pytest.mark.requirement("OPS-1-07")
def test_an_undeclared_call_that_needs_no_approval_is_served(
    tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.needed = False
    tools.headers = {"Poppy-Extensions": ""}

    assert not tools.call().is_error
    assert effects() == ["api.order 1 jacket"]


# Sessions


def bad(tools: ToolClient, **options: Any) -> dict[str, str]:
    """Headers that were spoilt."""
    assert tools.session is not None
    return tools.session.headers(**options)


@pytest.mark.requirement("OPS-6-43")
@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize(
    "headers",
    [
        {"Poppy-Session": ""},
        {"Poppy-Session": "nonsense"},
        {"Poppy-Session": "ey.ey.ey, ey.ey.ey"},
    ],
)
def test_an_unreadable_session_is_refused(
    headers: Mapping[str, str],
    needed: bool,
    tools: ToolClient,
    shop: ApiBehaviour,
    effects: Effects,
) -> None:
    shop.needed = needed
    tools.headers = headers

    refused(tools.call())
    assert effects() == []


def test_two_sessions_in_one_call_are_refused(tools: ToolClient, effects: Effects) -> None:
    assert tools.session is not None
    one = tools.session.headers()["Poppy-Session"]
    tools.doubled = [("Poppy-Session", one)]

    refused(tools.call())
    assert effects() == []


@pytest.mark.parametrize("needed", [True, False])
@pytest.mark.parametrize("authorized", [True, False])
def test_a_call_without_a_session_is_refused(
    authorized: bool, needed: bool, tools: ToolClient, shop: ApiBehaviour, effects: Effects
) -> None:
    shop.needed = needed
    assert tools.session is not None
    if authorized:
        tools.headers = {"Authorization": f"Bearer {tools.session.access_token}"}
    tools.session = None

    refused(tools.call())
    refused(tools.call({"operation_id": "ord_1", "revision": "1-x", "approver": "user"}))
    assert effects() == []


def test_another_access_token_beside_the_sessions_is_refused(
    tools: ToolClient, bob: Any, session_of: Callable[..., SessionOf], effects: Effects
) -> None:
    other = session_of(account=str(bob.pk)).access_token
    tools.url = f"{tools.url}?access_token={other}"

    refused(tools.call())
    assert effects() == []


@pytest.mark.requirement("OPS-6-44", "OPS-8.1-01")
def test_an_expired_token_is_told_so(tools: ToolClient, effects: Effects) -> None:
    operation = tools.ask()
    tools.approve(operation)
    tools.headers = {"Authorization": "Bearer ey.ey.ey"}

    refused(tools.approve(operation))
    assert len(effects()) == 1


@pytest.mark.requirement("OPS-8.1-03")
def test_a_revoked_agent_gets_no_stored_result(tools: ToolClient, effects: Effects) -> None:
    operation = tools.ask()
    tools.approve(operation)
    assert tools.session is not None
    revoke_agent(tools.session.agent.client_id)

    refused(tools.approve(operation))
    assert len(effects()) == 1


@pytest.mark.parametrize("active", [False, None])
def test_an_account_of_no_active_user_is_refused(
    active: bool | None, tools: ToolClient, alice: Any, effects: Effects
) -> None:
    operation = tools.ask()
    if active is None:
        get_user_model().objects.all().delete()
    else:
        get_user_model().objects.update(is_active=active)
    with pytest.raises(MCPError, match="invalid_token"):
        tools.approve(operation)
    assert tools.answers[-1].status_code == 401
    assert effects() == []


@pytest.mark.requirement(
    "OPS-3-36", "OPS-3-39", "OPS-3-40", "OPS-3-41", "OPS-3-42", "OPS-6-39", "OPS-6-40"
)
@pytest.mark.parametrize(
    "change",
    [
        {"user_id": "u2"},
        {"user_id": "u2", "account": "nobody"},
        {"agent": "B"},
        {"agent": "B", "account": "nobody"},
        {"account": "bob"},
    ],
)
def test_who_cannot_approve_gets_an_operation_of_their_own(
    change: dict[str, str],
    tools: ToolClient,
    anybody: Callable[..., SessionOf],
    effects: Effects,
) -> None:
    operation = tools.ask()
    other = replace(tools, session=anybody(**{"account": "alice", **change}))
    own = operation_in(other.approve(operation))

    assert own["operation_id"] != operation["operation_id"]
    assert effects() == []


@pytest.mark.requirement("OPS-3-31", "OPS-3-32", "OPS-3-35")
def test_another_session_of_the_same_user_can_approve(
    tools: ToolClient, anybody: Callable[..., SessionOf], effects: Effects
) -> None:
    operation = tools.ask()
    later = replace(tools, session=anybody(account="alice", sid="ses_2"))

    assert not later.approve(operation).is_error
    assert len(effects()) == 1


def of_the_sdk(token: str | None) -> AuthenticatedUser:
    """What the SDK's own authentication makes of a token."""
    return AuthenticatedUser(AccessToken(token=token or "", client_id="c", scopes=[]))


def test_another_token_that_the_sdk_has_accepted_is_refused(
    tools: ToolClient, effects: Effects
) -> None:
    tools.user = of_the_sdk("another")

    refused(tools.call())
    assert effects() == []


def test_the_sessions_token_may_be_accepted_by_the_sdk_too(tools: ToolClient) -> None:
    assert tools.session is not None
    headers = tools.session.headers()
    tools.headers = headers
    tools.user = of_the_sdk(headers["Authorization"].removeprefix("Bearer "))
    assert operation_in(tools.call())


def test_another_user_of_the_sites_own_middleware_is_refused(
    tools: ToolClient, alice: Any, bob: Any, effects: Effects
) -> None:
    refused(replace(tools, user=bob).call())
    assert operation_in(replace(tools, user=alice).call())
    assert operation_in(replace(tools, user=AnonymousUser()).call())
    assert effects() == []


# A database in the way


@pytest.mark.parametrize("word", ["poppy_operations_agent", "poppy_operations_revision"])
def test_where_the_database_cannot_be_read_an_approval_is_not_told_that_it_failed(
    word: str, tools: ToolClient, effects: Effects
) -> None:
    operation = tools.ask()
    with in_the_way(word, 100):
        asked, approved = tools.call(), tools.approve(operation)

    refused(asked, "temporarily_unavailable")
    assert "Try again in" in text_of(asked)
    assert not approved.is_error
    assert "not known now whether this was done" in text_of(approved)
    assert not tools.approve(operation).is_error
    assert effects() == ["api.order 1 jacket"]


def test_the_same_holds_while_a_scope_is_asked_for(tools: ToolClient, effects: Effects) -> None:
    tools.tool = "scoped_order"
    with in_the_way("auth_user", 100):
        refused(tools.call(), "temporarily_unavailable")
    assert effects() == []


# Accounts and scopes


@pytest.mark.requirement("OPS-3-37", "OPS-3-38")
@pytest.mark.ambiguity("AMB-01")
@pytest.mark.parametrize("json", [True, False])
def test_amb_01_the_same_user_signed_out_is_challenged_for_the_account(
    json: bool, tools: ToolClient, signed_out: SessionOf, effects: Effects
) -> None:
    operation = tools.ask()
    out = replace(tools, session=signed_out, json=json, answers=[])
    with pytest.raises(MCPError, match="has to be signed in to the account") as raised:
        out.approve(operation)

    assert raised.value.data == {"error": "sign_in_required"}
    answer = out.answers[-1]
    assert answer.status_code == 401
    assert "resource_metadata=" in answer.headers["WWW-Authenticate"]
    assert effects() == []


def test_a_challenge_is_in_the_result_where_nothing_else_can_carry_it(
    tools: ToolClient, signed_out: SessionOf
) -> None:
    operation = tools.ask()
    out = replace(tools, session=signed_out, alone=True)
    refused(out.approve(operation), "sign_in_required")


@pytest.mark.requirement("OPS-6-44", "OPS-6-45")
def test_a_scope_is_asked_for_before_anything_else(
    tools: ToolClient, signed_out: SessionOf, effects: Effects
) -> None:
    tools.tool = "scoped_order"
    tools.alone = True
    without = tools.call()
    refused(without, "insufficient_scope")
    assert (without.structured_content or {})["scope"] == "orders:write"
    refused(replace(tools, session=signed_out).call(), "sign_in_required")
    assert tools.session is not None
    may = replace(tools, session=replace(tools.session, scope="x orders:write"))
    operation = may.ask()
    refused(tools.approve(operation), "insufficient_scope")
    assert not may.approve(operation).is_error
    refused(tools.approve(operation), "insufficient_scope")
    assert len(effects()) == 1


def test_a_missing_scope_is_at_the_http_answer(tools: ToolClient) -> None:
    tools.tool = "scoped_order"
    with pytest.raises(MCPError, match="does not have the scope"):
        tools.call()
    assert tools.answers[-1].status_code == 403
    challenge = tools.answers[-1].headers["WWW-Authenticate"]
    assert challenge == 'Bearer error="insufficient_scope", scope="orders:write"'


@pytest.mark.requirement("OPS-3-33", "OPS-3-34", "OPS-8.1-01")
def test_what_was_returned_signed_out_is_approved_signed_out(
    tools: ToolClient, signed_out_tools: ToolClient, effects: Effects
) -> None:
    operation = signed_out_tools.ask()
    other = operation_in(tools.approve(operation))

    assert other["operation_id"] != operation["operation_id"]
    assert effects() == []
    assert not signed_out_tools.approve(operation).is_error
    assert len(effects()) == 1


def test_the_sites_code_finds_the_accounts_user(
    tools: ToolClient, shop: ApiBehaviour, alice: Any, signed_out: SessionOf
) -> None:
    seen: list[Any] = []

    def look(request: Any) -> None:
        assert async_to_sync(request.auser)() == request.user
        seen.append((request.user, request.poppy.session, request.headers["Host"]))

    shop.allowed = look
    tools.ask()
    replace(tools, session=signed_out).ask()

    (user, session, host), (nobody, out, _) = seen
    assert (user, session.account, host) == (alice, str(alice.pk), "shop.example")
    assert (nobody.is_authenticated, out.account) == (False, None)


def test_a_tool_that_needs_no_approval_finds_the_session(
    tools: ToolClient, alice: Any, signed_out: SessionOf
) -> None:
    assert text_of(tools.call(tool="whoami")) == str(alice.pk)
    assert text_of(replace(tools, session=signed_out).call(tool="whoami")) == "nobody"


# Without HTTP


class OverStdio(Company):
    """Knows who calls over stdio."""

    session: Session | None = None
    seen: Any = None

    def session_for_stdio(self, context: Any) -> Session:
        """Give the Session that a test says."""
        OverStdio.seen = context
        if OverStdio.session is None:
            message = "Nobody."
            raise InvalidSession(message)
        return OverStdio.session


@pytest.fixture
def stdio(settings: Any, shop: ApiBehaviour, alice: Any) -> Callable[..., CallToolResult]:
    """Call a tool of the server without HTTP."""
    configure(settings, COMPANY=f"{__name__}.{OverStdio.__name__}")

    async def acall(approval: Any = None, tool: str = "order") -> CallToolResult:
        async with Client(server) as client:
            meta = {} if approval is None else {"personalagentprotocol.org/approval": approval}
            return await client.call_tool(tool, {"sku": "jacket"}, meta=meta)  # type: ignore[arg-type]

    OverStdio.session = Session(
        "https://agent.example", "u1", str(alice.pk), "ses_1", declared=True
    )
    return async_to_sync(acall)


def test_over_stdio_the_company_says_in_which_session_a_call_is(
    stdio: Callable[..., CallToolResult], effects: Effects, alice: Any, shop: ApiBehaviour
) -> None:
    users: list[Any] = []
    shop.allowed = lambda request: users.append((request.user, request.poppy.session.sid))
    operation = operation_in(stdio())
    done = stdio(approval_of(operation))

    assert not done.is_error
    assert stdio(approval_of(operation)).structured_content == done.structured_content
    assert effects() == ["api.order 1 jacket"]
    assert users[0] == (alice, "ses_1")
    assert OverStdio.seen.request_context.meta is not None
    assert text_of(stdio(tool="whoami")) == str(alice.pk)


def test_over_stdio_a_call_in_no_session_is_refused(
    stdio: Callable[..., CallToolResult], effects: Effects
) -> None:
    OverStdio.session = None
    refused(stdio())
    assert effects() == []


def test_over_stdio_an_operation_of_http_is_another_tools(
    stdio: Callable[..., CallToolResult], tools: ToolClient, settings: Any, effects: Effects
) -> None:
    assert tools.session is not None
    operation = tools.ask()
    OverStdio.session = Session(
        tools.session.agent.client_id, "u1", tools.session.account, "ses_9", declared=True
    )
    assert operation_in(stdio(approval_of(operation)))["revision"] != operation["revision"]
    assert effects() == []


def test_without_the_hook_a_stdio_server_is_told_what_to_do(
    stdio: Callable[..., CallToolResult], settings: Any, caplog: Any, effects: Effects
) -> None:
    configure(settings, COMPANY="poppy_operations.Company")

    assert stdio().is_error
    assert effects() == []
    (record,) = [one for one in caplog.records if one.exc_info]
    cause = record.exc_info[1].__cause__
    assert isinstance(cause, ImproperlyConfigured)
    assert "define session_for_stdio(context) in your Company" in str(cause)


# Interfaces


@pytest.mark.requirement("OPS-4-02", "OPS-6-01", "OPS-6-46")
@pytest.mark.ambiguity("AMB-05")
@pytest.mark.parametrize("performed", [False, True])
def test_amb_05_an_operation_of_the_api_is_none_of_a_tool_and_the_other_way_round(
    performed: bool, tools: ToolClient, effects: Effects
) -> None:
    assert tools.session is not None
    api = ApiClient(tools.session, "/api/class/")
    of_api, of_tool = api.ask(), tools.ask()
    if performed:
        assert api.approve(of_api).status_code == 201
        assert not tools.approve(of_tool).is_error
    count = len(effects())

    assert operation_in(tools.approve(of_api))["operation_id"] != of_api["operation_id"]
    assert api_operation_in(api.approve(of_tool))["operation_id"] != of_tool["operation_id"]
    assert len(effects()) == count


@pytest.fixture
def buying(own: OwnServer, signed_out_tools: ToolClient) -> ToolClient:
    """A tool of the action that the website offers as well, in a Session that is signed out."""

    def terms(request: Any, sku: str, quantity: int = 1) -> Terms:
        total = {"amount": Item.objects.get(sku=sku).price * quantity, "currency": "USD"}
        return Terms({"sku": sku, "quantity": quantity, "total": total})

    @own.server.tool()
    @buy.tool(terms=terms)
    def buying(sku: str, ctx: Context, quantity: int = 1) -> str:
        """Buy something."""
        happen(operation_of(ctx))
        return "Bought."

    return replace(signed_out_tools, server=own.server, tool="buying")


@pytest.mark.requirement("OPS-6-01", "OPS-6-33", "OPS-6-34")
@pytest.mark.parametrize("performed", [False, True])
def test_an_operation_of_the_website_is_none_of_a_tool_and_the_other_way_round(
    performed: bool, buying: ToolClient, effects: Effects
) -> None:
    session = buying.session
    assert session is not None
    browser = session.browser()
    ref = ask(browser)
    of_website, of_tool = session.look_up(ref), buying.ask()
    assert of_website["terms"] == of_tool["terms"]
    if performed:
        session.approve(ref)
        assert browser.post("/buy/", ORDER).status_code == 302
        assert not buying.approve(of_tool).is_error
    count = len(effects())

    own = operation_in(buying.approve(of_website))
    assert own["operation_id"] != of_website["operation_id"]
    answer = session.endpoint(ref, approval_of(of_tool))
    assert answer.status_code == (200 if performed else 403)
    assert browser.post("/buy/", ORDER).status_code == 403
    assert len(effects()) == count
