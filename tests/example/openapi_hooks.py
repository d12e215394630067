"""Who sends what Schemathesis makes up. It loads this by ``SCHEMATHESIS_HOOKS``."""

from __future__ import annotations

import atexit
import json
import os
import zlib
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import Any

import schemathesis
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from schemathesis.specs.openapi import checks

from example_project.tour.agent import CLIENT_ID, approval_of
from poppy_operations.protocol.errors import STATUSES
from poppy_operations.protocol.structured import poppy_approval
from poppy_operations.testing.agents import PersonalAgent

SHOP = os.environ["SHOP"]
CALLER = os.environ["CALLER"]
KEYS = PersonalAgent(CLIENT_ID, key=load_pem_private_key(os.environ["AGENT_KEY"].encode(), None))
# What the shop knows, so that not everything that is made up ends with "no such thing".
AMOUNTS = ("20.00", "0.13", "0.66")  # given, refused, and of unknown outcome
KNOWN = {
    "item_id": cycle(["itm_4Qa"]),
    "replacement_sku": cycle(["stormline-insulated-m", "stormline-insulated-l"]),
    "sku": cycle(["squall-cap", "ridge-fleece-m"]),
    "amount": cycle([*AMOUNTS, 1.5]),
    "delay_ms": cycle([1]),
}
seen: Counter[str] = Counter()


def number_of(value: object) -> int:
    """Return a number that is the same in every run."""
    return zlib.crc32(repr(value).encode("utf-8", "replace"))


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    if path_parameters and number_of(path_parameters) % 3:
        path_parameters["order_id"] = "ord_7Hk2"
    return path_parameters


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    if isinstance(body, dict):
        number = number_of(body)
        for name, values in KNOWN.items():
            # A delay that was made up would be waited for.
            if name in body and (number % 3 or name == "delay_ms"):
                body[name] = next(values)
    return body


@schemathesis.hook
def before_add_examples(context: Any, examples: list[Any]) -> None:
    """Ask for a refund of each known amount, whatever else is made up."""
    if context.operation.path == "/api/orders/{order_id}/refunds":
        examples.extend(
            context.operation.Case(
                path_parameters={"order_id": "ord_7Hk2"},
                body={"amount": amount},
                media_type="application/json",
            )
            for amount in AMOUNTS
        )


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    if CALLER == "nobody":
        return
    session = KEYS.headers(
        user_id=f"usr_{CALLER}",
        sid=f"ses_{CALLER}",
        audience=SHOP,
        access_token=os.environ.get("TOKEN"),
    )
    if "Poppy-Extensions" in case.headers and number_of(case.body) % 2:
        del session["Poppy-Extensions"]
    case.headers.pop("Authorization", None)
    case.headers.update(session)


@schemathesis.check
def errors_have_their_status(context: Any, response: Any, case: Any) -> None:
    """The codes of the protocol come with no other status than theirs."""
    seen[f"{response.status_code}"] += 1
    try:
        body = response.json()
    except ValueError:
        return
    if isinstance(body, dict) and body.get("error") in STATUSES:
        assert response.status_code == STATUSES[body["error"]]


@schemathesis.check
def what_is_approved_is_done_once(context: Any, response: Any, case: Any) -> None:
    """The very same request with the approval is answered, and again with the same bytes."""
    if response.status_code != 403 or b'"approval_required"' not in response.content:
        return
    case.headers["Poppy-Approval"] = poppy_approval(approval_of(response.json()["operation"]))
    answers = [case.call() for _ in range(2)]
    for answer in answers:
        seen[f"approved {answer.status_code}"] += 1
        case.validate_response(
            answer,
            checks=[
                checks.status_code_conformance,
                checks.content_type_conformance,
                checks.response_headers_conformance,
                checks.response_schema_conformance,
                errors_have_their_status,
            ],
        )
    first, again = answers
    assert first.status_code in {201, 204, 422, 503}, first.content
    assert (again.status_code, again.content) == (first.status_code, first.content)


@atexit.register
def tell() -> None:
    """Leave the statuses for the test."""
    Path("seen.json").write_text(json.dumps(seen))
