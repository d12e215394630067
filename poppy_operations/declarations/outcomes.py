"""What the site's own code can say: performed, not performed, declined, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpResponseBase

from poppy_operations.declarations.arguments import (
    require_name,
    require_number,
    require_object,
    require_response,
    require_text,
)
from poppy_operations.protocol.canonical import storable_text, thaw


@runtime_checkable
class ToolResult(Protocol):
    """The result of an MCP tool, as the SDK has it (``CallToolResult``)."""

    content: Any
    structured_content: Any
    is_error: bool


class NotPerformed(Exception):
    """Raised by an action: nothing happened. ``response`` is the answer to give, with any status.

    Returned by ``reconcile``: the attempt was not performed, and cannot be performed any more. A
    tool may answer with a result of its own; a response is made into one.
    """

    def __init__(self, response: HttpResponseBase | ToolResult | None = None) -> None:
        super().__init__("The action says that nothing happened.")
        self.response = response


class Verdict(Enum):
    """What an answer of the site's own code says of its action (AMB-15)."""

    PERFORMED = "performed"
    NOTHING_HAPPENED = "nothing happened"
    FAILED = "failed"


@dataclass(frozen=True)
class Performed:
    """Returned by ``reconcile``: it was performed. ``result`` is the answer to give from now on.

    A response is stored as it is. A mapping is stored as a JSON answer with ``status``. Without a
    result, the answer only says that the operation was performed.
    """

    result: HttpResponseBase | Mapping[str, Any] | None = None
    status: int = 200

    def __post_init__(self) -> None:
        if not isinstance(self.result, Mapping):
            require_response("Performed(…), unless it is an object,", self.result)
        require_number("Performed(status=…)", self.status)


@dataclass(frozen=True)
class Decline:
    """The Company's refusal of a valid approval, for reasons of its own (6).

    ``reason`` is short, in plain language for the User, and holds nothing that the Session could
    not see anyway. ``alternative`` is another way to do the action. ``rule`` stays with the
    Company: the admin shows it, the agent never sees it. It has at most 200 characters.
    """

    reason: str | None = None
    alternative: Mapping[str, Any] | None = None
    rule: str = "policy"

    def __post_init__(self) -> None:
        # Not at the top: programs without the app, such as agents, import terms and summaries.
        from poppy_operations.models.lengths import NAME_LENGTH

        require_text("Decline(reason=…)", self.reason)
        require_name("The rule of a decline", self.rule, NAME_LENGTH)
        if self.reason is not None:
            reason = storable_text(str(self.reason), "The reason of a decline")
            object.__setattr__(self, "reason", reason)
        if self.alternative is not None:
            object.__setattr__(self, "alternative", _plain_alternative(self.alternative))


def _plain_alternative(alternative: object) -> object:
    """The alternative as JSON has it: lazily translated text, for one, becomes text."""
    require_object("Decline(alternative=…)", alternative)
    try:
        text = json.dumps(thaw(alternative), cls=DjangoJSONEncoder, allow_nan=False)
    except (TypeError, ValueError) as error:
        message = f"Decline(alternative=…) holds what JSON cannot: {error}"
        raise TypeError(message) from error
    return json.loads(text)


@dataclass(frozen=True)
class Refusal:
    """What ``Company.undeclared`` gives: ``extension_required``, or the site's own answer (2).

    At a tool the refusal is a tool error, and the site's own answer may be a result of the SDK.
    """

    response: HttpResponseBase | ToolResult | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.response, ToolResult):
            require_response("Refusal(…)", self.response)
