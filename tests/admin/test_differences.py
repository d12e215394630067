"""What changed between two sets of terms, as operators read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from poppy_operations.admin.differences import Difference, differences, differing_names


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", "1", "2")]),
        ({"a": "x"}, {"a": "y"}, [("a", "x", "y")]),
        ({"a": 1}, {"a": "1"}, [("a", "1", '"1"')]),
        ({"a": True}, {"a": 1}, [("a", "true", "1")]),
        ({"a": None}, {}, [("a", "null", None)]),
        ({}, {"a": "null"}, [("a", None, "null")]),
        ({"a": {"b": "x", "c": 1}}, {"a": {"b": "y", "c": 1}}, [("a.b", "x", "y")]),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, [("a[1]", "2", "3"), ("a[2]", None, "4")]),
        ({"a": []}, {"a": {}}, [("a", "[]", "{}")]),
        ({"a": {"b": 1}}, {"a": "b"}, [("a", None, "b"), ("a.b", "1", None)]),
        ({"a": "ü"}, {"a": "u"}, [("a", "ü", "u")]),
    ],
)
def test_values_that_changed_are_named_by_their_path(before: Any, after: Any, shown: Any) -> None:
    found = differences(json.dumps(before), json.dumps(after))

    assert sorted(found, key=str) == sorted((Difference(*one) for one in shown), key=str)
    assert [one.path for one in found] == sorted(one.path for one in found)


def test_requests_differ_in_fields_that_changed_came_or_went() -> None:
    before, after = {"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "2", "d": "1"}

    assert differing_names(json.dumps(before), json.dumps(after)) == ["b", "c", "d"]
