"""The website: what a joined browser and its agent do, from the first request to the effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.conf import settings

from benchmarks.agents import AgentSession, Browser, expect, number, reference_in
from benchmarks.calls import Answer, Site
from benchmarks.figures import Measure
from benchmarks.rounds import Subject

MEASURES = (
    Measure("website_ask", "website_ask", "bare"),
    Measure("lookup", "lookup", "bare"),
    Measure("approve", "approve", "bare"),
    Measure("website_perform", "website_perform", "bare"),
)


class Website:
    """The subjects of the website. Each has a browser of its own, and plays its story to the end.

    So the owner of each has one live revision at most, and what is measured does not grow.
    """

    def __init__(self, account: str) -> None:
        self._account = account
        self._site = Site(settings.MIDDLEWARE)

    def subjects(self) -> list[Subject]:
        """Give them all."""
        return [self._ask(), self._look_up(), self._approve(), self._perform()]

    def _ask(self) -> Subject:
        story = Story(self._site, self._account)

        def prepare() -> Callable[[], Answer]:
            return self._site.ready(story.browser.order(story.next()))

        def finish(answer: Answer) -> None:
            story.ref = reference_in(answer)
            story.approve()
            story.perform()

        return Subject("website_ask", prepare, finish)

    def _look_up(self) -> Subject:
        story = Story(self._site, self._account)

        def prepare() -> Callable[[], Answer]:
            story.ask()
            return self._site.ready(story.browser.session.endpoint(story.ref))

        def finish(answer: Answer) -> None:
            expect(answer, 403)
            story.approve()
            story.perform()

        return Subject("lookup", prepare, finish)

    def _approve(self) -> Subject:
        story = Story(self._site, self._account)

        def prepare() -> Callable[[], Answer]:
            story.ask()
            approval = story.browser.looked_up(story.ref)
            return self._site.ready(story.browser.session.endpoint(story.ref, approval))

        def finish(answer: Answer) -> None:
            expect(answer, 204)
            story.perform()

        return Subject("approve", prepare, finish)

    def _perform(self) -> Subject:
        story = Story(self._site, self._account)

        def prepare() -> Callable[[], Answer]:
            story.ask()
            story.approve()
            return self._site.ready(story.browser.order(story.fields))

        def finish(answer: Answer) -> None:
            expect(answer, 302)

        return Subject("website_perform", prepare, finish)


class Story:
    """One browser, and the order that it is about to place."""

    def __init__(self, site: Site, account: str) -> None:
        self.browser = Browser(site, AgentSession(account, sid=f"ses_{number()}"))
        self.fields: Mapping[str, str] = {}
        self.ref = ""

    def next(self) -> Mapping[str, str]:
        """Begin another order."""
        self.fields = {"sku": f"jacket-{number()}", "quantity": "1"}
        return self.fields

    def ask(self) -> None:
        """Begin another order and ask for it."""
        self.ref = self.browser.asked(self.next())

    def approve(self) -> None:
        """Approve what was asked for."""
        self.browser.approve(self.ref)

    def perform(self) -> None:
        """Place the order."""
        self.browser.perform(self.fields)
