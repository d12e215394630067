"""What Django mails to ADMINS, all of it: the text, and the page with each frame's variables."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection
from django.test import Client
from django.utils.log import AdminEmailHandler

from poppy_operations.models import Approval, Revision
from tests.agents import SessionOf

LOGGERS = ("django", "poppy_operations", "celery")


class Mailbox(AdminEmailHandler):
    """Django's handler for errors, before it sends its mail."""

    def __init__(self) -> None:
        super().__init__(include_html=True)
        self.mails: list[str] = []

    def send_mail(self, subject: str, message: str, *args: Any, **kwargs: Any) -> None:
        self.mails.append("\n".join((subject, message, kwargs["html_message"])))

    @property
    def told(self) -> str:
        """All mails, one after the other."""
        return "\n".join(self.mails)


@contextmanager
def mails(*names: str, level: int = logging.WARNING) -> Iterator[Mailbox]:
    """Collect what is mailed of what these loggers are told."""
    found = Mailbox()
    found.setLevel(level)
    loggers = [logging.getLogger(name) for name in names or LOGGERS]
    for logger in loggers:
        logger.addHandler(found)
    try:
        yield found
    finally:
        for logger in loggers:
            logger.removeHandler(found)


def secrets_kept() -> set[str]:
    """What is kept of what agents asked for and approved, and is nobody's business."""
    found = {sid for sid in Approval.objects.values_list("sid", flat=True) if sid}
    for revision in Revision.objects.all():
        kept = (revision.terms, revision.summary, revision.revision, revision.ref)
        found |= {text for text in kept if text}
    return found


def secrets_sent(
    session: SessionOf, *headers: dict[str, str], browser: Client | None = None
) -> set[str]:
    """What an agent and its browser show of themselves: tokens, headers, cookies."""
    found = {session.sid}
    for name, value in (pair for sent in headers for pair in sent.items()):
        if name == "Authorization":
            found.add(value.removeprefix("Bearer "))
        elif name in {"Poppy-Session", "Poppy-Approval"}:
            found |= {value, repr(value)[1:-1]}
    if browser is not None:
        found |= {morsel.value for morsel in browser.cookies.values()}
    return found


def shown(secrets: set[str], told: str) -> list[str]:
    """Those that can be read in a mail, as they are or as HTML."""
    escapes = {"&quot;": '"', "&#x27;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&"}
    for escape, letter in escapes.items():
        told = told.replace(escape, letter)
    return sorted(secret for secret in secrets if secret in told)


@contextmanager
def failing_statements(table: str) -> Iterator[None]:
    """Let the database refuse whatever is written into a table, and for good.

    The function that refuses has a name of Django's: what it holds is not the site's to hide.
    """
    where: dict[str, Any] = {"__name__": "django.db.refusing", "Refused": OperationalError}
    code = """
def refuse(execute, sql, params, many, context):
    if sql.startswith("INSERT") and TABLE in sql:
        raise Refused(1, "near the end")
    return execute(sql, params, many, context)
"""
    exec(code, where | {"TABLE": table}, where)
    where["TABLE"] = table
    with connection.execute_wrapper(where["refuse"]):
        yield
