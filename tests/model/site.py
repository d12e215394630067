"""The site of the model-based test: a few actions, each behind both doors, and faults at will.

It is not the shop's site, because the model has to know all that there is: few actions, prices that
it moves itself, and processes that are gone for the database while they still run here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django import forms
from django.contrib.auth.views import LoginView, LogoutView
from django.db import transaction
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.urls import include, path

from poppy_operations import (
    Action,
    CurrentOperation,
    Decline,
    Each,
    NotPerformed,
    Performed,
    Terms,
    operation_of,
)
from poppy_operations.company import Company
from poppy_operations.declarations.registry import registry
from tests.shop.models import Effect


class Killed(BaseException):
    """The process is gone: nothing of it runs or reaches the database after this."""


class SoldOut(Exception):
    """An external action's clean refusal."""


class Happened(NamedTuple):
    """One effect: of which operation, and by which terms."""

    action: str
    operation_id: str
    revision: str
    terms: str


def _nothing() -> None:
    pass


@dataclass
class Plan:
    """How the site's code goes for one request, and what others do meanwhile."""

    ending: str = "performed"
    in_between: str = ""
    at_terms: Callable[[], None] = _nothing
    before: Callable[[], None] = _nothing
    after: Callable[[], None] = _nothing
    terms_asked: int = 0


@dataclass
class Shop:
    """How the site behaves, and what happened outside of its database."""

    prices: dict[str, int] = field(default_factory=lambda: {"a": 10, "b": 20})
    needed: bool = True
    limit: int = 0
    declines: tuple[str, ...] = ()
    forbidden: str = ""
    plan: Plan = field(default_factory=lambda: Plan())
    hook: str = "truth"
    outside: list[Happened] = field(default_factory=list)
    is_dead: bool = False

    def reset(self) -> None:
        """Be ordinary again."""
        self.__init__()  # type: ignore[misc]  # every field gets its default again

    @contextmanager
    def going(self, plan: Plan) -> Iterator[None]:
        """Go by a plan, and then by the one before."""
        before, self.plan = self.plan, plan
        try:
            yield
        finally:
            self.plan = before


shop = Shop()


def only_while_alive(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
    """Let nothing of a killed process reach the database but the end of its transactions."""
    if shop.is_dead and "SAVEPOINT" not in sql:
        raise Killed
    return execute(sql, params, many, context)


class ModelCompany(Company):
    """A Company with a policy about approvers."""

    def decline(self, operation: CurrentOperation, approval: Any) -> Decline | None:
        """Decline by approver."""
        return (
            Decline("Not like this.", rule="model") if approval.approver in shop.declines else None
        )


ACTIONS = {
    # One slot for each content, for each item, for each ask; and effects of both kinds.
    "order": Action("model.order", effects="database", prefix="ord"),
    "change": Action("model.change", effects="database", prefix="chg"),
    "each": Action("model.each", effects="database", prefix="each"),
    "pay": Action("model.pay", effects="external", prefix="pay", not_performed=(SoldOut,)),
    "send": Action("model.send", effects="external", prefix="snd", not_performed=(SoldOut,)),
}
SAME_ACTION: dict[str, Callable[[str], Any]] = {
    "order": lambda item: None,
    "change": lambda item: (item,),
    "each": lambda item: Each,
    "pay": lambda item: (item,),
    "send": lambda item: None,
}
for _action in ACTIONS.values():
    registry.discard(_action)  # They are there only while the model is tested.


def _reconcile(operation: CurrentOperation) -> Performed | NotPerformed | None:
    if shop.hook == "error":
        message = "The outside cannot be reached."
        raise ConnectionError(message)
    if shop.hook == "unknown":
        return None
    happened = any(effect.operation_id == operation.operation_id for effect in shop.outside)
    return Performed({"found": operation.operation_id}) if happened else NotPerformed()


for _name in ("pay", "send"):
    ACTIONS[_name].reconcile(_reconcile)


MOVES = {"dearer": 1, "cheaper": -1}


class WantForm(forms.Form):
    """What is asked for: the note is no part of the terms, but of the request."""

    quantity = forms.IntegerField(min_value=1)
    note = forms.CharField(required=False)


def _values(request: HttpRequest) -> tuple[int, Any]:
    if request.content_type == "application/json":
        return int(json.loads(request.body)["quantity"]), None
    form = WantForm(request.POST)
    form.full_clean()
    return form.cleaned_data["quantity"], form


def _terms_of(name: str) -> Callable[..., Terms | HttpResponseBase]:
    def terms(request: HttpRequest, item: str) -> Terms | HttpResponseBase:
        plan = shop.plan
        plan.terms_asked += 1
        if plan.terms_asked == 1:
            plan.at_terms()
        elif plan.in_between in MOVES:
            shop.prices[item] += MOVES[plan.in_between] * (plan.terms_asked == 2)
        elif plan.in_between == "gone":
            return HttpResponse("gone", status=410)
        quantity, form = _values(request)
        amount = shop.prices[item] * quantity
        values = {"item": item, "quantity": quantity, "amount": amount}
        needed = shop.needed and amount >= shop.limit
        return Terms(values, needed=needed, same_action=SAME_ACTION[name](item), content=form)

    return terms


def allowed(request: HttpRequest, item: str) -> HttpResponseBase | None:
    """The site's right, of everybody."""
    return HttpResponse("forbidden", status=404) if item == shop.forbidden else None


def _happen(operation: CurrentOperation, *, outside: bool) -> None:
    terms = json.dumps(dict(operation.terms), sort_keys=True)
    effect = Happened(
        operation.action, operation.operation_id or "", operation.revision or "", terms
    )
    if outside:
        shop.outside.append(effect)
    else:
        Effect.objects.create(kind="model", key=json.dumps(effect[1:]))


def _end_before() -> None:
    shop.plan.before()
    match shop.plan.ending:
        case "error before":
            message = "A bug."
            raise RuntimeError(message)
        case "not performed":
            raise NotPerformed(HttpResponse("not performed", status=409))
        case "sold out":
            raise SoldOut
        case "killed before":
            shop.is_dead = True
            raise Killed


def _end_after(*, outside: bool) -> HttpResponseBase | None:
    shop.plan.after()
    match shop.plan.ending:
        case "error after":
            message = "A bug after the effect."
            raise RuntimeError(message)
        case "killed after":
            shop.is_dead = True
            raise Killed
        case "killed at the end":
            shop.is_dead = True
        case "refused":
            return HttpResponse("refused", status=409)
        case "login":
            return HttpResponseRedirect("/accounts/login/?next=/")
        case "marked" if not outside:
            transaction.set_rollback(True)
    return None


def _view_of(name: str, answer: Callable[[CurrentOperation], HttpResponseBase]) -> Any:
    outside = ACTIONS[name].effects == "external"

    def view(request: HttpRequest, item: str) -> HttpResponseBase:
        operation = operation_of(request)
        if operation.operation_id is None:
            _happen(operation, outside=outside)
            return answer(operation)
        _end_before()
        _happen(operation, outside=outside)
        return _end_after(outside=outside) or answer(operation)

    return view


def _to_browsers(operation: CurrentOperation) -> HttpResponseBase:
    return HttpResponseRedirect("/done/")


def _to_agents(operation: CurrentOperation) -> HttpResponseBase:
    return JsonResponse({"did": operation.operation_id}, status=201)


def done(request: HttpRequest) -> HttpResponse:
    """Say who is signed in."""
    return HttpResponse(str(request.user.pk))


urlpatterns = [
    path("poppy/", include("poppy_operations.urls")),
    path("accounts/login/", LoginView.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(next_page="/done/"), name="logout"),
    path("done/", done),
]
for _name, _action in ACTIONS.items():
    _terms = _terms_of(_name)
    urlpatterns += [
        path(
            f"web/{_name}/<str:item>/",
            _action.view(terms=_terms, allowed=allowed, ignore=["trace"])(
                _view_of(_name, _to_browsers)
            ),
        ),
        path(
            f"api/{_name}/<str:item>/",
            _action.api(terms=_terms, allowed=allowed, ignore=["trace"])(
                _view_of(_name, _to_agents)
            ),
        ),
    ]
