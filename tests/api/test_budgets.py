"""How many queries the API's paths cost, beside the site's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.agents import ApiClient

pytestmark = pytest.mark.django_db
TRANSACTIONS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET")
SITES_OWN = ("shop_item", "shop_effect", "auth_user", "django_session")


@contextmanager
def our_queries() -> Iterator[Callable[[], list[str]]]:
    """What this app asked of the database, without transactions and the site's own queries."""
    with CaptureQueriesContext(connection) as captured:
        yield lambda: [
            query["sql"]
            for query in captured.captured_queries
            if not query["sql"].startswith(TRANSACTIONS)
            and not any(table in query["sql"] for table in SITES_OWN)
        ]


@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/transfer/", "/api/public/"])
def test_the_apis_paths_stay_within_their_budgets(path: str, agents_api: ApiClient) -> None:
    agents_api.path = path
    with our_queries() as asking:
        operation = agents_api.ask()
    with our_queries() as asking_again:
        assert agents_api.ask() == operation
    with our_queries() as performing:
        assert agents_api.approve(operation).status_code == 201
    with our_queries() as replaying:
        assert agents_api.approve(operation).status_code == 201

    assert len(asking()) <= 4, asking()
    assert len(asking_again()) <= 3, asking_again()
    assert len(performing()) <= 6, performing()
    assert len(replaying()) <= 2, replaying()


def test_ordinary_callers_cost_nothing(
    agents_api: ApiClient, client: pytest.FixtureRequest
) -> None:
    with our_queries() as ours:
        response = client.post(  # type: ignore[attr-defined]
            "/api/class/", {"sku": "jacket"}, content_type="application/json"
        )

    assert response.status_code == 201
    assert ours() == []
