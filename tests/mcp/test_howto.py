"""The tools of the how-to do what the page says."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.docs.pages import DOCS
from tests.docs.stand_in import Shop, made_of
from tests.mcp.clients import ToolClient, operation_in, text_of

pytestmark = pytest.mark.django_db
PAGE = DOCS / "how-to" / "mcp-tools.md"
PARKA = {"order_id": "ord_1", "item_id": "itm_1", "sku": "parka"}


@pytest.fixture
def shop() -> Shop:
    """What happened at the page's shop."""
    return Shop()


@pytest.fixture
def page(shop: Shop) -> Iterator[dict[str, ModuleType]]:
    """The modules that the page has one write."""
    with made_of(PAGE, shop) as modules:
        yield modules


@pytest.fixture
def tools(page: dict[str, ModuleType], signed_in: Any) -> ToolClient:
    """A client of the page's server, whose token has the scope."""
    signed_in.scope = "orders:write"
    return ToolClient(signed_in, "exchange_item", page["shop.mcp"].server)


def test_the_tool_of_the_page_is_performed_once(tools: ToolClient, shop: Shop) -> None:
    asked = tools.call(arguments=PARKA)
    operation = operation_in(asked)
    words = "Exchange the item itm_1 for parka, for $70.00 more."
    assert text_of(asked) == f"Not done yet. This needs approval: {words}"
    assert shop.happened == []
    for _ in range(2):
        done = tools.approve(operation, arguments=PARKA)
        assert (done.is_error, done.structured_content) == (False, {"exchanged": True})
    assert [what for what, _ in shop.happened] == ["exchange"]


def test_the_other_tool_of_the_page_finds_the_account(tools: ToolClient, alice: Any) -> None:
    found = tools.call(tool="find_order", arguments={"order_id": "ord_1"})
    assert found.structured_content == {"account": str(alice.pk), "order_id": "ord_1"}
