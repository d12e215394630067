"""IDs have one spelling, also on a database that finds others."""

from __future__ import annotations

import pytest

from tests.servers.shop import EXCHANGE, EXCHANGES, SessionAt, Shop, operation_in

pytestmark = pytest.mark.servers


def test_an_id_in_another_spelling_is_another_id(shop: Shop) -> None:
    agent = SessionAt(shop, "spelling")
    approval = agent.asked(EXCHANGES, EXCHANGE)
    assert agent.post(EXCHANGES.replace("ord_7Hk2", "ORD_7HK2"), EXCHANGE).status == 404
    for name, value in EXCHANGE.items():
        for other in (value.upper(), value.replace("a", "á"), f"{value} "):
            refused = agent.post(EXCHANGES, {**EXCHANGE, name: other}, approval)
            assert (refused.status, list(refused.json())) == (400, [name])
    for name in ("operation_id", "revision"):
        named = {**approval, name: str(approval[name]).upper()}
        new = operation_in(agent.post(EXCHANGES, EXCHANGE, named))
        assert new["operation_id"] == approval["operation_id"]
    assert shop.new_effects() == []
