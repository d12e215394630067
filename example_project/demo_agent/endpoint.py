"""What the shop's endpoint says of an operation: only this tells whether it was done (6, 7)."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from example_project.tour.web import Answer

RECORDED = "recorded"
PERFORMED = "performed"
PERFORMING = "performing"
APPROVED = "approved"
WORDS = {
    RECORDED: "my approval is on record",
    PERFORMED: "it is performed",
    PERFORMING: "it is being performed, or nobody knows yet whether it was",
    APPROVED: "it is approved, and not done",
}
UNKNOWN = "invalid_request"


@dataclass(frozen=True)
class Told:
    """Where an operation stands, or its terms if it waits for an approval, or an error."""

    status: str = ""
    operation: dict[str, Any] | None = None
    error: str = ""

    @property
    def words(self) -> str:
        """The same for people."""
        if self.status:
            return WORDS[self.status]
        if self.operation is not None:
            return "it waits for an approval, and is not done"
        if self.error == UNKNOWN:
            return "the shop does not know it any more"
        return f"the shop does not say ({self.error})"


def told_by(answer: Answer) -> Told:
    """Read an answer of the endpoint. What is none of its answers is an error, whatever it says."""
    if answer.status == HTTPStatus.NO_CONTENT:
        return Told(RECORDED)
    body = answer.json()
    said = body if isinstance(body, dict) else {}
    if answer.status == HTTPStatus.OK and said.get("status") in {PERFORMED, PERFORMING, APPROVED}:
        return Told(said["status"])
    if said.get("error") == "approval_required" and isinstance(said.get("operation"), dict):
        return Told(operation=said["operation"])
    return Told(error=str(said.get("error") or answer.line))
