"""An agent without its Session is known by its token, wherever in the request that is (2, 6)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, RequestFactory
from rest_framework.parsers import JSONParser

from poppy_operations import Company
from poppy_operations.company import get_company
from poppy_operations.models import Operation
from poppy_operations.sessions.credentials import shown_tokens, stray_jwts
from poppy_operations.sessions.refusals import InvalidToken, KeysUnavailable
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier
from poppy_operations.testing.agents import TokenIssuer
from tests.agents import HOST, SessionOf
from tests.api import token_site
from tests.api.token_site import Issued, issued
from tests.sessions.conftest import session_of as verified_session_of

Effects = Callable[[], list[str]]
Send = Callable[..., Any]

AGENTS = "https://agent.example/client"
TOKEN = "2YotnFZFEjr1zCsicMWpAA"
ANOTHER = "tGzv3JOkF0XG5Qx2TlKWIA"
INVALID_SESSION = (403, {"error": "invalid_session"})
FORM = "application/x-www-form-urlencoded"
BOUNDARY = "b0undary"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def in_header(value: str) -> dict[str, Any]:
    """A request with this ``Authorization``."""
    return {"HTTP_AUTHORIZATION": value}


def in_form(**fields: str | list[str]) -> dict[str, Any]:
    """A request with a form."""
    return {"data": urlencode(fields, doseq=True), "content_type": FORM}


def in_parts(**fields: str) -> dict[str, Any]:
    """A request with a form in parts."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    return {"data": "".join([*parts, f"--{BOUNDARY}--\r\n"]), "content_type": MULTIPART}


# Where RFC 6750 puts a token, and how servers that are not strict read that.
PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "header": lambda token: in_header(f"Bearer {token}"),
    "lower case": lambda token: in_header(f"bearer {token}"),
    "upper case": lambda token: in_header(f"BEARER {token}"),
    "tab": lambda token: in_header(f"Bearer\t{token}"),
    "spaces": lambda token: in_header(f"  Bearer   {token}  "),
    "no-break space": lambda token: in_header(f"Bearer\xa0{token}"),
    "next line": lambda token: in_header(f"Bearer\x85{token}"),
    "separator": lambda token: in_header(f"Bearer\x1f{token}"),
    "vertical tab": lambda token: in_header(f"Bearer\x0b{token}"),
    "ideographic space": lambda token: in_header(f"Bearer\u3000{token}"),
    "space before it": lambda token: in_header(f"\xc2\xa0Bearer {token}"),
    "space in UTF-8": lambda token: in_header(f"Bearer\xe3\x80\x80{token}"),
    "no-break space in UTF-8": lambda token: in_header(f"Bearer\xc2\xa0{token}"),
    "behind the token": lambda token: in_header(f"Bearer {token}\xa0x"),
    "colon": lambda token: in_header(f"Bearer: {token}"),
    "quoted": lambda token: in_header(f'Bearer "{token}"'),
    "DPoP": lambda token: in_header(f"DPoP {token}"),
    "twice": lambda token: in_header(f"Bearer {ANOTHER}, Bearer {token}"),
    "twice, without a space": lambda token: in_header(f"Bearer {ANOTHER},Bearer {token}"),
    "behind Basic": lambda token: in_header(f"Basic YTpi, Bearer {token}"),
    "scheme doubled": lambda token: in_header(f"Bearer Bearer {token}"),
    "scheme only named": lambda token: in_header(f"Bearer, {token}"),
    "header of a proxy": lambda token: {"HTTP_X_AUTHORIZATION": f"Bearer {token}"},
    "query": lambda token: {"QUERY_STRING": f"access_token={token}"},
    "query, escaped": lambda token: {"QUERY_STRING": f"%61ccess%5Ftoken={token}"},
    "query, last of two": lambda token: {
        "QUERY_STRING": f"access_token={ANOTHER}&access_token={token}"
    },
    "query, first of two": lambda token: {
        "QUERY_STRING": f"access_token={token}&access_token={ANOTHER}"
    },
    "query beside a charset": lambda token: {
        # Django reads it two bytes at a time, if their number is even.
        "QUERY_STRING": f"access_token={token}{'&' * (len(token) % 2 == 0)}",
        "data": "x",
        "content_type": "text/plain; charset=utf-16",
    },
    "query in a charset": lambda token: {
        "QUERY_STRING": f"access_token={token}".encode("cp037").decode("latin-1"),
        "data": "x",
        "content_type": "text/plain; charset=cp037",
    },
    "form": lambda token: in_form(access_token=token),
    "form, first of two": lambda token: in_form(access_token=[token, ANOTHER]),
    "form, last of two": lambda token: in_form(access_token=[ANOTHER, token]),
    "form in parts": lambda token: in_parts(access_token=token),
}
# Where only a site's own classes look: what they accept they say in ``request.auth``.
OTHER_PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "cookie": lambda token: {"HTTP_COOKIE": f"session_token={token}"},
    "header of its own": lambda token: {"HTTP_X_TOKEN": token},
    "scheme of its own": lambda token: in_header(f"Token {token}"),
    "parameter of its own": lambda token: {"QUERY_STRING": f"token={token}"},
    "JSON": lambda token: {
        "data": f'{{"access_token": "{token}"}}',
        "content_type": "application/json",
    },
    "field of its own": lambda token: in_form(token=token),
}
DRF = ["/gated/", "/lazily/", "/with-agents/", "/scoped/", "/for-agents/"]
PLAIN = ["/plain/", "/bare/", "/page/", "/form/", "/scoped-plain/"]
GATED_BY_DRF = ["/gated/", "/lazily/", "/with-agents/", "/scoped/"]


@pytest.fixture(autouse=True)
def token_site_urls(db: None, alice: Any, settings: Any) -> Iterator[None]:
    """The site whose own authentication takes tokens from everywhere."""
    settings.ROOT_URLCONF = token_site.__name__
    yield
    issued.clear()


@pytest.fixture
def names_clients(settings: Any) -> None:
    """The site says whose its tokens are."""
    settings.POPPY_OPERATIONS = {
        **settings.POPPY_OPERATIONS,
        "COMPANY": "tests.api.token_site.NamesClients",
    }


@pytest.fixture
def send() -> Send:
    """Send a request that does not show a Session."""

    def post(path: str, method: str = "POST", data: str = "", **extra: Any) -> Any:
        content_type = extra.pop("content_type", "application/json" if not data else FORM)
        return Client(headers={"host": HOST}).generic(method, path, data, content_type, **extra)

    return post


def refusal(answer: Any) -> Any:
    """What a request was refused with, a page's refusal included."""
    return answer.status_code, answer.json()


# An agent's token


@pytest.mark.requirement("OPS-6-43")
@pytest.mark.parametrize("path", [*DRF, *PLAIN])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.usefixtures("names_clients")
def test_an_agents_token_is_an_agents_wherever_it_is(
    place: str, path: str, send: Send, effects: Effects
) -> None:
    issued[TOKEN] = Issued(AGENTS)
    answer = send(path, **PLACES[place](TOKEN))

    assert refusal(answer) == INVALID_SESSION
    assert effects() == []
    assert not Operation.objects.exists()


@pytest.mark.requirement("OPS-6-43")
@pytest.mark.parametrize("path", GATED_BY_DRF)
@pytest.mark.parametrize("place", OTHER_PLACES)
@pytest.mark.usefixtures("names_clients")
def test_what_the_sites_own_authentication_accepted_is_judged(
    place: str, path: str, send: Send, effects: Effects
) -> None:
    issued[TOKEN] = Issued(AGENTS)
    answer = send(path, **OTHER_PLACES[place](TOKEN))

    assert refusal(answer) == INVALID_SESSION
    assert effects() == []


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.usefixtures("names_clients")
def test_the_method_does_not_matter(method: str, send: Send, effects: Effects) -> None:
    issued[TOKEN] = Issued(AGENTS)
    for place in (*PLACES.values(), *OTHER_PLACES.values()):
        assert refusal(send("/gated/", method, **place(TOKEN))) == INVALID_SESSION
    assert effects() == []


@pytest.mark.parametrize("path", [*DRF, *PLAIN])
@pytest.mark.parametrize("place", ["header", "no-break space", "query", "form", "form in parts"])
def test_a_site_that_names_no_clients_takes_every_token_for_an_agents(
    place: str, path: str, send: Send, effects: Effects
) -> None:
    """What cannot be read is refused, and not let through."""
    issued[TOKEN] = Issued("mobile-app")
    answer = send(path, **PLACES[place](TOKEN))

    assert refusal(answer) == INVALID_SESSION
    assert effects() == []


@pytest.mark.parametrize("path", GATED_BY_DRF)
@pytest.mark.parametrize("place", OTHER_PLACES)
def test_such_a_site_takes_what_it_accepted_elsewhere_for_an_agents_too(
    place: str, path: str, send: Send, effects: Effects
) -> None:
    issued[TOKEN] = Issued("mobile-app")
    assert refusal(send(path, **OTHER_PLACES[place](TOKEN))) == INVALID_SESSION
    assert effects() == []


# Other clients' tokens


@pytest.mark.parametrize("client_id", ["mobile-app", None])
@pytest.mark.parametrize("path", [*GATED_BY_DRF, "/for-agents/"])
@pytest.mark.parametrize("place", OTHER_PLACES)
@pytest.mark.usefixtures("names_clients")
def test_another_clients_token_is_the_sites_own_business(
    place: str, path: str, client_id: str | None, send: Send, effects: Effects
) -> None:
    issued[TOKEN] = Issued(client_id)
    answer = send(path, **OTHER_PLACES[place](TOKEN))

    assert (answer.status_code, answer.json()["user"]) == (201, "alice")
    assert len(effects()) == 1


@pytest.mark.parametrize("path", [*DRF, "/plain/", "/bare/", "/page/", "/form/"])
@pytest.mark.parametrize(
    "place", ["header", "lower case", "no-break space", "query", "form", "form in parts"]
)
@pytest.mark.usefixtures("names_clients")
def test_so_it_is_in_the_usual_places(place: str, path: str, send: Send, effects: Effects) -> None:
    issued[TOKEN] = Issued("mobile-app")

    assert send(path, **PLACES[place](TOKEN)).status_code == 201
    assert len(effects()) == 1


@pytest.mark.usefixtures("names_clients")
def test_a_clients_name_is_compared_exactly(send: Send, effects: Effects) -> None:
    for client_id in ("Mobile-App", "mobile-app ", "mobile", "", "mobile-app/2"):
        issued[TOKEN] = Issued(client_id)
        assert refusal(send("/gated/", **PLACES["header"](TOKEN))) == INVALID_SESSION
    assert effects() == []


@pytest.mark.parametrize("path", ["/gated/", "/page/", "/plain/", "/bare/"])
@pytest.mark.usefixtures("names_clients")
def test_one_agents_token_among_others_is_enough_where_none_is_accepted(
    path: str, send: Send, effects: Effects
) -> None:
    issued[TOKEN] = Issued("mobile-app")
    request = {**PLACES["query"](TOKEN), **PLACES["header"]("nobody-knows-it")}
    if path == "/gated/":
        request["HTTP_AUTHORIZATION"] = "Bearer nobody-knows-it"
        issued.clear()

    assert refusal(send(path, **request))[0] == (401 if not issued and path != "/gated/" else 403)
    assert effects() == []


@pytest.mark.parametrize("both", [(TOKEN, ANOTHER), (ANOTHER, TOKEN)])
@pytest.mark.usefixtures("names_clients")
def test_of_two_tokens_each_is_looked_at(both: tuple[str, str]) -> None:
    issued[TOKEN], issued[ANOTHER] = Issued(AGENTS), Issued("mobile-app")
    fields = urlencode({"access_token": both}, doseq=True)
    post = RequestFactory().post

    for request in (
        post(f"/?{fields}"),
        post("/", fields, FORM),
        post(f"/?access_token={both[0]}", {"access_token": both[1]}),
        post(f"/?access_token={both[0]}", headers={"Authorization": f"Bearer {both[1]}"}),
        post("/", headers={"Authorization": f"Bearer {both[0]}, Bearer {both[1]}"}),
        post("/", headers={"Authorization": f"Bearer {both[0]} {both[1]}"}),
    ):
        assert get_company().is_agent(request)
    issued[TOKEN] = Issued("mobile-app")
    assert not get_company().is_agent(post(f"/?{fields}"))


@pytest.mark.parametrize(
    "header", ["", "Bearer", "bearer ", "Basic YTpi", "Token abc", 'Digest username="bearer x"']
)
def test_what_shows_no_token_is_a_visitors(header: str, send: Send, effects: Effects) -> None:
    issued["cookie"] = Issued(None)
    answer = send("/bare/", HTTP_AUTHORIZATION=header, HTTP_COOKIE="a=cookie")

    assert answer.status_code == 201
    assert len(effects()) == 1


def test_a_visitors_empty_parameter_is_nothing(send: Send, effects: Effects) -> None:
    issued["cookie"] = Issued(None)
    answer = send("/bare/", QUERY_STRING="access_token=&access_token=%20", HTTP_COOKIE="a=cookie")

    assert answer.status_code == 201
    assert len(effects()) == 1


# What the site's authentication accepts without a client


def test_a_user_or_a_users_own_token_has_no_client(alice: Any, rf: Any) -> None:
    company = Company()
    assert company.client_of(rf.get("/"), alice) is None
    users_token = SimpleNamespace(_meta=SimpleNamespace(app_label="authtoken"))
    assert company.client_of(rf.get("/"), users_token) is None


def test_what_this_package_makes_of_a_token_has_one(rf: Any, signed_in: SessionOf) -> None:
    company = Company()
    session = verified_session_of(signed_in.headers(), now=None)  # type: ignore[arg-type]  # now
    assert company.client_of(rf.get("/"), session) == signed_in.agent.client_id
    assert company.client_of(rf.get("/"), AccessToken("1", AGENTS, frozenset(), 1)) == AGENTS


@pytest.mark.parametrize("credential", [object(), b"token", 1, {"client_id": "mobile-app"}, ""])
def test_whatever_else_was_accepted_cannot_be_told_of(credential: object, rf: Any) -> None:
    request = rf.get("/")
    request.auth = credential

    with pytest.raises(InvalidToken):
        Company().client_of(request, credential)
    assert Company().is_agent(request)


def test_what_was_accepted_decides_and_not_what_else_is_there(rf: Any, alice: Any) -> None:
    request = rf.get("/?access_token=x", headers={"Authorization": "Bearer y"})
    request.auth = alice

    assert not Company().is_agent(request)


# Tokens of the Company's issuer


@pytest.fixture
def own_apps(issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Company's issuer has a client that is the Company's own."""
    monkeypatch.setattr(Company, "own_clients", frozenset({"mobile-app"}))


def request_with(token: str, place: str = "header") -> Any:
    """A request with the token."""
    extra = PLACES[place](token)
    extra.pop("data", None)
    return RequestFactory().post("/", **extra)


@pytest.mark.parametrize("place", ["header", "no-break space", "query"])
@pytest.mark.usefixtures("own_apps")
def test_the_issuers_tokens_are_agents_but_for_own_clients(place: str, issuer: TokenIssuer) -> None:
    def is_agent(client_id: str, **changes: Any) -> bool:
        token = issuer.access_token("1", client_id=client_id, **changes)
        return Company().is_agent(request_with(token, place))

    assert is_agent(AGENTS)
    assert is_agent("somebody-else")
    assert not is_agent("mobile-app")


@pytest.mark.usefixtures("own_apps")
def test_an_expired_token_is_still_its_clients(issuer: TokenIssuer) -> None:
    """The site answers it with its own 401, by which the app knows that it has to refresh."""

    def is_agent(**changes: Any) -> bool:
        token = issuer.access_token("1", **{"client_id": "mobile-app", **changes})
        return Company().is_agent(request_with(token))

    assert not is_agent(lifetime=-3600)
    assert not is_agent(aud="https://elsewhere.example")
    assert is_agent(lifetime=-3600, client_id=AGENTS)
    assert is_agent(lifetime=-3600, client_id=7)
    assert is_agent(key=TokenIssuer().key)


@pytest.mark.usefixtures("issuer")
def test_keys_that_are_out_of_reach_make_every_token_an_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unavailable(*_arguments: Any, **_named: Any) -> None:
        message = "no keys"
        raise KeysUnavailable(message)

    monkeypatch.setattr(TokenVerifier, "verify", unavailable)
    assert Company().is_agent(request_with("a.b.c"))


STRAY: dict[str, Callable[[str], dict[str, Any]]] = {
    "cookie": lambda token: {"HTTP_COOKIE": f"a=b; jwt={token}; c=d"},
    "quoted cookie": lambda token: {"HTTP_COOKIE": f'jwt="{token}"'},
    "header": lambda token: {"HTTP_X_ACCESS_TOKEN": token},
    "scheme": lambda token: in_header(f"JWT {token}"),
    "parameter": lambda token: {"QUERY_STRING": f"jwt={token}"},
}


@pytest.mark.parametrize("place", STRAY)
@pytest.mark.usefixtures("own_apps")
def test_a_token_of_the_issuer_is_known_in_any_place(place: str, issuer: TokenIssuer) -> None:
    def is_agent(token: str) -> bool:
        return Company().is_agent(RequestFactory().post("/", **STRAY[place](token)))

    assert is_agent(issuer.access_token("1", client_id=AGENTS))
    assert not is_agent(issuer.access_token("1", client_id="mobile-app"))


@pytest.mark.parametrize("place", STRAY)
def test_other_jwts_of_visitors_are_nothing_there(place: str, issuer: TokenIssuer) -> None:
    """Sites keep many of them in cookies."""

    def is_agent(token: str) -> bool:
        return Company().is_agent(RequestFactory().post("/", **STRAY[place](token)))

    other = TokenIssuer("https://id.example")
    assert not is_agent(other.access_token("1", client_id=AGENTS))
    assert not is_agent(issuer.access_token("1", client_id=AGENTS, header={"typ": "JWT"}))
    assert not is_agent(issuer.access_token("1", client_id=AGENTS, key=other.key))
    assert not is_agent("eyJhbGciOiJIUzI1NiJ9.e30.x")
    assert not is_agent("1.2.3")


@pytest.mark.parametrize("place", STRAY)
def test_nobody_is_asked_about_other_jwts_of_visitors(
    place: str, issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that keys that are out of reach turn no visitor away."""
    monkeypatch.setattr(TokenVerifier, "verify", lambda *_arguments: pytest.fail("Asked."))
    for token in (
        TokenIssuer("https://id.example").access_token("1", client_id=AGENTS),
        issuer.access_token("1", client_id=AGENTS, header={"typ": "JWT"}),
        "eyJhbGciOiJIUzI1NiJ9.e30.x",
    ):
        assert not Company().is_agent(RequestFactory().post("/", **STRAY[place](token)))


def test_the_page_that_a_browser_came_from_is_no_credential(issuer: TokenIssuer) -> None:
    token = issuer.access_token("1", client_id=AGENTS)
    request = RequestFactory().post("/", HTTP_REFERER=f"https://shop.example/?access_token={token}")

    assert not Company().is_agent(request)


def test_long_headers_are_looked_through_once() -> None:
    request = RequestFactory().get("/", HTTP_COOKIE="a=" + "x" * 500_000, HTTP_X=".x" * 200_000)

    assert stray_jwts(request) == []
    assert shown_tokens(request) == []


# The Company's word


def test_own_clients_are_several(rf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One string would have other clients' IDs within it."""
    monkeypatch.setattr(Company, "own_clients", "mobile-app")
    request = rf.get("/")
    request.auth = AccessToken("1", "app", frozenset(), 1)
    with pytest.raises(ImproperlyConfigured, match="own_clients"):
        Company().is_agent(request)


def test_a_site_may_still_say_it_itself(send: Send, settings: Any, effects: Effects) -> None:
    settings.POPPY_OPERATIONS = {
        **settings.POPPY_OPERATIONS,
        "COMPANY": f"{__name__}.SaysItItself",
    }
    issued[TOKEN] = Issued(AGENTS)

    assert send("/gated/", **PLACES["header"](TOKEN)).status_code == 201
    assert isinstance(get_company(), SaysItItself)
    assert len(effects()) == 1


class SaysItItself(Company):
    """Has no agents."""

    def is_agent(self, request: Any) -> bool:
        """Say no."""
        return False


def test_the_log_says_what_could_not_be_told_and_no_secret(
    send: Send, caplog: pytest.LogCaptureFixture
) -> None:
    issued[TOKEN] = Issued("mobile-app")
    with caplog.at_level(logging.INFO, "poppy_operations"):
        send("/gated/", HTTP_X_TOKEN=TOKEN)

    reason = caplog.messages[0]
    assert reason.startswith("A credential without a Session is taken for an agent's. Company.")
    assert "Issued" in reason
    assert TOKEN not in caplog.text


# Forms that a view does not read, or reads in its own way


class OnlyJson(token_site.ForAgents):
    """A view that reads no forms."""

    parser_classes = (JSONParser,)


@pytest.mark.parametrize("place", ["form", "form in parts"])
def test_a_form_that_a_view_does_not_read_is_told_as_before(place: str, rf: Any) -> None:
    extra = PLACES[place](TOKEN)
    request = rf.generic("POST", "/", extra["data"], extra["content_type"])
    issued[TOKEN] = Issued("mobile-app")

    assert OnlyJson.as_view()(request).status_code == 415


@pytest.mark.usefixtures("names_clients")
def test_a_view_reads_a_visitors_form_as_before(send: Send) -> None:
    issued["cookie"] = Issued(None)
    answer = send("/for-agents/", **in_parts(sku="jacket", size="L"), HTTP_COOKIE="a=cookie")

    assert answer.status_code == 201
    assert answer.json()["data"] == {"sku": ["jacket"], "size": ["L"]}


@pytest.mark.usefixtures("names_clients")
def test_a_form_that_cannot_be_read_is_told_as_before(send: Send, effects: Effects) -> None:
    broken = {"data": "--x", "content_type": "multipart/form-data"}
    issued["cookie"] = Issued(None)

    assert send("/for-agents/", **broken, HTTP_COOKIE="a=cookie").status_code == 400
    assert effects() == []


# Beside a Session


BESIDE = ["DPoP", "query", "form", "form in parts", "query beside a charset"]


@pytest.mark.parametrize("path", ["/gated/", "/plain/", "/bare/"])
@pytest.mark.parametrize("place", BESIDE)
@pytest.mark.usefixtures("names_clients")
def test_a_session_beside_a_token_that_it_does_not_speak_of_is_refused(
    place: str, path: str, signed_out: SessionOf, effects: Effects
) -> None:
    """An action of alice's account would be approved in a Session that is signed out."""
    issued[TOKEN] = Issued(AGENTS)
    request = {"data": "", "content_type": "text/plain", **PLACES[place](TOKEN)}
    answer = signed_out.client.generic("POST", path, headers=signed_out.headers(), **request)

    assert refusal(answer) == INVALID_SESSION
    assert effects() == []
    assert not Operation.objects.exists()


@pytest.mark.parametrize("place", BESIDE[1:])
def test_so_is_a_signed_in_one_beside_another_token(
    place: str, signed_in: SessionOf, settings: Any, effects: Effects
) -> None:
    settings.ROOT_URLCONF = "tests.urls"
    headers = signed_in.headers()
    request = {"data": "", "content_type": "text/plain", **PLACES[place](TOKEN)}
    answer = signed_in.client.generic("POST", "/api/plain/", headers=headers, **request)

    assert refusal(answer) == INVALID_SESSION
    assert not Operation.objects.exists()


def test_its_own_token_may_come_twice(
    signed_in: SessionOf, settings: Any, jacket: Any, effects: Effects
) -> None:
    settings.ROOT_URLCONF = "tests.urls"
    token = signed_in.access_token
    answer = signed_in.client.post(
        f"/api/plain/?access_token={token}",
        '{"sku": "jacket", "quantity": 1}',
        content_type="application/json",
        headers=signed_in.headers(access_token=token),
    )

    assert answer.json()["error"] == "approval_required"


@pytest.mark.parametrize(
    "header", ["Bearer {}", "bearer\t{}", "Bearer\xa0{}", "Bearer\x85 {}", " Bearer {} "]
)
def test_the_token_of_a_session_may_stand_behind_any_white_space(
    header: str, signed_in: SessionOf
) -> None:
    token = signed_in.access_token
    headers = signed_in.headers(access_token=token)
    headers["Authorization"] = header.format(token)

    assert verified_session_of(headers, now=None).account == signed_in.account  # type: ignore[arg-type]  # now
