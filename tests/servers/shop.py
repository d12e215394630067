"""The shop as a Personal Agent and its browser meet it over the network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from threading import Barrier
from typing import Any, TypeVar

from django.db.utils import ConnectionHandler

from example_project.issuer import demo_issuer
from example_project.tour.agent import approval_of, reference_in
from example_project.tour.browser import FORM, Browser
from example_project.tour.server import ASGI, WSGI, Server
from example_project.tour.web import Answer, send
from poppy_operations.testing.agents import PersonalAgent

T = TypeVar("T")
Approval = Mapping[str, str | int]

SERVERS = {
    # Several processes each; gunicorn has several threads as well.
    "gunicorn": (*WSGI, "--workers=3"),
    "uvicorn": (*ASGI, "--workers=2"),
}
ORDER, ITEM, WANTED = "ord_7Hk2", "itm_4Qa", "stormline-insulated-m"
EXCHANGE = {"item_id": ITEM, "replacement_sku": WANTED}
EXCHANGES = f"/api/orders/{ORDER}/exchanges"
REFUNDS = f"/api/orders/{ORDER}/refunds"
AGENT = PersonalAgent()


@dataclass
class Shop:
    """A running shop that knows the agent, and what it sells."""

    server: Server
    database: dict[str, object]
    is_asgi: bool
    _seen: int = 0

    def __post_init__(self) -> None:
        self._connections = ConnectionHandler({"default": self.database})
        keys = self.server.folder / "agent.jwks.json"
        keys.write_text(json.dumps(AGENT.jwks))
        self.server.command("poppy_agents", "add", AGENT.client_id, "--jwks", str(keys))

    @cached_property
    def token(self) -> str:
        """Alice's access token, for whatever the shop lets agents do."""
        account = self.in_database("SELECT id FROM auth_user WHERE username = %s", "alice")
        issuer = demo_issuer(self.server.folder / "issuer-key.pem", self.server.url)
        scope = "poppy:browser-sign-in orders:write"
        return issuer.access_token(str(account), client_id=AGENT.client_id, scope=scope)

    def new_effects(self) -> list[tuple[str, str]]:
        """What really happened since the last look: of which kind, and of which operation."""
        lines = self.server.command("demo_effects").splitlines()
        new = [json.loads(line) for line in lines[self._seen :]]
        self._seen = len(lines)
        return [(effect["effect"], effect.get("operation_id", effect["key"])) for effect in new]

    def in_database(self, query: str, *values: str) -> object:
        """Read one value from the shop's own database."""
        with self._connections["default"].cursor() as cursor:
            cursor.execute(query, values)
            row: tuple[object] = cursor.fetchone()
            return row[0]

    def close(self) -> None:
        """Leave the database."""
        self._connections.close_all()


@dataclass
class SessionAt:
    """A Session of the agent at the shop, signed in to Alice's account."""

    shop: Shop
    name: str
    browser: Browser = field(default_factory=Browser)

    def post(self, path: str, content: object, approval: Approval | None = None) -> Answer:
        """Send a request of the agent's own."""
        url = self.shop.server.url + path
        return send("POST", url, self.headers(approval), json.dumps(content).encode())

    def headers(self, approval: Approval | None = None) -> dict[str, str]:
        """The headers of a request of the agent's own, with content in JSON."""
        headers = AGENT.headers(
            user_id=f"usr_{self.name}",
            sid=f"ses_{self.name}",
            audience=self.shop.server.url,
            access_token=self.shop.token,
            approval=approval,
        )
        return {**headers, "Content-Type": "application/json", "Accept": "application/json"}

    def browser_headers(self) -> dict[str, str]:
        """The headers of a script on a page of the shop that sends a form for the browser."""
        cookies = {name: value for (_, name), value in self.browser.cookies.items()}
        return {
            "Accept": "application/json",
            "Content-Type": FORM,
            "Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
            "Sec-Fetch-Mode": "cors",
            "X-CSRFToken": cookies["csrftoken"],
        }

    def join(self) -> None:
        """Let the agent's browser in, on the order's page."""
        ticket = self.post("/poppy/join", {"return_to": f"/orders/{ORDER}/"})
        assert ticket.status == 200, ticket.text
        shown = self.browser.open(ticket.json()["url"])
        assert (shown.status, shown.url) == (200, f"{self.shop.server.url}/orders/{ORDER}/")

    def exchange(self, browser: Browser | None = None) -> Answer:
        """Submit the form of the order's page, and give the answer to exactly that request."""
        browser = browser or self.browser
        form = browser.page.form_with("item_id", ITEM)
        assert form is not None, browser.page.words
        before = len(browser.answers)
        browser.submit(form, {"replacement_sku": WANTED}, form.buttons[0])
        return browser.answers[before]

    def look_up(self, ref: str, approval: Approval | None = None) -> Answer:
        """Ask the endpoint what a reference stands for, or approve it."""
        return self.post("/poppy/operations", {"ref": ref}, approval)

    def state(self, ref: str) -> str:
        """The state of an approved operation."""
        answer = self.look_up(ref)
        assert answer.status == 200, answer.text
        state: str = answer.json()["status"]
        return state

    def asked(self, path: str, content: object) -> Approval:
        """Ask through the API, and give the approval of exactly what was returned."""
        return approval_of(operation_in(self.post(path, content)))


def operation_in(answer: Answer) -> dict[str, Any]:
    """The operation that an answer asks approval for."""
    assert answer.status == 403, answer.text
    body = answer.json()
    assert body["error"] == "approval_required", body
    operation: dict[str, Any] = body["operation"]
    return operation


def ref_in(answer: Answer) -> str:
    """The reference in the website's refusal."""
    assert answer.status == 403, answer.text
    reference = reference_in(answer)
    assert reference is not None, answer.headers
    return reference.ref


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make the calls from as many threads, which wait for one another before they begin."""
    barrier = Barrier(len(calls))

    def call(one: Callable[[], T]) -> T:
        barrier.wait(30)
        return one()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(call, calls))


def tabs_of(browser: Browser, number: int) -> list[Browser]:
    """The same browser in several tabs: the cookies and the page of each are those of now."""
    return [deepcopy(browser) for _ in range(number)]
