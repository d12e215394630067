"""The chapters, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Callable

from example_project.tour.chapters.api import the_agent_uses_the_api, the_shop_declines
from example_project.tour.chapters.meeting import the_shop_and_the_agent_meet
from example_project.tour.chapters.website import (
    alice_approves_and_it_is_done,
    alice_thinks_and_the_price_rises,
    the_agent_learns_the_terms,
    the_browser_asks_for_an_exchange,
    the_browser_joins,
    the_browser_tries_again,
)
from example_project.tour.story import Story

CHAPTERS: tuple[Callable[[Story], None], ...] = (
    the_shop_and_the_agent_meet,
    the_browser_joins,
    the_browser_asks_for_an_exchange,
    the_agent_learns_the_terms,
    alice_thinks_and_the_price_rises,
    alice_approves_and_it_is_done,
    the_browser_tries_again,
    the_agent_uses_the_api,
    the_shop_declines,
)
