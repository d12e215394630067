"""What the SDK is shown of a gated tool: its arguments, what it returns, and that it is gated."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_type_hints

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.utilities.func_metadata import func_metadata
from mcp.types import CallToolResult
from pydantic import Field, GetJsonSchemaHandler, PydanticUserError, RootModel

from poppy_operations.declarations.callables import is_generator, require_callable, takes
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.doors.mcp_results import Convert
from poppy_operations.protocol.content import canonical_content
from poppy_operations.protocol.wire import MCP_APPROVAL

NOTICE = (
    "Needs an approval: the first call does nothing, and returns the exact terms in `operation`. "
    "Once they are approved, call again with the same arguments and the approval in `_meta` under "
    f"`{MCP_APPROVAL}`."
)
_SaidInstead = Annotated[
    dict[str, Any], Field(description="What is said of a call that did not do it just now.")
]


@dataclass(frozen=True)
class ToolShape:
    """A tool as it was written: how it is called, and how its results are made."""

    context: str
    parameters: tuple[inspect.Parameter, ...]
    returns: Any
    convert: Convert
    structured: bool
    defaults: Mapping[str, Any]

    @property
    def named(self) -> tuple[str, ...]:
        """The arguments of a call, without the context."""
        return tuple(
            one.name for one in self.parameters if one.name not in {self.context, "self", "cls"}
        )

    def show(self, gated: Any, tool: Any) -> None:
        """Let the SDK find at the gated tool what it looks for."""
        own = [one for one in self.parameters if one.name in {"self", "cls"}]
        own_names = {one.name for one in own}
        others = [one for one in self.parameters if one.name not in own_names]
        gated.__signature__ = inspect.Signature([*own, *others], return_annotation=self.returns)
        hints = {one.name: one.annotation for one in others if one.annotation is not one.empty}
        gated.__annotations__ = {**hints, "return": self.returns}
        gated.__doc__ = _with_notice(inspect.getdoc(tool) or "")

    def without_defaults(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """What was sent, less what would mean the same if it had been left out."""
        return {name: value for name, value in sent.items() if not self._is_default(name, value)}

    def _is_default(self, name: str, value: Any) -> bool:
        if name not in self.defaults:
            return False
        return canonical_content(value) == canonical_content(self.defaults[name])


def shape_of(action: DeclaredAction, tool: Callable[..., Any]) -> ToolShape:
    """Read a tool at import. Raises ``TypeError`` for what cannot be gated."""
    name = tool.__qualname__
    try:
        hints = get_type_hints(tool, include_extras=True)
    except (NameError, TypeError) as error:
        message = f"@tool of {action.name}: the annotations of {name} cannot be read: {error}"
        raise TypeError(message) from error
    contexts = [one for one, hint in hints.items() if one != "return" and _is_context(hint)]
    if not contexts:
        message = (
            f"@tool of {action.name}: {name} has no parameter with the annotation Context, which "
            "tells its Session and gives it the approved terms: add ctx: Context, and read them by "
            "operation_of(ctx)."
        )
        raise TypeError(message)
    parameters = tuple(
        one.replace(annotation=hints.get(one.name, one.annotation))
        for one in inspect.signature(tool).parameters.values()
    )
    if any(one.kind in _UNNAMED for one in parameters):
        message = f"@tool of {action.name}: {name} names every argument; it has * or **."
        raise TypeError(message)
    returns, convert, structured = _result_shape(
        tool.__name__, hints.get("return", inspect.Signature.empty)
    )
    if not _is_context(hints[contexts[0]], of=Context):
        returns = CallToolResult  # FastMCP derives a schema of its own, which admits nothing else.
    defaults = {one.name: one.default for one in parameters if _is_comparable(one.default)}
    return ToolShape(contexts[0], parameters, returns, convert, structured, defaults)


_UNNAMED = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


def _is_context(hint: Any, of: type = object) -> bool:
    """Whether it is the ``Context`` of the SDK or of FastMCP, or one of them and ``None``."""
    if isinstance(hint, type):
        return issubclass(hint, of) and hasattr(hint, "request_context")
    return any(_is_context(one, of) for one in get_args(hint))


def _is_comparable(default: object) -> bool:
    return default is None or isinstance(default, bool | int | str | list | dict)


def _result_shape(name: str, annotation: Any) -> tuple[Any, Convert, bool]:
    """What the gated tool says that it returns, and how the SDK makes results of the tool's own.

    The last is whether they are structured.

    A result that the tool returns is made inside the gate, so the SDK is handed finished ones. Its
    output schema admits what is said of a call that did nothing, such as that it was done before.
    """

    def returning() -> None:
        """Stand for the tool: the SDK reads the name and the annotation alone."""

    returning.__name__ = name
    setattr(returning, "__signature__", inspect.Signature(return_annotation=annotation))  # noqa: B010
    metadata = func_metadata(returning)
    model = metadata.output_model
    if model is None:
        return CallToolResult, metadata.convert_result, False
    try:
        admitting = _admitting(name, model)
    except PydanticUserError:
        return CallToolResult, metadata.convert_result, False
    return Annotated[CallToolResult, admitting], metadata.convert_result, True


def _admitting(name: str, model: Any) -> type[RootModel[Any]]:
    class Returned(RootModel[model | _SaidInstead]):
        @classmethod
        def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> Any:
            found = handler.resolve_ref_schema(handler(schema))
            return {**found, "type": "object"}

    Returned.__name__ = Returned.__qualname__ = f"{name}Returned"
    Returned.__doc__ = None
    return Returned


def _with_notice(text: str) -> str:
    first, separator, rest = text.partition("\n\n")
    return f"{first}\n\n{NOTICE}{separator}{rest}" if first else NOTICE


def reject_misused(action: DeclaredAction, tool: Any) -> None:
    """Refuse, at import, a gate around what a server calls by itself already."""
    if not inspect.isfunction(tool):
        message = (
            f"@tool of {action.name} goes on a function, below the tool decorator of the MCP "
            f"server, and not on {type(tool).__name__}."
        )
        raise TypeError(message)
    if is_generator(tool):
        message = (
            f"@tool of {action.name} goes on a tool that returns its result, and "
            f"{tool.__qualname__} yields."
        )
        raise TypeError(message)
    # A server keeps the function itself: it would be called without the gate. Nothing at the
    # function says so, but the server's record of a tool does.
    registered = hasattr(tool, "__fastmcp__") or any(
        isinstance(holder, dict) and holder.get("fn") is tool and "parameters" in holder
        for holder in gc.get_referrers(tool)
    )
    if registered:
        message = (
            f"@tool of {action.name} goes below the tool decorator of the MCP server: above it, "
            f"the server calls {tool.__qualname__} without the gate."
        )
        raise TypeError(message)


def reject_unfit_for_tools(action: DeclaredAction, shape: ToolShape, **functions: Any) -> None:
    """Refuse functions of the site that do not take what their tool takes. ``terms`` is needed."""
    for name, function in functions.items():
        if function is None and name != "terms":
            continue
        subject = f"{action.name}: {name}="
        require_callable(subject, function)
        if name == "replay":
            arguments, named = ["request", "operation"], []
        else:
            arguments, named = ["request"], list(shape.named)
        if not takes(function, *arguments, **dict.fromkeys(named)):
            call = ", ".join([*arguments, *(f"{one}=…" for one in named)])
            message = f"{subject} is called with ({call}), which it does not take."
            raise TypeError(message)
