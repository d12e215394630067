"""Puts what the gate answers into the form of the interface that asked (4, 6, 7)."""

from __future__ import annotations

import logging
from typing import cast

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from poppy_operations.gate.answers import Answer, ApprovalRequired, Declined, SiteAnswer, Undeclared
from poppy_operations.logs import log_of
from poppy_operations.protocol.interfaces import Interface
from poppy_operations.responses.api import api_answer
from poppy_operations.responses.website import website_answer


def respond(
    answer: Answer, request: HttpRequest, interface: Interface, *, action: str = ""
) -> HttpResponseBase:
    """Return the response for an answer of the gate.

    ``request`` is Django's own. A browser gets pages or, if its script wants JSON, objects without
    the operation; a program gets JSON. Nobody may store a response, unless it is the site's own.
    ``action`` is for the log.
    """
    if isinstance(answer, SiteAnswer):
        return cast("HttpResponseBase", answer.result)
    if isinstance(answer, Undeclared) and answer.result is not None:
        return cast("HttpResponseBase", answer.result)
    answered = website_answer if interface.answered_with_pages else api_answer
    response = answered(answer, request)
    return _expected(response, answer, action)


def _expected(response: HttpResponse, answer: Answer, action: str) -> HttpResponse:
    """Keep Django from logging an expected refusal as a warning, or as an error of the server."""
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001  Django's flag
    kind, status = type(answer).__name__, response.status_code
    log_of(
        logging.INFO,
        "Answered with %s (%s).",
        kind,
        status,
        operation_id=operation_id_of(answer),
        action=action,
        answer=kind,
        status_code=status,
    )
    return response


def operation_id_of(answer: Answer) -> str:
    """The operation that an answer is about, for the log; empty for one that is about none."""
    if isinstance(answer, ApprovalRequired):
        return answer.operation.operation_id
    if isinstance(answer, Declined):
        return answer.statement.operation_id
    return getattr(answer, "operation_id", "")
