from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.stages.marks import FEW, LONGER_S, TAKES_LONGER, pytest_collection_modifyitems, spread


def limit_of(item: pytest.Item) -> Any:
    mark = item.get_closest_marker("timeout")
    return mark and mark.args


def is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> Callable[..., pytest.Item]:
    """Make a test that has these marks and no others yet."""

    def make(*marks: str | pytest.MarkDecorator, name: str = "one") -> pytest.Item:
        parent = request.node.parent
        item = pytest.Function.from_parent(parent, name=name, callobj=lambda: None)
        for mark in marks:
            item.add_marker(mark)
        return item

    return make


@pytest.mark.parametrize("kind", TAKES_LONGER)
def test_what_starts_others_may_take_longer(
    kind: str, collected: Callable[..., pytest.Item]
) -> None:
    item = collected(kind)
    pytest_collection_modifyitems([item])
    assert limit_of(item) == (LONGER_S,)


def test_a_tests_own_limit_stays(collected: Callable[..., pytest.Item]) -> None:
    item = collected("servers", pytest.mark.timeout(5))
    pytest_collection_modifyitems([item])
    assert limit_of(item) == (5,)


def test_all_others_have_the_limit_of_the_project(
    collected: Callable[..., pytest.Item], pytestconfig: pytest.Config
) -> None:
    item = collected()
    pytest_collection_modifyitems([item])
    assert limit_of(item) is None
    assert 0 < float(pytestconfig.getini("timeout")) < LONGER_S


@pytest.mark.parametrize(
    ("count", "chosen"), [(0, set()), (1, {0}), (2, {0, 1}), (3, {0, 1}), (4, {0, 2}), (9, {0, 4})]
)
def test_few_of_many_are_far_from_each_other(count: int, chosen: set[int]) -> None:
    assert spread(count, min(count, 2)) == chosen


def test_further_cases_in_the_database_are_slow(
    collected: Callable[..., pytest.Item],
) -> None:
    one = [collected("django_db", name=f"one[{case}]") for case in range(9)]
    other = [collected("django_db", name=f"other[{case}]") for case in range(FEW)]
    without = [collected(name=f"without[{case}]") for case in range(9)]
    pytest_collection_modifyitems([*one, *other, *without])
    assert sum(map(is_slow, one)) == 9 - FEW
    assert not any(map(is_slow, [*other, *without]))


def test_cases_of_a_stage_of_their_own_are_all_played_there(
    collected: Callable[..., pytest.Item],
) -> None:
    items = [collected("django_db", "races", name=f"one[{case}]") for case in range(9)]
    pytest_collection_modifyitems(items)
    assert not any(map(is_slow, items))
