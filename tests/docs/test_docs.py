"""The documentation says what there is, all of it and nothing else, and its code runs."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from django.test import Client
from django.urls import path

from poppy_operations import Action, Company
from poppy_operations.checks.messages import MESSAGES
from poppy_operations.conf import KEYS, conf
from poppy_operations.declarations.registry import registry
from poppy_operations.protocol.errors import STATUSES
from tests.agents import HOST, SessionOf, reference
from tests.source import ROOT
from tests.urls import urlpatterns

DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
OURS = [
    page for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))] if "_build" not in page.parts
]


def sections(page: str) -> dict[str, str]:
    """What stands under each heading of the second level."""
    parts = re.split(r"^## (.+)$", (REFERENCE / f"{page}.md").read_text("utf-8"), flags=re.M)
    headings = parts[1::2]
    assert len(headings) == len(set(headings)), "a heading twice"
    return dict(zip(headings, parts[2::2], strict=True))


def slug(heading: str) -> str:
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def code(file: Path) -> list[str]:
    return re.findall(r"^```python\n(.+?)^```", file.read_text("utf-8"), flags=re.M | re.S)


# Code and documentation, both ways


def test_every_setting_is_documented_and_every_documented_one_exists() -> None:
    assert sections("settings").keys() == KEYS


def test_the_documented_defaults_are_those_of_the_code(settings: Any) -> None:
    settings.POPPY_OPERATIONS = {"ISSUER": "https://shop.example"}
    for key, text in sections("settings").items():
        stated = re.search(r"^Default: (`(?P<code>.+)`|the issuer)\.$", text, flags=re.M)
        if key == "ISSUER":
            assert stated is None
            continue
        assert stated is not None, key
        expression = stated["code"] or "conf.issuer"
        expected = eval(expression, {"timedelta": timedelta, "conf": conf})
        assert getattr(conf, key.lower()) == expected, key


def test_every_check_is_documented_with_its_message() -> None:
    documented = sections("checks")

    assert list(documented) == [one.id for one in MESSAGES]
    for one in MESSAGES:
        message = re.sub(r"%\(\w+\)s", "…", one.msg)
        assert f"> {message}\n" in documented[str(one.id)], one.id


def test_every_hook_is_documented_with_its_parameters() -> None:
    hooks = []
    for name, hook in vars(Company).items():
        if isinstance(hook, FunctionType):
            parameters = list(inspect.signature(hook).parameters)[1:]
            hooks.append(f"{name}({', '.join(parameters)})")
        elif not name.startswith("_"):
            hooks.append(name)

    assert sorted(sections("hooks")) == sorted(hooks)


def test_every_error_is_documented_with_its_status() -> None:
    documented = sections("errors")

    assert documented.keys() == STATUSES.keys()
    for error, status in STATUSES.items():
        assert f"**Status** {status}" in documented[error], error
        assert "**What happened:**" in documented[error], error
        assert "**Who caused it:**" in documented[error], error
        assert "**What to do:**" in documented[error], error


def test_the_readme_tells_what_is_not_built_yet() -> None:
    later = re.search(r"^(.+) come later", (ROOT / "README.md").read_text("utf-8"), flags=re.M)
    doors = {"MCP": "tool", "conversations": "in_conversation", "APIs": "api"}

    for name, door in doors.items():
        is_promised = later is not None and name in later[1]
        assert is_promised is not hasattr(Action, door), name


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(file: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", file.read_text("utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        page, _, anchor = target.partition("#")
        linked = (file.parent / page).resolve() if page else file
        assert linked.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), flags=re.M)
            assert anchor in {slug(heading) for heading in headings}, target


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_every_example_is_python(file: Path) -> None:
    for example in code(file):
        compile(example, file.name, "exec")


# The README's example


@pytest.fixture
def shop(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """The site of the README, with its own part of it, and what was cancelled there."""
    cancelled: list[dict[str, Any]] = []
    package, orders, urls = (ModuleType(name) for name in ("shop", "shop.orders", "shop.urls"))
    made: Any = {
        "cancellation_fee": lambda user, order_id: Decimal("5.00"),
        "cancel": lambda terms: cancelled.append(dict(terms)),
    }
    vars(orders).update(made)
    vars(package)["orders"] = orders
    monkeypatch.setitem(sys.modules, "shop", package)
    monkeypatch.setitem(sys.modules, "shop.orders", orders)
    (example,) = code(ROOT / "README.md")
    site: dict[str, Any] = {"__name__": "shop.views"}
    exec(compile(example, "README.md", "exec"), site)
    own = path("orders/<str:order_id>/cancel/", site["cancel_order"])
    vars(urls)["urlpatterns"] = [own, *urlpatterns]
    settings.ROOT_URLCONF = urls
    yield cancelled
    registry.discard(site["cancellation"])


EXAMPLE = "/orders/o1/cancel/"
TERMS = {"order_id": "o1", "fee": {"amount": "5.00", "currency": "USD"}}


def test_the_readmes_example_lets_ordinary_visitors_pass(
    shop: list[dict[str, Any]], alice: Any
) -> None:
    visitor = Client(headers={"host": HOST})
    assert visitor.post(EXAMPLE)["Location"].startswith("/accounts/login/")

    visitor.force_login(alice)
    assert visitor.post(EXAMPLE)["Location"] == "/"
    assert shop == [TERMS]


def test_the_readmes_example_waits_for_an_agents_approval_and_runs_once(
    shop: list[dict[str, Any]], signed_in: SessionOf
) -> None:
    browser = signed_in.browser()
    asked = browser.post(EXAMPLE)
    assert asked.status_code == 403
    sid, ref = reference(asked)
    assert sid == signed_in.sid
    assert shop == []

    operation = signed_in.look_up(ref)
    assert operation["terms"] == TERMS
    assert operation["summary"] == "Cancel order o1 for a fee of $5.00."
    signed_in.approve(ref)
    assert shop == []

    assert browser.post(EXAMPLE)["Location"] == "/"
    assert shop == [TERMS]
    assert signed_in.status(ref) == "performed"


def test_the_readmes_example_runs_without_django_rest_framework_among_the_apps(
    shop: list[dict[str, Any]], signed_in: SessionOf, settings: Any
) -> None:
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "rest_framework"]
    browser = signed_in.browser()
    _, ref = reference(browser.post(EXAMPLE))
    signed_in.approve(ref)

    assert browser.post(EXAMPLE).status_code == 302
    assert signed_in.status(ref) == "performed"
    assert shop == [TERMS]
