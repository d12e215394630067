"""The shop that the examples of the pages are written for, and the modules that they make of it.

The pages call ``shop.orders``, ``shop.gateway`` and the like the site's own. Here they note what
happened, and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

from django import forms

from poppy_operations import Action
from poppy_operations.declarations.registry import registry
from tests.docs.pages import Block, blocks


class ExchangeForm(forms.Form):
    """What the shop's form asks for."""

    item_id = forms.CharField(max_length=20)
    sku = forms.CharField(max_length=20)


class Refused(Exception):
    """The gateway, or the provider, says no."""


class Closed(Exception):
    """The gateway is closed."""


class KeyBarred(Exception):
    """The gateway was told to do nothing by this key."""


class SoldOut(Exception):
    """There is none left."""


class Unreachable(Exception):
    """The provider does not answer."""


@dataclass(frozen=True)
class AppToken:
    """What the site's own authentication gives for a token of its app."""

    client_id: str


@dataclass
class Shop:
    """What the shop's own code knows, and what has happened in it."""

    happened: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    prices: dict[str, Decimal] = field(default_factory=lambda: {"parka": Decimal("70.00")})
    sold_out: bool = False
    lost: bool = False
    receipts: dict[str, str] = field(default_factory=dict)
    barred: set[str] = field(default_factory=set)
    strangers: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    facts: dict[str, Any] | None = None
    token: dict[str, Any] | None = None
    person: Any = None

    def note(self, what: str, terms: Any) -> None:
        """Note that something happened, by its terms."""
        self.happened.append((what, dict(terms)))

    def modules(self) -> dict[str, ModuleType]:
        """The site's own modules."""
        made = {
            "shop": {"__path__": []},
            "shop.forms": {"ExchangeForm": ExchangeForm},
            "shop.orders": self._orders(),
            "shop.gateway": self._gateway(),
            "shop.identity": self._identity(),
            "shop.jobs": {"put": self._put},
        }
        modules = {name: ModuleType(name) for name in made}
        for name, members in made.items():
            vars(modules[name]).update(members)
        return modules

    def _orders(self) -> dict[str, Any]:
        async def aprice(sku: str) -> Decimal:
            return Decimal("5.00")

        async def areserve(terms: Any) -> None:
            self.note("reserve", terms)

        def reserve(terms: Any) -> None:
            self.note("reserve", terms)
            if self.sold_out:
                raise SoldOut

        return {
            "SoldOut": SoldOut,
            "add_note": lambda terms: self.note("note", terms),
            "aprice": aprice,
            "archive_exists": lambda archive_id: archive_id != "gone",
            "areserve": areserve,
            "cancel": lambda terms: self.note("cancel", terms),
            "cancellation_fee": lambda user, order_id: Decimal("5.00"),
            "exchange": lambda terms: self.note("exchange", terms),
            "find": lambda order_id: {"order_id": order_id},
            "files_in": lambda archive_id: 3,
            "invoice_file": lambda order_id: BytesIO(b"invoice"),
            "is_blocked": lambda account: account in self.blocked,
            "is_of": lambda user, order_id: str(user) not in self.strangers,
            "make_invoice": lambda terms: self.note("invoice", terms),
            "move_archive": lambda terms: self.note("move", terms),
            "note": lambda *noted: self.happened.append(("noted", {"what": noted})),
            "refundable": lambda order_id: Decimal("60.00"),
            "price_difference": lambda order_id, item_id, sku: self.prices.get(sku, Decimal(0)),
            "reserve": reserve,
        }

    def _gateway(self) -> dict[str, Any]:
        def refund(terms: Any, key: str) -> None:
            if key in self.barred:
                raise KeyBarred
            if key not in self.receipts:
                self.note("refund", terms)
                self.receipts[key] = "r1"
            if self.lost:
                raise TimeoutError

        def find_or_bar(key: str) -> str | None:
            if key not in self.receipts:
                self.barred.add(key)
            return self.receipts.get(key)

        return {
            "Closed": Closed,
            "Refused": Refused,
            "KeyBarred": KeyBarred,
            "find_or_bar": find_or_bar,
            "pay": lambda terms: self.note("pay", terms) or ("declined" if self.sold_out else ""),
            "refund": refund,
        }

    def _identity(self) -> dict[str, Any]:
        def verified_join(request: Any) -> dict[str, Any]:
            if self.facts is None:
                raise Refused
            return self.facts

        def introspect(token: str) -> dict[str, Any]:
            if self.token is None:
                raise Unreachable
            return self.token

        return {
            "AppToken": AppToken,
            "Refused": Refused,
            "Unreachable": Unreachable,
            "introspect": introspect,
            "person_of_passkey": lambda request: self.person,
            "verified_join": verified_join,
        }

    def _put(self, function: Any, *arguments: str) -> None:
        self.happened.append(("queued", {"arguments": arguments}))


@contextmanager
def made_of(
    page: Path, shop: Shop, only: Sequence[Block] | None = None
) -> Iterator[dict[str, ModuleType]]:
    """The modules that a page's blocks make, all or some, in its order; undone afterwards."""
    before = {action.name for action in registry}
    modules = shop.modules()
    own = list(blocks(page, "python") if only is None else only)
    if not any(block.path == "shop/operations.py" for block in own):
        vars(_module(modules, "shop.operations"))["exchange"] = Action(
            f"docs.exchange {page.stem}", effects="database"
        )
    kept = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        for block in own:
            _execute(block, modules)
        yield modules
    finally:
        for action in registry:
            if action.name not in before:
                registry.discard(action)
        for name in [name for name in sys.modules if name.split(".")[0] == "shop"]:
            del sys.modules[name]
        sys.modules.update({name: module for name, module in kept.items() if module is not None})


def _execute(block: Block, modules: dict[str, ModuleType]) -> None:
    name = "shop.page" if block.path is None else block.path.removesuffix(".py").replace("/", ".")
    module = _module(modules, name.removesuffix(".__init__"))
    is_package = hasattr(module, "__path__")
    module.__package__ = module.__name__ if is_package else module.__name__.rpartition(".")[0]
    # Numbered as in the page, so that an error leads there.
    source = "\n" * block.line + block.text
    exec(compile(source, str(block.page), "exec"), vars(module))


def _module(modules: dict[str, ModuleType], name: str) -> ModuleType:
    parent, _, own = name.rpartition(".")
    if name not in modules:
        modules[name] = ModuleType(name)
        sys.modules[name] = modules[name]
        if parent:
            setattr(_module(modules, parent), own, modules[name])
    return modules[name]
