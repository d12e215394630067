"""What the site's own code can say: performed, not performed, declined, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponseBase


class NotPerformed(Exception):
    """Raised by an action: nothing happened, and this is what to answer, with any status.

    Returned by ``reconcile``: it did not happen, and it cannot happen any more.
    """

    def __init__(self, response: HttpResponseBase | None = None) -> None:
        super().__init__("The action says that nothing happened.")
        self.response = response


@dataclass(frozen=True)
class Performed:
    """Returned by ``reconcile``: it happened. ``result`` is the answer to give from now on.

    A response is stored as it is; a mapping is stored as a JSON answer with ``status``; nothing
    becomes a plain statement.
    """

    result: HttpResponseBase | Mapping[str, Any] | None = None
    status: int = 200


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
        # Not above: terms and their summaries serve where the app is not installed, as in an agent.
        from poppy_operations.models.lengths import NAME_LENGTH

        if len(self.rule) > NAME_LENGTH:
            message = f"The rule of a decline has at most {NAME_LENGTH} characters."
            raise ValueError(message)


@dataclass(frozen=True)
class Refusal:
    """What ``Company.undeclared`` chooses: refuse, with ``extension_required`` or an own answer."""

    response: HttpResponseBase | None = None
