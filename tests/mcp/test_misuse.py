"""Tools that are declared wrongly are refused at import, or say what to do at the first call."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypedDict

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import ImproperlyConfigured
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import BaseModel

from poppy_operations import Action, operation_of
from poppy_operations.mcp import NOTICE, beside_django, django_tool, session_of
from tests.mcp.clients import ToolClient, no_django, operation_in, text_of
from tests.mcp.servers import OwnServer, fixed_terms
from tests.shop.tools import order
from tests.source import ROOT

Refused = Callable[..., str]


def tool(ctx: Context, sku: str = "") -> str:
    """Do it."""
    return sku


@pytest.fixture
def refused(own: OwnServer) -> Refused:
    """Declare a tool, and give the message with which it is refused."""
    action = own.action()

    def message(function: Any = tool, **options: Any) -> str:
        with pytest.raises((TypeError, ValueError)) as raised:
            action.tool(**{"terms": fixed_terms, **options})(function)
        return str(raised.value)

    return message


# At import


def test_importing_the_package_imports_no_sdk() -> None:
    code = (
        "import os, sys, django;"
        "os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.settings';"
        "django.setup();"
        "import poppy_operations.action;"
        "print({'mcp', 'mcp_types', 'pydantic', 'starlette'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("named", [{}, {"name": "it", "description": f"It. {NOTICE}"}])
def test_a_gate_above_the_servers_decorator_is_refused(
    named: dict[str, str], refused: Refused, own: OwnServer
) -> None:
    @own.server.tool(**named)
    def registered(ctx: Context) -> str:
        """Do it."""
        return ""

    assert "goes below the tool decorator of the MCP server" in refused(registered)
    assert "calls test_a_gate_above_the_servers_decorator_is_refused" in refused(registered)


@pytest.mark.parametrize(
    "function",
    [
        None,
        "tool",
        functools.partial(tool, sku="jacket"),
        staticmethod(tool),
        Action,
        OwnServer().action,
    ],
    ids=["none", "text", "partial", "static", "class", "method"],
)
def test_what_is_no_function_is_refused(function: Any, refused: Refused) -> None:
    assert "goes on a function, below the tool decorator" in refused(function)


def test_a_tool_that_yields_is_refused(refused: Refused) -> None:
    def yields(ctx: Context) -> Iterator[str]:
        yield "Done."

    async def ayields(ctx: Context) -> AsyncIterator[str]:
        yield "Done."

    for function in (yields, ayields):
        assert "goes on a tool that returns its result" in refused(function)


def test_two_gates_around_one_tool_are_refused(refused: Refused) -> None:
    assert "is behind the gate of api.order already" in refused(order)


def test_a_tool_without_context_is_refused(refused: Refused) -> None:
    def without(sku: str) -> str:
        return sku

    message = refused(without)
    assert "has no parameter with the annotation Context" in message
    assert "add ctx: Context" in message


def test_annotations_that_cannot_be_read_are_refused(refused: Refused) -> None:
    def unread(ctx: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    assert "cannot be read: name 'Nowhere' is not defined" in refused(unread)


@pytest.mark.parametrize(
    "function",
    [
        lambda *skus, ctx: None,
        lambda ctx, **more: None,
        lambda sku, /, ctx: None,
    ],
    ids=["args", "kwargs", "positional"],
)
def test_arguments_without_names_are_refused(function: Any, refused: Refused) -> None:
    function.__annotations__["ctx"] = Context
    assert "names every argument" in refused(function)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"terms": None}, "terms= is a function"),
        ({"terms": lambda request: None}, "terms= is called with (request, sku=…)"),
        ({"terms": lambda sku: None}, "terms= is called with (request, sku=…)"),
        ({"allowed": lambda request, quantity: None}, "allowed= is called with (request, sku=…)"),
        ({"replay": lambda request: None}, "replay= is called with (request, operation)"),
        ({"ignore": "trace"}, "ignore= is a list of names"),
        ({"scope": "a b"}, "scope= is one scope"),
        ({"scope": ["a"]}, "scope= is one scope"),
    ],
)
def test_arguments_that_protect_are_checked(
    options: dict[str, Any], said: str, refused: Refused
) -> None:
    assert said in refused(**options)


@pytest.mark.parametrize(
    "target", [None, "tool", staticmethod(tool), Action], ids=["none", "text", "static", "class"]
)
def test_what_is_no_tool_gets_no_thread(target: Any) -> None:
    with pytest.raises(TypeError, match="@django_tool goes on a function"):
        django_tool(target)


@pytest.mark.parametrize("path", ["mcp", "/", "/mcp/", ""])
def test_an_address_that_serves_nothing_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path= is where the MCP server is"):
        beside_django(no_django, no_django, path=path)


# At the first call


@pytest.mark.parametrize("context", [None, 7, Context()], ids=["none", "number", "made up"])
def test_a_tool_that_no_server_calls_says_so(context: Any) -> None:
    with pytest.raises(RuntimeError, match="is called by its MCP server"):
        async_to_sync(order)(sku="jacket", ctx=context)
    with pytest.raises(RuntimeError, match="is called by its MCP server"):
        session_of(context)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"annotations": ToolAnnotations(read_only_hint=True)}, "leave that out"),
        ({"description": "Do it."}, "add poppy_operations.mcp.NOTICE to it"),
    ],
)
def test_a_server_that_says_what_is_not_so_is_told(
    options: dict[str, Any], said: str, own: OwnServer, tools: ToolClient, caplog: Any
) -> None:
    own.server.tool(**options)(own.action().tool(terms=fixed_terms)(fresh_tool()))
    tools.server, tools.tool = own.server, "again"

    assert tools.call().is_error
    causes = [one.exc_info[1].__cause__ for one in caplog.records if one.exc_info]
    assert [type(cause) for cause in causes] == [ImproperlyConfigured]
    assert said in str(causes[0])


@pytest.mark.django_db
def test_a_server_may_describe_a_tool_itself(own: OwnServer, tools: ToolClient) -> None:
    gated = own.action().tool(terms=fixed_terms)(fresh_tool())
    annotations = ToolAnnotations(destructive_hint=False, idempotent_hint=True)
    own.server.tool(name="it", description=f"Do it. {NOTICE}", annotations=annotations)(gated)
    tools.server, tools.tool = own.server, "it"

    operation = operation_in(tools.call())
    assert text_of(tools.approve(operation)) == "jacket"


def fresh_tool() -> Any:
    """A function that no server has."""

    def again(ctx: Context, sku: str = "") -> str:
        """Do it again."""
        return sku

    return again


@pytest.mark.django_db
def test_operation_of_is_for_gated_tools(own: OwnServer, tools: ToolClient, caplog: Any) -> None:
    @own.server.tool()
    async def ungated(ctx: Context) -> str:
        """Look for an operation."""
        return operation_of(ctx).action

    tools.server, tools.tool = own.server, "ungated"
    assert tools.call().is_error
    assert "operation_of() is called in a tool that @action.tool decorates" in caplog.text


# What the SDK is shown


class Nested(BaseModel):
    """A result that holds others of its kind."""

    name: str
    parts: list[Nested] = []


class Typed(TypedDict):
    """A result as a dict, which the SDK alone can read below Python 3.12."""

    name: str


def test_every_kind_of_result_keeps_its_schema(own: OwnServer) -> None:
    action = own.action()

    def plain(ctx: Context) -> dict[str, int]:
        return {}

    def number(ctx: Context) -> int:
        return 1

    def parts(ctx: Context) -> Nested:
        return Nested(name="")

    def whole(ctx: Context) -> CallToolResult:
        return CallToolResult(content=[])

    def opaque(ctx: Context) -> Callable[[], None]:
        return print

    def nothing(ctx: Context) -> None:
        """Return nothing."""

    for function in (plain, number, parts, whole, opaque, nothing):
        own.server.tool()(action.tool(terms=fixed_terms)(function))
    listed = {one.name: one for one in async_to_sync(own.server.list_tools)()}

    assert listed["plain"].output_schema is not None
    assert "result" in str(listed["number"].output_schema)
    assert "Nested" in (listed["parts"].output_schema or {})["$defs"]
    assert listed["whole"].output_schema is None
    assert listed["opaque"].output_schema is None
    assert listed["nothing"].output_schema is not None
    assert {one.description for one in listed.values()} == {NOTICE, f"Return nothing.\n\n{NOTICE}"}


def test_a_result_that_the_sdk_alone_can_read_has_no_schema_there(own: OwnServer) -> None:
    @own.server.tool()
    @own.action().tool(terms=fixed_terms)
    def typed(ctx: Context | None) -> Typed:
        """Return a dict."""
        return {"name": ""}

    (listed,) = async_to_sync(own.server.list_tools)()
    assert (listed.output_schema is not None) is (sys.version_info >= (3, 12))
    assert listed.input_schema["properties"] == {}


# Served beside Django


@pytest.mark.parametrize(
    ("scope", "served"),
    [
        ({"type": "lifespan"}, "mcp"),
        ({"type": "http", "path": "/mcp"}, "mcp"),
        ({"type": "http", "path": "/mcp/more"}, "mcp"),
        ({"type": "http", "path": "/mcpx"}, "django"),
        ({"type": "http", "path": "/"}, "django"),
        ({"type": "websocket", "path": "/mcp"}, "django"),
    ],
)
def test_each_application_serves_what_is_its_own(scope: dict[str, str], served: str) -> None:
    seen: list[str] = []

    def serving(name: str) -> Any:
        async def application(scope: Any, receive: Any, send: Any) -> None:
            seen.append(name)

        return application

    application = beside_django(serving("django"), serving("mcp"))
    async_to_sync(application)(scope, None, None)
    assert seen == [served]
