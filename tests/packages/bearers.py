"""The places of a request in which a client can put its access token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client

from tests.agents import HOST

ORDER = {"sku": "jacket", "quantity": "1"}
ORDERED = "api.order 1 jacket"
# What Python, and with it many a package, takes for white space between the scheme and the token.
SPACES = {
    "two spaces": "  ",
    "tab": "\t",
    "vertical tab": "\x0b",
    "form feed": "\x0c",
    "unit separator": "\x1f",
    "next line": "\x85",
    "no-break space": "\xa0",
}
ASCII_SPACES = ("two spaces", "tab", "vertical tab", "form feed")


@dataclass(frozen=True)
class Place:
    """One place: a name, and how a request is sent that has the token there."""

    name: str
    header: str = ""
    query: str = ""
    field: str = ""

    def send(self, path: str, token: str) -> Any:
        """Order a jacket, as a client that says nothing of a Session."""
        client = Client(headers={"host": HOST})
        headers = {"Authorization": self.header.format(token)} if self.header else {}
        query = f"?{self.query}={token}" if self.query else ""
        fields = {self.field: token} if self.field else {}
        return client.post(path + query, {**ORDER, **fields}, headers=headers)

    def __str__(self) -> str:
        return self.name


HEADER = Place("header", header="Bearer {}")
SPACED = {name: Place(name, header=f"Bearer{space}{{}}") for name, space in SPACES.items()}
QUERY = Place("query", query="access_token")
FIELD = Place("field", field="access_token")
