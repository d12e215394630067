"""The examples of the protocol's text, as data."""

from __future__ import annotations

from poppy_operations.protocol.operation import DeclineStatement, ReturnedOperation

SUMMARY = (
    "Exchange the Stormline Jacket (M) on order ord_7Hk2 for the Stormline Insulated Jacket (M), "
    "for $70.00 more, charged to the card used for the order."
)
# 2026-10-08T12:20:00-07:00
EXPIRES_AT = 1791487200
OPERATION = ReturnedOperation(
    operation_id="exc_5Rt2",
    revision="1791487200-k3Jd9Qx2mW8v",
    terms=(
        '{"item_id":"itm_4Qa","order_id":"ord_7Hk2",'
        '"price_difference":{"amount":"70.00","currency":"USD"},'
        '"replacement_sku":"stormline-insulated-m"}'
    ),
    expires_at=EXPIRES_AT,
    summary=SUMMARY,
)
OPERATION_AS_JSON = {
    "operation_id": "exc_5Rt2",
    "revision": "1791487200-k3Jd9Qx2mW8v",
    "summary": SUMMARY,
    "terms": {
        "order_id": "ord_7Hk2",
        "item_id": "itm_4Qa",
        "replacement_sku": "stormline-insulated-m",
        "price_difference": {"amount": "70.00", "currency": "USD"},
    },
    "expires_at": "2026-10-08T19:20:00Z",
}
ALTERNATIVE = {
    "instructions": "The account holder can close the account in the Example app.",
    "references": [{"type": "web", "url": "https://example.com/account/close"}],
}
REASON = "Only the account holder can close this account."
DECLINE = DeclineStatement(
    operation_id="cls_2Wq8",
    revision="1791487200-p9Lm3Rt6Vx1c",
    reason=REASON,
    alternative=ALTERNATIVE,
)
USER_APPROVAL = (
    'operation_id="exc_5Rt2", revision="1791487200-k3Jd9Qx2mW8v", approver="user", '
    'approved_at=1791487260, input_type="tap", reference="apr_01JD8ZK3Q9"'
)
AGENT_APPROVAL = (
    'operation_id="exc_5Rt2", revision="1791487200-k3Jd9Qx2mW8v", approver="agent", '
    'approved_at=1791487255, reference="apr_01JD8ZK3R4"'
)
