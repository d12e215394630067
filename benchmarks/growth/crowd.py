"""One database with so many operations: ``python -m benchmarks.growth.crowd SIZE OLD``.

With 0 operations: one more process of a site whose operations are there.

Reads what to do from its input, a word a line, and answers each with a line of JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.measure import prepare

LIVE = 49


def main() -> None:
    """Make the operations, then do what is asked."""
    size, old = int(sys.argv[1]), int(sys.argv[2])
    account = prepare()
    from benchmarks.growth.purging import purged, served
    from benchmarks.growth.rows import fill

    if size:
        fill(account, size, old)
    works: dict[str, Callable[..., Any]] = {
        "round": lambda: _subjects(account)(),
        "pid": _server_process,
        "purge": purged,
        "serve": lambda seconds: served(account, float(seconds)),
    }
    _say("ready")
    for line in sys.stdin:
        word, *arguments = line.split()
        _say(works[word](*arguments))


def _server_process() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        number: int = cursor.fetchone()[0]
        return number


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


@cache
def _subjects(account: str) -> Callable[[], dict[str, float]]:
    from benchmarks.rounds import play
    from benchmarks.subjects.api import Api
    from benchmarks.subjects.website import Website

    subjects = [
        *(one for one in Api(account).subjects() if one.name in {"ask", "ask_again"}),
        *(one for one in Website(account).subjects() if one.name != "approve"),
        *_of_a_busy_owner(account),
    ]
    play(subjects, 0)

    def one_round() -> dict[str, float]:
        return {name: took for name, (took,) in play(subjects, 1, warm_up=0).items()}

    return one_round


def _of_a_busy_owner(account: str) -> list[Any]:
    """Give what an owner meets who has fifty live revisions."""
    from django.conf import settings

    from benchmarks.agents import expecting
    from benchmarks.calls import Site
    from benchmarks.growth.rows import asked_before, session_with
    from benchmarks.rounds import Subject
    from benchmarks.subjects.website import Story

    site = Site(settings.MIDDLEWARE)
    session = session_with(site, account, LIVE + 1)
    story = Story(site, account)
    asked_before(story, LIVE)

    def match() -> Callable[[], Any]:
        story.ask()
        story.approve()
        return site.ready(story.browser.order(story.fields))

    return [
        Subject(
            "ask_again_50_live",
            lambda: site.ready(session.order("/order/")),
            expecting(403),
        ),
        Subject("match_50_live", match, expecting(302)),
    ]


if __name__ == "__main__":
    main()
