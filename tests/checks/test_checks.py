"""The system checks, each run as Django runs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.middleware import (
    AuthenticationMiddleware,
    PersistentRemoteUserMiddleware,
)
from django.contrib.sessions.backends import cache, signed_cookies
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.checks import CheckMessage, Error, run_checks
from django.core.checks.registry import registry as django_registry
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views import View

from poppy_operations import Action, Company, Performed, Terms
from poppy_operations.checks import CHECKS, DATABASE_CHECKS, DEPLOYMENT_CHECKS
from poppy_operations.checks.messages import MESSAGES
from poppy_operations.company import get_company
from poppy_operations.conf import KEYS, KINDS, conf
from poppy_operations.declarations.registry import registry
from poppy_operations.middleware import PersonalAgentMiddleware
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.tokens import TokenVerifier
from poppy_operations.sessions.verification import SessionVerifier
from tests import urls as site_urls
from tests.configuring import configure
from tests.connections import be_atomic

OURS = "poppy_operations.middleware.PersonalAgentMiddleware"
SESSIONS = "django.contrib.sessions.middleware.SessionMiddleware"
AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"
ISSUER = "https://shop.example"


def messages(*, deploy: bool = False) -> list[CheckMessage]:
    found = run_checks(tags=["security"], include_deployment_checks=deploy)
    ours = [one for one in found if str(one.id).startswith("poppy_operations.")]
    return sorted(ours, key=lambda one: str(one.id))  # Django keeps checks in no order


def found(number: str, *, deploy: bool = False) -> list[CheckMessage]:
    return [one for one in messages(deploy=deploy) if one.id == f"poppy_operations.{number}"]


@pytest.fixture(autouse=True)
def _well_configured(settings: Any) -> Iterator[None]:
    """A site without anything to complain about, for each test to break."""
    settings.POPPY_OPERATIONS = {"ISSUER": ISSUER, "TOKEN_JWKS": {"keys": []}}
    settings.SECURE_SSL_REDIRECT = True
    actions = list(registry)
    for action in actions:
        is_without_hook = action.effects == "external" and not action.reconcile_hook
        if is_without_hook or action.background:
            registry.discard(action)
    yield
    for action in list(registry):
        registry.discard(action)
    for action in actions:
        registry.add(action)


@pytest.fixture
def urlconf(settings: Any) -> Callable[..., None]:
    def use(*patterns: Any, ours: bool = True) -> None:
        included = [path("poppy/", include("poppy_operations.urls"))] if ours else []
        urls: Any = ModuleType("urls")
        urls.urlpatterns = [*included, *patterns]
        settings.ROOT_URLCONF = urls

    return use


def nobodys_terms(request: HttpRequest) -> Terms:
    return Terms({})


# The table


def test_a_site_that_is_well_configured_hears_nothing() -> None:
    assert messages(deploy=True) == []


def test_every_check_is_registered() -> None:
    assert set(CHECKS) <= set(django_registry.get_checks())
    assert not set(DEPLOYMENT_CHECKS) & set(django_registry.get_checks())
    assert set(DEPLOYMENT_CHECKS) <= set(django_registry.get_checks(include_deployment_checks=True))
    assert set(DATABASE_CHECKS) <= set(django_registry.get_checks())


def test_ids_are_unique_contiguous_and_tell_the_level() -> None:
    ids = [str(one.id) for one in MESSAGES]
    errors = [one for one in MESSAGES if isinstance(one, Error)]
    numbers = [f"E{n:03}" for n in range(1, len(errors) + 1)]
    numbers += [f"W{n:03}" for n in range(1, len(MESSAGES) - len(errors) + 1)]

    assert ids == [f"poppy_operations.{number}" for number in numbers]


def test_every_message_is_a_sentence_with_a_hint() -> None:
    for one in MESSAGES:
        assert re.search(r"[.s]$", one.msg), one.id
        assert str(one.hint).endswith((".", "s")), one.id


# Settings


@pytest.mark.parametrize("value", ["ISSUER", None, ["ISSUER"]])
def test_settings_that_are_no_dict(settings: Any, value: Any) -> None:
    settings.POPPY_OPERATIONS = value

    assert [one.id for one in messages(deploy=True)] == ["poppy_operations.E001"]


def test_no_settings_at_all(settings: Any) -> None:
    del settings.POPPY_OPERATIONS

    assert [one.id for one in messages()] == ["poppy_operations.E004", "poppy_operations.W006"]


def test_an_unknown_setting_with_the_nearest_name(settings: Any) -> None:
    configure(settings, JOIN_LIFETME=timedelta(hours=1), leeway=1, COLOUR=1)
    hints = {one.msg: one.hint for one in found("E002")}

    assert hints["POPPY_OPERATIONS has no setting JOIN_LIFETME."] == "Did you mean JOIN_LIFETIME?"
    assert hints["POPPY_OPERATIONS has no setting leeway."] == "Did you mean LEEWAY?"
    assert "ISSUER, JOIN_LIFETIME" in str(hints["POPPY_OPERATIONS has no setting COLOUR."])


def test_a_setting_whose_name_is_no_string(settings: Any) -> None:
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, 1: 2}

    assert len(found("E002")) == 1


def test_every_setting_has_a_type() -> None:
    assert KINDS.keys() == KEYS


BAD: dict[str, list[Any]] = {
    "COMPANY": [Company, ""],
    "EXTENSION_REQUIRED_STATUS": ["403", 200, 500, True],
    "ISSUER": [1, "https://shop.example ", "https://shop.example\n"],
    "JOIN_LIFETIME": [3600, timedelta(0), timedelta(days=3651), timedelta.max, None],
    "QUEUE_LEASE": [900, timedelta(seconds=59), timedelta.max, None],
    "JOIN_STAFF": ["no", 0, None],
    "JOIN_WITHOUT_FETCH_METADATA": ["yes"],
    "LEEWAY": [30, timedelta(seconds=-1), timedelta(minutes=6)],
    "OPEN_REVISIONS": [0, 1.5, "50", True],
    "QUEUE": [print, None],
    "RECORD_STATEMENTS": [1],
    "REQUIRE_ATH": ["True"],
    "STORED_BODY_BYTES": [-1, 4 * 1024 * 1024 + 1, None],
    "TOKEN_AUDIENCE": [["a"]],
    "TOKEN_ISSUER": [b"a", ""],
    "TOKEN_JWKS": [[], {}, {"keys": "k"}, "http://issuer.example/jwks", "keys.json", 7],
}
GOOD: dict[str, list[Any]] = {
    "COMPANY": ["poppy_operations.company.Company"],
    "EXTENSION_REQUIRED_STATUS": [400, 499],
    "ISSUER": [ISSUER, "http://127.0.0.1:8000", "http://localhost", "http://[::1]:8000"],
    "JOIN_LIFETIME": [timedelta(seconds=1), timedelta(days=3650)],
    "QUEUE_LEASE": [timedelta(minutes=1), timedelta(days=3650)],
    "JOIN_STAFF": [True],
    "JOIN_WITHOUT_FETCH_METADATA": [True],
    "LEEWAY": [timedelta(0), timedelta(minutes=5)],
    "OPEN_REVISIONS": [1],
    "QUEUE": ["shop.tasks.enqueue"],
    "RECORD_STATEMENTS": [False],
    "REQUIRE_ATH": [True],
    "STORED_BODY_BYTES": [0, 4 * 1024 * 1024],
    "TOKEN_AUDIENCE": [None, "shop"],
    "TOKEN_ISSUER": [None, "https://issuer.example"],
    "TOKEN_JWKS": [{"keys": []}, "https://issuer.example/jwks", "http://127.0.0.1:1/jwks"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("key", "value"), [(key, one) for key in BAD for one in BAD[key]])
def test_an_ill_typed_setting(settings: Any, key: str, value: Any) -> None:
    configure(settings, **{key: value})

    assert [one.msg.split("'")[1] for one in found("E003")] == [key]
    assert repr(type(value).__name__).strip("'") in str(found("E003")[0].hint)


@pytest.mark.parametrize(("key", "value"), [(key, one) for key in BAD for one in BAD[key]])
def test_an_ill_typed_setting_is_refused_when_it_is_read(
    settings: Any, key: str, value: Any
) -> None:
    """A server makes no checks."""
    configure(settings, **{key: value})

    if key == "TOKEN_JWKS" and isinstance(value, str | dict):
        assert conf.token_jwks == value  # no token is valid with it
        return
    with pytest.raises(ImproperlyConfigured, match=rf"POPPY_OPERATIONS\['{key}'\] should be "):
        getattr(conf, key.lower())


def test_settings_that_are_no_dict_are_refused_when_they_are_read(settings: Any) -> None:
    settings.POPPY_OPERATIONS = ["ISSUER"]

    with pytest.raises(ImproperlyConfigured, match="POPPY_OPERATIONS is not a dict"):
        _ = conf.company


@pytest.mark.parametrize(("key", "value"), [(key, one) for key in GOOD for one in GOOD[key]])
def test_a_well_typed_setting(settings: Any, key: str, value: Any) -> None:
    configure(settings, **{key: value})

    assert not messages()


@pytest.mark.parametrize("values", [{}, {"ISSUER": ""}, {"ISSUER": None}])
def test_a_missing_issuer(settings: Any, values: dict[str, Any]) -> None:
    settings.POPPY_OPERATIONS = {"TOKEN_JWKS": {"keys": []}, **values}

    assert [one.id for one in messages(deploy=True)] == ["poppy_operations.E004"]


@pytest.mark.parametrize(
    "issuer", ["shop.example", "http://shop.example", "ftp://shop.example", "https://", "https://["]
)
def test_an_issuer_that_is_no_https_url(settings: Any, issuer: str) -> None:
    configure(settings, ISSUER=issuer)

    assert len(found("E005")) == 1


def test_plain_http_is_for_development_alone(settings: Any) -> None:
    configure(settings, ISSUER="http://shop.example:8000")
    settings.DEBUG = True

    assert not messages()
    assert len(found("E006", deploy=True)) == 1
    configure(settings, ISSUER="HTTP://127.0.0.1:8000")
    assert len(found("E006", deploy=True)) == 1


def test_a_deployment_in_which_nobody_thought_of_https(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = False
    assert not found("W007")
    assert len(found("W007", deploy=True)) == 1

    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert not found("W007", deploy=True)


# The Company


class Fitting(Company):
    """Overrides hooks as one may."""

    def __init__(self, colour: str = "red") -> None:
        self.colour = colour

    def is_agent(self, *args: Any, **kwargs: Any) -> bool:
        return False

    @staticmethod
    def account_of(user: Any) -> str | None:
        return None

    @classmethod
    def user_of(cls, account: str) -> None:
        return None

    def challenge(self, request: Any, operation_id: Any = None, realm: str = "shop") -> str:
        return "Bearer"

    def hook_of_its_own(self, anything: Any) -> None:
        """Nothing of ours."""


class NeedsArguments(Company):
    def __init__(self, colour: str) -> None:
        self.colour = colour


class TakesTooFew(Company):
    def decline(self, operation: Any) -> None:  # type: ignore[override]  # that is the point
        return None


class TakesTooMany(Company):
    def session_for(self, request: Any, token: Any) -> Any:  # type: ignore[override]  # likewise
        return None


class NeedsWhatIsOptional(Company):
    def challenge(self, request: Any, operation_id: Any) -> str:  # type: ignore[override]  # likewise
        return "Bearer"


class ByNameOnly(Company):
    def user_of(self, *, account: str) -> None:  # type: ignore[override]  # likewise
        return None


class Async(Company):
    async def undeclared(self, request: Any, action: Any) -> Any:  # type: ignore[override]  # likewise
        return None


class Yielding(Company):
    def decline(self, operation: Any, approval: Any) -> Any:
        yield None


class AwaitedCall:
    async def __call__(self, user: Any) -> None: ...


class AsyncObject(Company):
    account_of = AwaitedCall()  # type: ignore[assignment]  # likewise


class NotAMethod(Company):
    extra_members = {"colour": "red"}  # type: ignore[assignment]  # noqa: RUF012  likewise


def use_company(settings: Any, name: str) -> None:
    configure(settings, COMPANY=f"tests.checks.test_checks.{name}")


@pytest.mark.parametrize(
    "name", ["shop.nowhere.Company", "nowhere", "tests.checks.test_checks.Nobody"]
)
def test_a_company_that_cannot_be_imported(settings: Any, name: str) -> None:
    configure(settings, COMPANY=name)

    assert len(found("E011")) == 1
    assert name.split(".")[0] in found("E011")[0].msg


@pytest.mark.parametrize("name", ["ISSUER", "use_company", "ModuleType"])
def test_a_company_that_is_none(settings: Any, name: str) -> None:
    use_company(settings, name)

    assert len(found("E012")) == 1


def test_a_company_that_fits(settings: Any) -> None:
    use_company(settings, "Fitting")

    assert not messages()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "hook", "call"),
    [
        ("NeedsArguments", "__init__", "Company()"),
        ("TakesTooFew", "decline", "decline(operation, approval)"),
        ("TakesTooMany", "session_for", "session_for(request)"),
        ("NeedsWhatIsOptional", "challenge", "challenge(request, operation_id)"),
        ("ByNameOnly", "user_of", "user_of(account)"),
        ("Async", "undeclared", "undeclared(request, action)"),
        ("NotAMethod", "extra_members", "extra_members(request, interface)"),
        ("Yielding", "decline", "decline(operation, approval)"),
        ("AsyncObject", "account_of", "account_of(user)"),
    ],
)
def test_a_company_with_a_hook_that_cannot_be_called(
    settings: Any, name: str, hook: str, call: str
) -> None:
    use_company(settings, name)

    assert len(found("E013")) == 1
    assert f"tests.checks.test_checks.{name} overrides {hook} " in found("E013")[0].msg
    assert f" {call}," in str(found("E013")[0].hint)


class AsyncTokens(TokenVerifier):
    async def verify(self, token: Any, *, now: Any = None) -> Any:  # type: ignore[override]
        return None


class TokensOfAnotherCall(TokenVerifier):
    def verify(self, token: str) -> Any:  # type: ignore[override]  # that is the point
        return None


class TokensThatNeedMore(TokenVerifier):
    def __init__(self, url: str) -> None:
        self.url = url


class FittingTokens(TokenVerifier):
    def verify(self, token: str, *, now: Any = None, url: str = "") -> Any:
        return None


@pytest.mark.parametrize(
    ("verifier", "text"),
    [
        (AsyncTokens, "token_verifier overrides verify in a way that the app cannot call."),
        (TokensOfAnotherCall, "token_verifier overrides verify in a way"),
        (TokensThatNeedMore, "token_verifier overrides __init__ in a way"),
        (TokenVerifier(), "is not a class that is derived from poppy_operations.sessions.tokens."),
        (SessionVerifier, "is not a class that is derived from"),
        (None, "is not a class that is derived from"),
        (FittingTokens, None),
        (TokenVerifier, None),
    ],
    ids=range(8),
)
def test_the_verifiers_of_a_company_are_looked_at_like_its_hooks(
    settings: Any, monkeypatch: pytest.MonkeyPatch, verifier: Any, text: str | None
) -> None:
    use_company(settings, "Fitting")
    monkeypatch.setattr(Fitting, "token_verifier", verifier)

    said = [one.msg for one in messages()]
    assert [text in one for one in said if text is not None] == [True] * bool(text)
    assert len(said) == bool(text)


class Misspelt(Company):
    def declines(self, operation: Any, approval: Any) -> Any: ...

    def acount_of(self, user: Any) -> Any: ...

    def account(self) -> Any: ...

    declin = "a text"


def test_a_method_that_looks_like_a_hook_and_is_none(settings: Any) -> None:
    use_company(settings, "Misspelt")

    assert [one.msg.partition(" has a method ")[2] for one in found("W010")] == [
        "acount_of, which looks like the hook account_of.",
        "declines, which looks like the hook decline.",
    ]


@pytest.mark.parametrize("name", ["use_company", "ISSUER", "ModuleType"])
def test_a_company_that_is_none_is_refused_when_it_is_used(settings: Any, name: str) -> None:
    use_company(settings, name)

    with pytest.raises(
        ImproperlyConfigured, match=f"'COMPANY'. is tests.checks.test_checks.{name}, wh"
    ):
        get_company()


class OwnTokens(Company):
    class token_verifier(TokenVerifier):  # noqa: N801  the name of the attribute
        """Introspection, say."""


class OwnSessions(Company):
    def session_for(self, request: HttpRequest) -> Session:
        raise NotImplementedError


def test_access_tokens_that_nothing_can_verify(settings: Any) -> None:
    configure(settings, TOKEN_JWKS=None)
    assert len(found("W006")) == 1

    for own in ("OwnTokens", "OwnSessions"):
        use_company(settings, own)
        assert not messages()


# Middleware, URLs, Django sessions


class OurSubclass(PersonalAgentMiddleware):
    """A site's own."""


class SessionsSubclass(SessionMiddleware):
    """A site's own."""


def test_the_middleware_is_missing(settings: Any) -> None:
    settings.MIDDLEWARE = [SESSIONS, AUTHENTICATION]

    assert [one.id for one in messages()] == ["poppy_operations.E007"]


@pytest.mark.parametrize(
    ("middleware", "others"),
    [
        ([OURS, SESSIONS, AUTHENTICATION], ["SessionMiddleware", "AuthenticationMiddleware"]),
        ([SESSIONS, OURS, AUTHENTICATION], ["AuthenticationMiddleware"]),
        ([SESSIONS, AUTHENTICATION, OURS], []),
        ([SESSIONS, OURS], []),
    ],
)
def test_the_middleware_is_misplaced(
    settings: Any, middleware: list[str], others: list[str]
) -> None:
    settings.MIDDLEWARE = middleware

    assert [one.msg.split()[3] for one in messages()] == others
    assert {one.id for one in messages()} <= {"poppy_operations.E008"}


def test_subclasses_serve_as_well_and_functions_are_passed_over(settings: Any) -> None:
    settings.MIDDLEWARE = [
        "nowhere.middleware",
        "tests.checks.test_checks.nobodys_terms",
        "tests.checks.test_checks.SessionsSubclass",
        AUTHENTICATION,
        "tests.checks.test_checks.OurSubclass",
    ]

    assert not messages()
    assert AuthenticationMiddleware.__name__ in AUTHENTICATION


class TenantSessionMiddleware:
    """A package's own, which derives from nothing of Django's."""


def session_middleware(get_response: Any) -> Any:
    """A site's own, which is a function."""


class SessionTimeoutMiddleware:
    """Something that has to do with sessions, and gives none."""


@pytest.mark.parametrize("name", ["TenantSessionMiddleware", "session_middleware"])
def test_session_middleware_that_is_written_anew_is_known_by_its_name(
    settings: Any, name: str
) -> None:
    anew = f"tests.checks.test_checks.{name}"
    settings.MIDDLEWARE = [anew, AUTHENTICATION, OURS]
    assert not messages()

    settings.MIDDLEWARE = [AUTHENTICATION, OURS, anew]
    assert [one.id for one in messages()] == ["poppy_operations.E008"]


def test_middleware_that_only_uses_sessions_gives_none(settings: Any) -> None:
    settings.MIDDLEWARE = [
        "tests.checks.test_checks.SessionTimeoutMiddleware",
        AUTHENTICATION,
        OURS,
    ]

    assert [one.id for one in messages()] == ["poppy_operations.E009"]


def test_django_sessions_are_needed_for_the_website_alone(settings: Any) -> None:
    settings.MIDDLEWARE = [AUTHENTICATION, OURS]
    assert [one.id for one in messages()] == ["poppy_operations.E009"]

    for action in registry:
        registry.discard(action)
    assert not messages()


def test_the_urls_are_needed_for_the_website_alone(urlconf: Callable[..., None]) -> None:
    urlconf(ours=False)
    assert [one.id for one in messages()] == ["poppy_operations.E010"]

    for action in registry:
        registry.discard(action)
    assert not messages()


def test_a_process_that_serves_nothing_needs_no_urls(settings: Any) -> None:
    settings.ROOT_URLCONF = None
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"

    assert not messages()


@pytest.mark.parametrize("queue", ["nowhere.enqueue", "tests.checks.test_checks.nobody", "nowhere"])
def test_a_queue_that_cannot_be_imported_for_an_action_in_the_background(
    settings: Any, monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    configure(settings, QUEUE=queue)
    assert not found("E016")  # nothing runs in the background

    action = next(iter(registry))
    monkeypatch.setattr(action, "background", True)
    (one,) = found("E016")
    assert action.name in one.msg
    assert f"its queue {queue} cannot be used" in one.msg


def test_of_settings_that_are_no_dict_the_queue_is_no_second_mistake(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next(iter(registry)), "background", True)
    settings.POPPY_OPERATIONS = "QUEUE"

    assert [one.id for one in messages(deploy=True)] == ["poppy_operations.E001"]


def test_a_queue_that_is_no_function(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next(iter(registry)), "background", True)
    assert not found("E016")  # the default: Celery is installed here

    configure(settings, QUEUE="tests.checks.test_checks.__doc__")
    assert (
        "its queue tests.checks.test_checks.__doc__ cannot be used: It is a function, not "
        in found("E016")[0].msg
    )


class SessionStore(signed_cookies.SessionStore):
    """A site's own."""


@pytest.mark.parametrize(
    "engine", ["django.contrib.sessions.backends.signed_cookies", "tests.checks.test_checks"]
)
def test_django_sessions_in_signed_cookies_beside_the_join(
    settings: Any, urlconf: Callable[..., None], engine: str
) -> None:
    settings.SESSION_ENGINE = engine
    assert [one.id for one in messages()] == ["poppy_operations.E015"]

    urlconf(ours=False)
    assert not found("E015")


@pytest.mark.parametrize(
    ("engine", "number"),
    [("cache", 1), ("cached_db", 0), ("db", 0), ("file", 0)],
)
def test_django_sessions_in_a_cache_alone(settings: Any, engine: str, number: int) -> None:
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"

    assert len(found("W004")) == len(messages()) == number
    assert cache.SessionStore


class SignsOn(PersistentRemoteUserMiddleware):
    """A site's own."""

    header = "HTTP_X_CERTIFICATE"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("django.contrib.auth.middleware.RemoteUserMiddleware", "RemoteUserMiddleware"),
        (
            "django.contrib.auth.middleware.PersistentRemoteUserMiddleware",
            "PersistentRemoteUserMiddleware",
        ),
        ("tests.checks.test_checks.SignsOn", "SignsOn"),
    ],
)
def test_sign_on_that_asks_nobody_beside_the_join(
    settings: Any, urlconf: Callable[..., None], path: str, name: str
) -> None:
    assert not found("W009")
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, path]
    (warning,) = messages()
    assert warning.id == "poppy_operations.W009"
    assert warning.msg.startswith(f"{name} signs browsers in ")

    urlconf(ours=False)
    assert not found("W009")


# The database


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Say how the database of our tables is set up; it is not connected to."""
    connection: Any = connections["default"]

    def use(*, vendor: str = "sqlite", in_memory: bool = False, **values: Any) -> None:
        monkeypatch.setattr(connection, "vendor", vendor)
        monkeypatch.setattr(connection, "is_in_memory_db", lambda: in_memory, raising=False)
        new = {**connection.settings_dict, "OPTIONS": {}, **values}
        monkeypatch.setattr(connection, "settings_dict", new)

    return use


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, ["W001", "W002"]),
        ({"transaction_mode": "DEFERRED", "timeout": 20}, ["W001"]),
        ({"transaction_mode": "IMMEDIATE"}, ["W002"]),
        ({"transaction_mode": "exclusive", "timeout": 20}, []),
    ],
)
def test_an_sqlite_file_that_turns_writers_away(
    database: Callable[..., None], options: dict[str, Any], ids: list[str]
) -> None:
    database(OPTIONS=options)

    assert [str(one.id)[-4:] for one in messages()] == ids


def test_other_databases_and_sqlites_memory_have_no_such_options(
    database: Callable[..., None],
) -> None:
    database(in_memory=True)
    assert not messages()

    database(vendor="postgresql")
    assert not messages()


def test_a_database_that_commits_nothing_by_itself(database: Callable[..., None]) -> None:
    database(vendor="postgresql", AUTOCOMMIT=False)

    assert [one.id for one in messages()] == ["poppy_operations.E014"]


# Views and actions


async def aview(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


class AsyncClass(View):
    async def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()

    async def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse()


def test_async_gated_views_under_atomic_requests(
    urlconf: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    action = Action("checks.async", effects="database")
    gated = action.view(terms=nobodys_terms)(aview)
    gated_class = type(
        "GatedClass",
        (AsyncClass,),
        {"post": action.view(terms=nobodys_terms)(AsyncClass.post)},
    )
    nested = [path("class/", gated_class.as_view()), path("plain/", aview)]
    urlconf(
        path("gated/", gated),
        path("nested/", include(nested)),
        path("allowed/", transaction.non_atomic_requests(action.view(terms=nobodys_terms)(aview))),
        path("sync/", action.view(terms=nobodys_terms)(view)),
        path("plain/", aview),
    )
    assert not messages()

    be_atomic(monkeypatch)
    assert [one.msg.split()[3] for one in found("W003")] == ["aview", "GatedClass"]
    assert len(messages()) == 2


def test_an_external_action_that_nobody_can_find_out_about() -> None:
    action = Action("checks.refund", effects="external")
    assert [one.msg for one in messages()] == [
        "The external action checks.refund has no reconcile hook."
    ]

    action.reconcile(lambda operation: Performed())
    assert not messages()


# What need not be


def test_django_rest_framework_need_not_be_an_installed_app(settings: Any) -> None:
    apps = [app for app in settings.INSTALLED_APPS if app != "rest_framework"]
    settings.INSTALLED_APPS = apps

    assert not messages(deploy=True)


def test_time_zones_need_not_be_used(settings: Any) -> None:
    settings.USE_TZ = False

    assert not messages(deploy=True)


def test_the_tests_own_urls_are_walked_through() -> None:
    assert site_urls.urlpatterns
    assert not messages()
