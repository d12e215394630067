"""Compares what the package answers with what the model expects, and learns the names."""

from __future__ import annotations

import html
import re
from typing import Any

from poppy_operations.protocol.times import rfc3339
from tests.agents import reference
from tests.model.facts import Approval, Expected, Operation, Revision

SUCCESS = {"web": 302, "api": 201}
_WATCH = re.compile(r'data-poppy-watch="([^"]+)"')


class Answers:
    """The names that agents and browsers were given so far, none of them twice."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.refs: dict[str, Revision] = {}

    def compare(
        self,
        expected: Expected,
        response: Any,
        *,
        sid: str = "",
        approval: Approval | None = None,
        door: str = "",
    ) -> None:
        """Fail unless the response is the expected one. ``sid``: a browser's, of its Session."""
        raised = getattr(response, "exc_info", None)
        shown = (expected, response.status_code, response.content[:300], raised and raised[1])
        assert response.status_code == self._status(expected, door, on_website=bool(sid)), shown
        if expected.kind != "site":
            assert "no-store" in response.headers["Cache-Control"], shown
        assert ("Poppy-Operation" in response) == (
            bool(sid) and expected.kind in {"operation", "new"}
        ), shown
        if expected.retry_after is not None:
            assert response.headers["Retry-After"] == str(expected.retry_after), shown
        if approval is not None:
            assert approval.revision not in _revisions_in(response), shown
        if expected.kind in {"operation", "new"}:
            learn = self._reference if sid else self._operation
            learn(expected, response, sid)
        elif expected.kind == "site" and not expected.status:
            assert _is_success(expected.operation, response, door), shown
        elif not sid:
            assert _is_body(expected, response), shown

    def _status(self, expected: Expected, door: str, *, on_website: bool) -> int:
        match expected.kind:
            case "site":
                return expected.status or SUCCESS[door]
            case "stored":
                own = _door_of_own_answer(expected.operation)
                # A website stores no body: without a redirect it only says that it was done.
                return 200 if own is None or (on_website and own == "api") else SUCCESS[own]
            case "operation" | "new" | "declined" | "undeclared":
                return 403
            case "challenge":
                return 401
        return expected.status

    def _operation(self, expected: Expected, response: Any, _sid: str) -> None:
        body = response.json()
        assert body.keys() == {"error", "operation"}
        assert body["error"] == "approval_required"
        given = body["operation"]
        assert given.keys() == {"operation_id", "revision", "terms", "expires_at"}
        revision = expected.revisions[0]
        if expected.kind == "operation" and revision.name is not None:
            found = [one for one in expected.revisions if one.name == given["revision"]]
            assert found, (given, expected.revisions)
            revision = found[0]
        self._bind(revision, given)

    def _bind(self, revision: Revision, given: dict[str, Any]) -> None:
        operation = revision.operation
        if operation.name is None:
            self._new(given["operation_id"])
            operation.name = given["operation_id"]
        if revision.name is None:
            self._new(given["revision"])
            revision.name = given["revision"]
        item, quantity, amount = revision.terms
        assert given == {
            "operation_id": operation.name,
            "revision": revision.name,
            "terms": {"item": item, "quantity": quantity, "amount": amount},
            "expires_at": rfc3339(revision.expires_s),
        }

    def _new(self, name: str) -> None:
        assert name not in self.ids, name
        self.ids.add(name)

    def _reference(self, expected: Expected, response: Any, sid: str) -> None:
        given_sid, ref = reference(response)
        assert given_sid == sid
        if expected.kind == "new":
            assert ref not in self.refs, vars(self.refs[ref])
            revision = expected.revisions[0]
            revision.ref = ref
            self.refs[ref] = revision
        else:
            revision = self.refs[ref]
            assert revision in expected.revisions, (revision, expected)
        watch = _WATCH.search(response.content.decode())
        if watch:
            revision.watch = html.unescape(watch[1])


def _door_of_own_answer(operation: Operation | None) -> str | None:
    """The door whose answer was stored; ``None``: it was found out that it was performed."""
    assert operation is not None
    assert operation.performed is not None
    return operation.performed.want.door if operation.answer == "own" else None


def _is_success(operation: Operation | None, response: Any, door: str) -> bool:
    """Whether it is what a view answers that has done it."""
    if door == "web":
        return bool(response.headers["Location"] == "/done/" and response.content == b"")
    return bool(response.json() == {"did": None if operation is None else operation.name})


def _revisions_in(response: Any) -> set[str]:
    if not response.headers.get("Content-Type", "").startswith("application/json"):
        return set()
    body = response.json()
    # A decline names the approval's own revision; whoever gets it does not repeat it.
    return {body["operation"]["revision"]} if "operation" in body else set()


def _is_body(expected: Expected, response: Any) -> bool:
    if expected.kind == "recorded":
        return bool(response.content == b"")
    if expected.kind == "site":
        return True
    if expected.kind == "stored":
        own = _door_of_own_answer(expected.operation)
        if own is not None:
            return _is_success(expected.operation, response, own)
    return bool(response.json() == _body(expected))


def _body(expected: Expected) -> dict[str, Any]:
    operation = expected.operation
    name = None if operation is None else operation.name
    match expected.kind:
        case "stored":
            return _found(operation)
        case "status":
            return {"operation_id": name, "status": expected.code}
        case "performing":
            return {"operation_id": name, "status": "performing"}
        case "undeclared":
            return {"error": "extension_required", "extension": "operations"}
        case "challenge":
            return {"error": "sign_in_required"}
        case "declined":
            return {
                "error": "approval_declined",
                "operation_id": name,
                "revision": expected.revisions[0].name,
                "reason": "Not like this.",
            }
    return {"error": expected.code}


def _found(operation: Operation | None) -> dict[str, Any]:
    assert operation is not None
    if operation.answer == "found":
        return {"found": operation.name}
    return {"operation_id": operation.name, "status": "performed"}
