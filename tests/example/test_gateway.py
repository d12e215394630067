from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from example_project.payments.gateway import Gateway, KeyBarred, PaymentError, PaymentRefused


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    return Gateway(tmp_path / "payments.sqlite3")


def kinds(gateway: Gateway) -> list[str]:
    return [entry.kind for entry in gateway.entries()]


def test_a_key_moves_money_once(gateway: Gateway) -> None:
    first = gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("20.00"))
    again = gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("20.00"))
    assert again == first
    assert gateway.look_up("op_1") == first
    assert kinds(gateway) == ["refund"]


def test_a_key_belongs_to_one_refund(gateway: Gateway) -> None:
    gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("20.00"))
    with pytest.raises(PaymentError):
        gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("30.00"))
    assert kinds(gateway) == ["refund"]


def test_a_refused_amount_moves_nothing(gateway: Gateway) -> None:
    with pytest.raises(PaymentRefused):
        gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("0.13"))
    assert gateway.look_up("op_1") is None


def test_a_failure_half_way_has_moved_the_money(gateway: Gateway) -> None:
    with pytest.raises(PaymentError):
        gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("0.66"))
    assert kinds(gateway) == ["refund"]


def test_a_late_answer_comes_after_the_money_moved(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[float, list[str]]] = []
    monkeypatch.setattr(
        "example_project.payments.gateway.time.sleep",
        lambda seconds: seen.append((seconds, kinds(gateway))),
    )
    gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("5.00"), delay_ms=1500)
    assert seen == [(1.5, ["refund"])]


def test_a_barred_key_is_refused_for_ever(gateway: Gateway) -> None:
    assert gateway.bar("op_1").kind == "bar"
    assert gateway.bar("op_1").kind == "bar"
    with pytest.raises(KeyBarred):
        gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("20.00"))
    assert kinds(gateway) == ["bar"]


def test_a_key_whose_money_moved_cannot_be_barred(gateway: Gateway) -> None:
    moved = gateway.refund(key="op_1", order_id="ord_1", amount=Decimal("20.00"))
    assert gateway.bar("op_1") == moved
    assert kinds(gateway) == ["refund"]


def test_new_books_are_empty(gateway: Gateway) -> None:
    gateway.bar("op_1")
    gateway.forget_everything()
    assert gateway.entries() == []
