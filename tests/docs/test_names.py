"""The reference names what is public: all of it, and nothing that is not there."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.dispatch import Signal
from django.urls import URLPattern

import poppy_operations
from poppy_operations import Action, ApprovedOperation, CurrentOperation, exceptions, signals, urls
from poppy_operations.testing import agents as testing
from tests.docs.pages import DOCS, blocks, headings, pages, prose
from tests.source import PACKAGE, ROOT

REFERENCE = DOCS / "reference"
DOTTED = {
    name: headings(REFERENCE / f"{name}.md") for name in ("functions", "requests", "sessions")
}
# What commands and tasks make of results, and what the gate shares with them.
NOT_FOR_SITES = {"answer_of", "as_json", "counts", "is_secure"}


def public(module: Any) -> set[str]:
    """The functions and classes that a module defines for others."""
    return {
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or inspect.isclass(member))
        and f"{member.__module__}.".startswith(f"{module.__name__}.")
    }


def of_the_package() -> set[str]:
    """The names of the package itself that a page has a dotted heading for."""
    dotted = {name.partition("poppy_operations.")[2] for page in DOTTED.values() for name in page}
    return {name for name in dotted if name and "." not in name}


def test_every_public_name_is_documented_and_every_documented_one_is_public() -> None:
    documented = set(headings(REFERENCE / "actions.md")) | of_the_package()
    assert documented == set(poppy_operations.__all__)
    for name in poppy_operations.__all__:
        assert getattr(poppy_operations, name).__name__ == name


def test_every_exception_is_documented_and_every_documented_one_is_public() -> None:
    assert set(headings(REFERENCE / "exceptions.md")) == set(exceptions.__all__)
    for name in exceptions.__all__:
        assert issubclass(getattr(exceptions, name), Exception)


@pytest.mark.parametrize("module", [poppy_operations, exceptions])
def test_what_a_public_module_does_not_have_is_an_error_of_that_module(module: Any) -> None:
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'no'"):
        _ = module.no


PUBLIC_MODULES = re.findall(
    r"^\| `(poppy_operations[\w.]*)` \|",
    (REFERENCE / "stability.md").read_text("utf-8"),
    flags=re.M,
)


def test_every_module_with_a_documented_name_is_public_and_no_other_is() -> None:
    documented = {
        name.rpartition(".")[0]
        for page in DOTTED.values()
        for name in page
        if name.startswith("poppy_operations.")
    }
    on_pages_of_their_own = {"exceptions", "models", "signals", "testing.agents"}
    documented |= {f"poppy_operations.{name}" for name in on_pages_of_their_own}
    assert documented == set(PUBLIC_MODULES)
    for name in PUBLIC_MODULES:
        assert import_module(name)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_of_a_page_imports_from_public_modules_alone(page: Path) -> None:
    code = "\n".join(block.text for block in blocks(page, "python"))
    imported = set(re.findall(r"^\s*from (poppy_operations[\w.]*) import", code, flags=re.M))
    assert imported <= {*PUBLIC_MODULES, "poppy_operations.urls"}


@pytest.mark.parametrize(
    "name",
    [
        "Action",
        "ApprovalStatement",
        "Browser",
        "CurrentOperation",
        "Decline",
        "Owner",
        "Performed",
        "Terms",
    ],
)
def test_every_argument_is_documented_and_every_documented_one_exists(name: str) -> None:
    section = {**headings(REFERENCE / "actions.md"), **DOTTED["requests"]}.get(
        name, DOTTED["requests"].get(f"poppy_operations.{name}", "")
    )
    documented = re.findall(r"^\| `(\w+)` \|", section, flags=re.M)
    declared = getattr(poppy_operations, name)
    assert is_dataclass(declared)
    assert documented == [field.name for field in fields(declared) if field.init]


def test_every_method_of_an_action_is_documented_with_its_arguments() -> None:
    documented = headings(REFERENCE / "actions.md", level=3)
    methods = dict(inspect.getmembers(Action, inspect.isfunction))
    assert set(documented) == {name for name in methods if not name.startswith("_")}
    for name, text in documented.items():
        for parameter in list(inspect.signature(methods[name]).parameters)[1:]:
            assert parameter in text or parameter in {"hook", "target"}, (name, parameter)


def test_an_operation_has_no_other_members() -> None:
    members = {name for name in vars(CurrentOperation) if not name.startswith("_")}
    assert members - {field.name for field in fields(CurrentOperation)} == {"without_id"}
    assert {field.name for field in fields(ApprovedOperation)} == {
        field.name for field in fields(CurrentOperation)
    }


def test_every_fact_of_a_request_is_documented() -> None:
    section = DOTTED["requests"]["poppy_operations.RequestFacts"]
    facts = {name for name in vars(poppy_operations.RequestFacts) if not name.startswith("_")}
    assert set(re.findall(r"^\| `(\w+)` \|", section, flags=re.M)) == facts


@pytest.mark.parametrize("page", DOTTED)
def test_every_dotted_name_can_be_imported(page: str) -> None:
    for name in DOTTED[page]:
        module, _, own = name.rpartition(".")
        if module != "request":
            assert hasattr(import_module(module), own), name


@pytest.mark.parametrize("module", ["maintenance", "background", "advertising"])
def test_every_function_for_sites_is_documented(module: str) -> None:
    found = public(import_module(f"poppy_operations.{module}")) - NOT_FOR_SITES
    functions = {name for name in found if name[0].islower()}
    dotted = f"poppy_operations.{module}."
    documented = {
        name.removeprefix(dotted) for name in DOTTED["functions"] if name.startswith(dotted)
    }
    assert documented == functions


@pytest.mark.parametrize("dotted", DOTTED["functions"])
def test_every_function_is_documented_with_its_signature(dotted: str) -> None:
    module, _, own = dotted.rpartition(".")
    signature = inspect.signature(getattr(import_module(module), own))
    nothing = inspect.Parameter.empty
    bare = [one.replace(annotation=nothing) for one in signature.parameters.values()]
    declared = signature.replace(parameters=bare, return_annotation=nothing)
    documented = re.match(r"\s*`(.+?)`", DOTTED["functions"][dotted])
    assert documented is not None
    assert documented[1] == f"{own}{declared}".replace("'", '"')


def test_every_reason_to_refuse_a_session_is_public() -> None:
    reasons = public(import_module("poppy_operations.sessions.refusals"))
    assert reasons <= set(exceptions.__all__)


def test_every_class_for_django_rest_framework_is_documented() -> None:
    module = import_module("poppy_operations.rest_framework")
    names = {name for name, member in vars(module).items() if inspect.isclass(member)}
    dotted = "poppy_operations.rest_framework."
    documented = {
        name.removeprefix(dotted) for name in DOTTED["requests"] if name.startswith(dotted)
    }
    assert documented == {*names, "schema.AutoSchema"}


@pytest.mark.parametrize(
    "dotted",
    [
        "poppy_operations.Session",
        "poppy_operations.sessions.tokens.AccessToken",
        "poppy_operations.sessions.tokens.TokenVerifier",
        "poppy_operations.sessions.verification.SessionVerifier",
    ],
)
def test_every_member_of_a_class_is_documented(dotted: str) -> None:
    module, _, own = dotted.rpartition(".")
    cls = getattr(import_module(module), own)
    named = [field.name for field in fields(cls)] if is_dataclass(cls) else []
    steps = [name for name, member in vars(cls).items() if inspect.isfunction(member)]
    for name in {*named, *steps} - {"verify_headers"}:
        assert name.startswith("_") or f"`{name}" in DOTTED["sessions"][dotted], name


def test_every_signal_is_documented_with_what_it_is_sent_with() -> None:
    sent = {name for name, member in vars(signals).items() if isinstance(member, Signal)}
    documented = headings(REFERENCE / "signals.md")
    assert set(documented) == sent
    source = "\n".join(path.read_text("utf-8") for path in (PACKAGE / "lifecycle").glob("*.py"))
    for name, text in documented.items():
        calls = re.findall(rf"tell\(\s*{name},(.+?)\)$", source, flags=re.M | re.S)
        assert calls, name
        for call in calls:
            for argument in re.findall(r"(\w+)=", call):
                assert argument == "operation" or f"`{argument}`" in text, (name, argument)


def test_every_command_is_documented_with_its_options() -> None:
    folder = PACKAGE / "management" / "commands"
    commands = {path.stem for path in folder.glob("[a-z]*.py")}
    documented = headings(REFERENCE / "commands.md")
    assert set(documented) - {"Celery tasks"} == commands
    for name in commands:
        for option in re.findall(r'"(--[\w-]+)"', (folder / f"{name}.py").read_text("utf-8")):
            assert option in documented[name], (name, option)


def test_every_task_is_documented() -> None:
    source = (PACKAGE / "tasks.py").read_text("utf-8")
    declared = re.findall(r'@shared_task\(\s*name="([\w.]+)"', source)
    section = headings(REFERENCE / "commands.md")["Celery tasks"]
    assert re.findall(r"^\| `([\w.]+)` \|", section, flags=re.M) == declared


def test_every_template_is_documented() -> None:
    folder = PACKAGE / "templates"
    templates = {path.relative_to(folder).as_posix() for path in folder.rglob("*.html")}
    sections = headings(REFERENCE / "templates.md")
    admins = re.findall(r"^\| `(admin/[^`]+)` \|", sections["Pages of the admin"], flags=re.M)
    assert set(sections) - {"Pages of the admin", "Static files"} | set(admins) == templates


def test_every_static_file_is_documented() -> None:
    folder = PACKAGE / "static"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    section = headings(REFERENCE / "templates.md")["Static files"]
    assert set(re.findall(r"^\| `([^`]+)` \|", section, flags=re.M)) == files


def test_every_variable_that_is_documented_is_used_by_its_template() -> None:
    for name, text in headings(REFERENCE / "templates.md").items():
        variables = re.findall(r"^\| `(\w+)` \|", text, flags=re.M)
        used = "" if not variables else (PACKAGE / "templates" / name).read_text("utf-8")
        assert all(variable in used for variable in variables), name


def test_every_url_is_documented() -> None:
    table = (REFERENCE / "urls.md").read_text("utf-8")
    documented = re.findall(r"^\| `poppy/([^`]+)` \| `(\w+)` \|", table, flags=re.M)
    patterns = [pattern for pattern in urls.urlpatterns if isinstance(pattern, URLPattern)]
    served = {(re.sub(r"<\w+:", "<", str(one.pattern)), str(one.name)) for one in patterns}
    assert set(documented) == served


def test_everything_for_tests_is_documented() -> None:
    assert set(headings(REFERENCE / "testing.md")) == public(testing) | {"ABSENT"}
    text = (REFERENCE / "testing.md").read_text("utf-8")
    for cls in (testing.PersonalAgent, testing.TokenIssuer):
        for name in vars(cls):
            assert name.startswith("_") or f"`{name}" in text, name


def test_the_glossary_is_in_the_order_of_the_alphabet() -> None:
    words = re.findall(r"^(\S.*)\n: ", (DOCS / "glossary.md").read_text("utf-8"), flags=re.M)
    assert len(words) > 30
    assert words == sorted(words, key=str.casefold)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_one_title_and_is_reached_from_an_index(page: Path) -> None:
    titles = headings(page, level=1)
    assert len(titles) == 1
    if page.parent == ROOT or page == DOCS / "index.md":
        return
    folder = page.parent if page.name != "index.md" else page.parent.parent
    entry = page.relative_to(folder).with_suffix("").as_posix()
    index = (folder / "index.md").read_text("utf-8")
    assert re.search(rf"^{re.escape(entry)}$", index, flags=re.M), entry


def test_what_comes_later_is_said_in_one_place_only() -> None:
    saying = [page for page in pages() if re.search("come later", prose(page))]
    assert [page.name for page in saying] == ["README.md", "index.md"]
