"""A token acts for the one account that it names, however the database compares keys (3, 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import AnonymousUser
from django.db import connection, models
from django.test import Client
from django.utils import timezone

from poppy_operations import Company
from poppy_operations import company as companies
from poppy_operations.browser.joins import join_browser
from poppy_operations.company import user_of_account
from poppy_operations.models import Join, Operation
from poppy_operations.sessions.refusals import InvalidSession
from poppy_operations.sessions.session import Session
from poppy_operations.testing.agents import PersonalAgent, TokenIssuer
from tests.agents import HOST, ApiClient, SessionOf, approval_of, operation_in
from tests.shop.orders import ApiBehaviour

Effects = Callable[[], list[str]]

ALICE = "alice@shop.example"
INVALID_TOKEN = (401, {"error": "invalid_token"})
AS_THE_USER = ["/api/scoped/", "/api/plain-class/", "/api/awho/", "/api/members/"]
SCOPES = "orders:write poppy:browser-sign-in"


class Member(AbstractBaseUser):
    """A user whose primary key is text, in a table whose collation takes like for like."""

    email = models.CharField(primary_key=True, max_length=100)
    is_active = True
    USERNAME_FIELD = "email"
    objects: Any = BaseUserManager()

    class Meta:
        app_label = "shop"
        db_table = "shop_member"
        managed = False

    def __str__(self) -> str:
        return self.email


class NumberedByUuid(models.Model):
    """A user whose primary key is a UUID."""

    id = models.UUIDField(primary_key=True)

    class Meta:
        app_label = "shop"
        managed = False

    def __str__(self) -> str:
        return str(self.id)


class ById(AbstractBaseUser):
    """A user who is a person first: the primary key is a reference."""

    person = models.OneToOneField(NumberedByUuid, models.CASCADE, primary_key=True)
    USERNAME_FIELD = "person"

    class Meta:
        app_label = "shop"
        managed = False

    def __str__(self) -> str:
        return str(self.pk)


# Another account's name for which the database finds alice's row.
LIKE_ALICE = {
    "sqlite": ["ALICE@shop.example", "alice@Shop.example"],
    "mysql": ["alicé@shop.example", "ALICE@SHOP.EXAMPLE", "alice@shop.example "],
    "postgresql": ["alicé@shop.example", "ALICE@shop.example", "älice@shop.example"],
}
COLLATIONS = {
    "sqlite": "COLLATE NOCASE",
    "mysql": "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "postgresql": "COLLATE like_for_like",
}


def run(*commands: str) -> None:
    """Change the tables."""
    with connection.cursor() as cursor:
        for command in commands:
            cursor.execute(command)


@pytest.fixture
def members(transactional_db: None, settings: Any) -> Iterator[None]:
    """The site's users are members, and their table compares without accents or case."""
    vendor = connection.vendor
    if vendor == "postgresql":
        run(
            "CREATE COLLATION like_for_like "
            "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )
    run(
        f"CREATE TABLE shop_member (email varchar(100) {COLLATIONS[vendor]} PRIMARY KEY, "
        "password varchar(128) NOT NULL, last_login timestamp NULL)"
    )
    settings.AUTH_USER_MODEL = "shop.Member"
    yield
    run("DROP TABLE shop_member")
    if vendor == "postgresql":
        run("DROP COLLATION like_for_like")


@pytest.fixture
def member(members: None) -> Member:
    """Alice."""
    found: Member = Member.objects.create(email=ALICE)
    return found


@pytest.fixture
def impostors(
    member: Member, agent: PersonalAgent, issuer: TokenIssuer, shop: ApiBehaviour
) -> list[SessionOf]:
    """Sessions signed in to accounts for whose names the database finds alice."""
    names = LIKE_ALICE[connection.vendor]
    for name in names:
        assert Member.objects.get(pk=name) == member, name
    return [SessionOf(agent, issuer, account=name, scope=SCOPES) for name in names]


@pytest.fixture
def her_own(
    member: Member, agent: PersonalAgent, issuer: TokenIssuer, shop: ApiBehaviour
) -> SessionOf:
    """A Session signed in to alice's account."""
    return SessionOf(agent, issuer, account=ALICE, scope=SCOPES)


def answered(session: SessionOf, path: str, **request: Any) -> tuple[int, Any]:
    """What a request in the Session gets."""
    answer = ApiClient(session).send(path=path, **request)
    return answer.status_code, answer.json()


# Keys that are text


@pytest.mark.database
@pytest.mark.parametrize("path", AS_THE_USER)
def test_a_token_for_a_like_account_reads_nothing_of_hers(
    path: str, impostors: list[SessionOf], her_own: SessionOf
) -> None:
    assert answered(her_own, path, method="GET", body="")[1]["user"] == ALICE
    for session in impostors:
        assert answered(session, path, method="GET", body="") == INVALID_TOKEN


@pytest.mark.database
@pytest.mark.requirement("OPS-3-06")
@pytest.mark.parametrize("path", ["/api/class/", "/api/plain/", "/api/aplain/"])
def test_it_asks_for_nothing_in_her_name(
    path: str, impostors: list[SessionOf], her_own: SessionOf, effects: Effects
) -> None:
    operation = operation_in(ApiClient(her_own).send(path=path))
    for session in impostors:
        assert answered(session, path) == INVALID_TOKEN
        assert answered(session, path, approval=approval_of(operation)) == INVALID_TOKEN
    assert effects() == []
    assert set(Operation.objects.values_list("account", flat=True)) == {ALICE}
    assert answered(her_own, path, approval=approval_of(operation))[0] == 201


@pytest.mark.database
def test_it_gets_no_ticket(impostors: list[SessionOf], her_own: SessionOf) -> None:
    for session in impostors:
        assert answered(session, "/poppy/join", body="") == (403, {"error": "invalid_session"})
    assert not Join.objects.exists()
    browser = her_own.browser(Client(headers={"host": HOST}))
    assert browser.session["_auth_user_id"] == ALICE


@pytest.mark.database
def test_a_ticket_of_a_like_account_signs_nobody_in(
    impostors: list[SessionOf], her_own: SessionOf
) -> None:
    """As it could be there from before an update, or after the account was renamed."""
    url = ApiClient(her_own).send(path="/poppy/join", body="").json()["url"]
    Join.objects.update(account=impostors[0].account)
    browser = Client(headers={"host": HOST})
    answer = browser.get("/" + url.split("/", 3)[3], headers={"Sec-Fetch-Site": "none"})

    assert answer.status_code == 400
    assert "_auth_user_id" not in browser.session


@pytest.mark.database
def test_a_provider_that_joins_a_like_account_signs_nobody_in(
    impostors: list[SessionOf], rf: Any, her_own: SessionOf
) -> None:
    session = Session(her_own.agent.client_id, "u1", impostors[0].account, "ses_1", declared=True)
    assert user_of_account(impostors[0].account or "") is None
    with pytest.raises(InvalidSession, match="not the one of the account"):
        join_browser(rf.get("/"), session, Member.objects.get(pk=ALICE), timezone.now())
    assert not Join.objects.exists()


def test_a_provider_joins_nobody_signed_out_to_a_user(
    signed_out: SessionOf, alice: Any, rf: Any
) -> None:
    session = Session(signed_out.agent.client_id, "u1", None, "ses_1", declared=True)
    with pytest.raises(InvalidSession):
        join_browser(rf.get("/"), session, alice, timezone.now())


@pytest.mark.database
def test_a_session_of_a_like_account_is_not_the_users_who_signed_in(
    impostors: list[SessionOf], member: Member, effects: Effects
) -> None:
    for session in impostors:
        session.client.force_login(member, "django.contrib.auth.backends.ModelBackend")
        assert answered(session, "/api/bare/") == (403, {"error": "invalid_session"})
    assert effects() == []


# Keys in another spelling


SPELLINGS = ["0{}", " {}", "{} ", "+{}", "{}.0", "{}_0", "\u00a0{}", "-0{}"]
FULL_WIDTH = {ord("0") + digit: 0xFF10 + digit for digit in range(10)}
ARABIC = {ord("0") + digit: 0x0660 + digit for digit in range(10)}


def spelled(key: str) -> list[str]:
    """The key in other spellings, most of which Python reads as the same number."""
    simple = [spelling.format(key) for spelling in SPELLINGS]
    return [*simple, key.translate(FULL_WIDTH), key.translate(ARABIC)]


def nobody(*_arguments: object) -> None:
    """Fail: no row may be read for such a key."""
    pytest.fail("A user was looked for.")


@pytest.mark.parametrize(
    "path", [*AS_THE_USER, "/api/class/", "/api/plain/", "/api/bare/", "/api/public/"]
)
def test_a_key_in_another_spelling_is_refused_before_anybody_is_looked_for(
    path: str, signed_in: SessionOf, shop: ApiBehaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = signed_in.account or ""
    monkeypatch.setattr(Company, "user_of", nobody)
    for other in spelled(account):
        signed_in.account = other
        assert answered(signed_in, path) == INVALID_TOKEN, other
    assert not Operation.objects.exists()


def test_no_spelling_of_it_gets_a_ticket(
    signed_in: SessionOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = signed_in.account or ""
    monkeypatch.setattr(Company, "user_of", nobody)
    for other in spelled(account):
        signed_in.account = other
        assert answered(signed_in, "/poppy/join", body="") == INVALID_TOKEN, other
    assert not Join.objects.exists()


def test_the_endpoint_looks_at_the_spelling_too(signed_in: SessionOf) -> None:
    signed_in.account = f"0{signed_in.account}"
    answer = signed_in.endpoint("any")

    assert (answer.status_code, answer.json()) == INVALID_TOKEN


@pytest.mark.parametrize(
    ("account", "is_one"),
    [
        ("1", True),
        ("12345678901234567890", True),
        ("-1", True),
        ("", False),
        ("one", False),
        ("1e3", False),
        ("0x1", False),
        ("True", False),
        ("None", False),
        ("9" * 5000, False),
        *((other, False) for other in spelled("7")),
    ],
    ids=str,
)
def test_numbers_have_one_spelling(account: str, is_one: bool) -> None:
    assert Company().is_account(account) is is_one


UUID_KEY = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


@pytest.mark.parametrize("model", [NumberedByUuid, ById])
@pytest.mark.parametrize(
    ("account", "is_one"),
    [
        (UUID_KEY, True),
        (UUID_KEY.upper(), False),
        (UUID_KEY.replace("-", ""), False),
        (f"{{{UUID_KEY}}}", False),
        (f"urn:uuid:{UUID_KEY}", False),
        (UUID_KEY[:-1], False),
        (f"{UUID_KEY} ", False),
        ("7", False),
        (str(UUID(UUID_KEY).int), False),
    ],
)
def test_uuids_have_one_spelling(
    model: type, account: str, is_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companies, "get_user_model", lambda: model)
    assert Company().is_account(account) is is_one


def test_any_text_may_be_a_key_that_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(companies, "get_user_model", lambda: Member)
    for account in (ALICE, "01", " 1", "\uff21"):
        assert Company().is_account(account)


class ByNumber(Company):
    """Names its accounts by numbers of its own."""

    def account_of(self, user: Any) -> str | None:
        """Give the customer's number."""
        return f"K-0{user.pk}" if user.is_authenticated else None

    def user_of(self, account: str) -> Any:
        """Find the user, whatever the prefix is."""
        return super().user_of(account.rpartition("-")[2].lstrip("0"))


def test_a_site_that_names_accounts_itself_is_asked_what_the_users_is(
    signed_in: SessionOf, alice: Any, settings: Any, shop: ApiBehaviour
) -> None:
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, "COMPANY": f"{__name__}.ByNumber"}
    signed_in.scope = SCOPES
    account = f"K-0{alice.pk}"
    signed_in.account = account

    assert answered(signed_in, "/api/scoped/", method="GET", body="")[1]["user"] == "alice"
    for other in (f"k-0{alice.pk}", f"K-{alice.pk}", str(alice.pk)):
        signed_in.account = other
        assert answered(signed_in, "/api/scoped/", method="GET", body="") == INVALID_TOKEN
        assert answered(signed_in, "/poppy/join", body="")[0] == 403
    assert Company().account_of(AnonymousUser()) is None
