"""What mails to ADMINS and the log show of a browser's request for a gated action."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils.log import AdminEmailHandler

from poppy_operations.logs import LONGEST_TOLD
from poppy_operations.models import Operation
from tests.agents import ORDER, SessionOf
from tests.asking import quiet, recorded
from tests.shop.models import Item
from tests.shop.operations import Behaviour

pytestmark = pytest.mark.django_db


class Mailbox(AdminEmailHandler):
    """Django's handler for errors, before it sends its mail."""

    def __init__(self) -> None:
        super().__init__(include_html=True)
        self.mails: list[str] = []

    def send_mail(self, subject: str, message: str, *args: Any, **kwargs: Any) -> None:
        self.mails.append("\n".join((subject, message, kwargs["html_message"])))


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """What is sent to ADMINS of what Django and this package log."""
    found = Mailbox()
    found.setLevel(logging.WARNING)
    loggers = [logging.getLogger(name) for name in ("django.request", "poppy_operations")]
    for logger in loggers:
        logger.addHandler(found)
    yield found
    for logger in loggers:
        logger.removeHandler(found)


def fails(_operation: Any) -> None:
    """A fault of the site's own."""
    message = "a fault"
    raise LookupError(message)


@pytest.mark.parametrize("path", ["/buy/", "/abuy/", "/refund/"])
def test_a_mail_about_a_browsers_request_shows_nothing_of_its_operation(
    path: str, signed_out: SessionOf, jacket: Item, site: Behaviour, mailbox: Mailbox
) -> None:
    browser = signed_out.browser(quiet())
    ref, _ = recorded(signed_out, browser, path)
    # The site's own frames show what the site puts there; it takes nothing into a variable here.
    site.terms_answer = lambda request: None
    site.after_effect = fails
    mailbox.mails.clear()
    browser.post(path, ORDER)
    told = "\n".join(mailbox.mails)
    assert "LookupError" in told
    assert "perform" in told
    ours = told.split("tests/shop/operations.py")[0]
    operation = Operation.objects.get()
    revision = operation.revisions.get(ref=ref)
    for secret in (revision.terms, revision.summary, revision.revision, "ses_1", ref):
        assert str(secret) not in ours


def test_a_name_of_a_field_forges_no_line_of_the_log(
    signed_out: SessionOf, jacket: Item, caplog: pytest.LogCaptureFixture
) -> None:
    browser = signed_out.browser()
    recorded(signed_out, browser)
    forged = "\nERROR poppy_operations Performed\u2028\x1b[31m" + "x" * 3 * LONGEST_TOLD
    with caplog.at_level(logging.INFO, "poppy_operations"):
        form = urlencode({**ORDER, forged: "1"})
        content_type = "application/x-www-form-urlencoded"
        assert browser.post("/buy/", form, content_type=content_type).status_code == 403
    assert "Performed" in caplog.text
    for record in caplog.records:
        assert record.getMessage().isprintable()
        assert len(record.getMessage()) < 2 * LONGEST_TOLD
