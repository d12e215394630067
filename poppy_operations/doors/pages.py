"""The answers of a website's views, and what they say of the action."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpResponseBase

from poppy_operations.declarations.callables import require_hook
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.outcomes import Verdict
from poppy_operations.logs import log_of
from poppy_operations.site_responses import SiteResponses, is_page, says_performed

Judge = Callable[[Any], bool]
_TOLD: set[str] = set()


@dataclass(frozen=True)
class PageResponses(SiteResponses):
    """The responses of a website's view; ``performed`` is the site's own judgement of them."""

    action: DeclaredAction
    performed: Judge | None = None

    def verdict(self, result: object) -> Verdict:
        """What a response says of the action (AMB-15). Raises what ``performed`` raises."""
        if self.performed is None or not isinstance(result, HttpResponseBase):
            verdict = super().verdict(result)
            if verdict is Verdict.PERFORMED and is_page(result):
                _tell_of_page(self.action.name)
            return verdict
        if not _said_performed(self.action, self.performed, result):
            return Verdict.NOTHING_HAPPENED
        return Verdict.PERFORMED if says_performed(result) else Verdict.FAILED


def reject_judge(action: DeclaredAction, performed: object) -> None:
    """Refuse a ``performed=`` that cannot judge an answer."""
    if performed is None:
        return
    require_hook(f"{action.name}: performed=", performed, "the response")


def _said_performed(action: DeclaredAction, performed: Judge, response: HttpResponseBase) -> bool:
    said: object = performed(response)
    if isinstance(said, bool):
        return said
    if inspect.iscoroutine(said):
        said.close()
    message = f"{action.name}: performed= returns True or False, not {type(said).__name__}."
    raise TypeError(message)


def _tell_of_page(action: str) -> None:
    """Tell the developer, once for each action, that a page counts as performed."""
    if not settings.DEBUG or action in _TOLD:
        return
    _TOLD.add(action)
    message = (
        "A page answered a gated request, and counts as performed. If the page can say that "
        "nothing happened, raise NotPerformed with it, return it as a TemplateResponse with its "
        "form in the context, or pass performed= to the door. A redirect is never mistaken."
    )
    log_of(logging.WARNING, message, action=action)
