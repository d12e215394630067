"""Checks of gated views: that a gate is asked at all, and can call the site's functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage
from django.views import View

from poppy_operations.checks.messages import message
from poppy_operations.checks.routes import Route, routes, view_name
from poppy_operations.declarations.callables import signature_of, takes
from poppy_operations.doors.arguments import FUNCTIONS, wants_self
from poppy_operations.gated_handlers import ACTION, GATE, handlers


def check_gates(**_named: Any) -> list[CheckMessage]:
    """Check every gated view of the site's URLs."""
    found = [(route, _gates(route)) for route in routes()]
    unfit = {one.msg: one for route, gates in found for one in _unfit(route, gates)}
    return [*unfit.values(), *_for_no_method(found)]


def _gates(route: Route) -> dict[Any, set[str]]:
    """The gated handlers of a view, each with the methods that it answers."""
    gates: dict[Any, set[str]] = {}
    for method in map(str.upper, View.http_method_names):
        for handler in handlers(route.view, method):
            if hasattr(handler, FUNCTIONS):  # a door has made it
                gates.setdefault(handler, set()).add(method)
    return gates


def _unfit(route: Route, gates: dict[Any, set[str]]) -> Iterator[CheckMessage]:
    for gate in gates:
        if not _fits_route(_view_of(gate), route):
            continue  # Then the view itself is what Django cannot call.
        for name, function in getattr(gate, FUNCTIONS).items():
            if not _fits_route(function, route):
                yield message(
                    "E018",
                    name=name,
                    view=view_name(route.view),
                    path=route.path,
                    call=_shown_call(name, route),
                )


def _view_of(gate: Any) -> Any:
    """The site's own view or handler, below the gate and the decorators above it."""
    while hasattr(gate, FUNCTIONS):
        gate = gate.__wrapped__
    return gate


def _fits_route(function: Any, route: Route) -> bool:
    own = ("self",) if wants_self(function) else ()
    unnamed = [f"argument {number + 1}" for number in range(route.unnamed)]
    return signature_of(function) is None or takes(
        function, *own, "request", *unnamed, **dict.fromkeys(route.named)
    )


def _shown_call(name: str, route: Route) -> str:
    arguments = ["request", *["…"] * route.unnamed, *(f"{one}=…" for one in sorted(route.named))]
    return f"{name}({', '.join(arguments)})"


def _for_no_method(found: list[tuple[Route, dict[Any, set[str]]]]) -> Iterator[CheckMessage]:
    """Name the gates whose handlers answer none of their methods, whatever the route."""
    answered: dict[Any, set[str]] = {}
    names = {}
    for route, gates in found:
        for gate, methods in gates.items():
            answered.setdefault(gate, set()).update(methods)
            names[gate] = view_name(route.view)
    for gate, methods in answered.items():
        if not any(method in getattr(gate, GATE) for method in methods):
            action, listed = getattr(gate, ACTION).name, ", ".join(sorted(methods))
            yield message("E020", action=action, view=names[gate], methods=listed)
