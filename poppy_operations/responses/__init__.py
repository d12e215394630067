"""Puts what the gate answers into the form of the interface that asked (4, 6, 7)."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase

from poppy_operations.gate.answers import Answer, SiteAnswer, Undeclared
from poppy_operations.responses.api import api_answer
from poppy_operations.responses.website import website_answer


def respond(answer: Answer, request: HttpRequest, *, on_website: bool) -> HttpResponseBase:
    """Return the response for an answer of the gate.

    ``request`` is Django's own. ``on_website``: a browser asked, and gets pages or, where its
    script wants JSON, objects without the operation; an API gets JSON. Every response but the
    site's own may be stored by nobody.
    """
    if isinstance(answer, SiteAnswer):
        return answer.response
    if isinstance(answer, Undeclared) and answer.response is not None:
        return answer.response
    return website_answer(answer, request) if on_website else api_answer(answer, request)
