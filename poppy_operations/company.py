"""The site's hooks, in one class that ``POPPY_OPERATIONS["COMPANY"]`` names."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from poppy_operations.conf import conf
from poppy_operations.declarations.arguments import require_identity
from poppy_operations.declarations.current import ApprovedOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.outcomes import Decline, Refusal
from poppy_operations.models.row_by_key import row_by_key
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.sessions.credentials import (
    accepted_credential,
    shown_tokens,
    stray_jwts,
)
from poppy_operations.sessions.refusals import InvalidToken, KeysUnavailable, SessionRefused
from poppy_operations.sessions.reports import hide_from_reports
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.tokens import AccessToken, TokenVerifier
from poppy_operations.sessions.verification import SessionVerifier

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

logger = logging.getLogger("poppy_operations")


class Company:
    """Subclass it to fit the app to a site; every hook has a safe default."""

    session_verifier: type[SessionVerifier] = SessionVerifier
    token_verifier: type[TokenVerifier] = TokenVerifier
    #: Clients that are the Company's own, such as its mobile app, and no Personal Agents.
    own_clients: Collection[str] = frozenset()

    def session_for(self, request: HttpRequest) -> Session:
        """Verify the Session of an agent's request (core profile, Session JWT).

        Raises a ``SessionRefused`` if the Session header, the access token or the version is not
        acceptable.
        """
        verifier = self.session_verifier()
        verifier.token_verifier = self.token_verifier()
        return verifier.verify(request)

    def session_for_stdio(self, context: Any) -> Session:
        """Give the verified Session of a tool call that came by no HTTP request, as over stdio.

        Such a call has no headers. ``context`` is the SDK's own of this very call, with what the
        client sent in ``_meta``. Raises a ``SessionRefused`` if it is in no Session.
        """
        message = (
            "A gated tool was called without an HTTP request, and so without the headers that name "
            "its Session, such as over stdio: define session_for_stdio(context) in your Company."
        )
        raise ImproperlyConfigured(message)

    def is_agent(self, request: HttpRequest) -> bool:
        """Whether a request without a Session came with an agent's credential.

        By default, the credential is the one that the site's own authentication has accepted. If it
        names none, every access token in the request counts. Each of them is an agent's unless
        ``client_of`` says otherwise.
        """
        accepted = accepted_credential(request)
        if accepted is not None:
            return _is_agents(self, request, accepted)
        shown = shown_tokens(request)
        if any(_is_agents(self, request, token) for token in shown):
            return True
        strays = [token for token in stray_jwts(request) if token not in shown]
        if not strays:
            return False
        said = filter(self.token_verifier().looks_like_token, strays)
        return any(_is_agents(self, request, token, unreadable=False) for token in said)

    def client_of(self, request: HttpRequest, credential: object) -> str | None:
        """The client that a credential was issued to, expired or not; ``None`` for no client.

        A credential is an access token in the request, as a string, or what the site's own
        authentication has accepted (``request.auth``). Raises ``InvalidToken`` if the client cannot
        be told; the credential is then taken for an agent's.
        """
        if isinstance(credential, str):
            try:
                return self.token_verifier().verify(credential).client_id
            except InvalidToken as refused:
                if refused.client_id is None:
                    raise
                return refused.client_id
        if isinstance(credential, AccessToken | Session):
            return credential.client_id
        if _is_users_own(credential):
            return None
        kind = type(credential)
        message = f"Company.client_of knows no {kind.__module__}.{kind.__qualname__}."
        raise InvalidToken(message)

    def is_own_client(self, client_id: str) -> bool:
        """Whether a client is the Company's own, by ``own_clients``, and no Personal Agent."""
        if isinstance(self.own_clients, str):
            message = "own_clients is a collection of client IDs, and not a single client ID."
            raise ImproperlyConfigured(message)
        return client_id in self.own_clients

    def account_of(self, user: AbstractBaseUser | AnonymousUser) -> str | None:
        """The account of a user, as tokens and operations name it; ``None`` for nobody."""
        return str(user.pk) if user.is_authenticated else None

    def is_account(self, account: str) -> bool:
        """Whether a text names an account, spelt as ``account_of`` spells it.

        It is asked for the account of every access token beside a Session, and makes no query: it
        keeps "01" from being the account "1". By default, any text does if the site has an
        ``account_of`` of its own; otherwise only a primary key in its usual spelling.
        """
        if type(self).account_of is not Company.account_of:
            return True
        try:
            return str(get_user_model()._meta.pk.to_python(account)) == account  # noqa: SLF001  Django's documented name
        except (ValidationError, ValueError, TypeError):
            return False

    def user_of(self, account: str) -> AbstractBaseUser | None:
        """The active user of an account, if any; ``account_of`` must give the account again."""
        try:
            user = row_by_key(get_user_model(), account)
        except (ValidationError, ValueError, OverflowError):
            return None
        return user if user is not None and user.is_active else None

    def challenge(self, request: HttpRequest, operation_id: str | None = None) -> str:
        """The ``WWW-Authenticate`` of a challenge for an account (3; core profile)."""
        metadata = f"{conf.issuer.rstrip('/')}/.well-known/oauth-protected-resource"
        return f'Bearer resource_metadata="{metadata}"'

    def undeclared(self, request: HttpRequest, action: DeclaredAction) -> Refusal:
        """The answer to an agent that needs approval, but may not get an operation (2)."""
        return Refusal()

    def decline(self, operation: ApprovedOperation, approval: ApprovalStatement) -> Decline | None:
        """Refuse a valid approval of any action, if the action's own policy has not (6)."""
        return None

    def extra_members(self, request: HttpRequest, interface: str) -> Mapping[str, Any]:
        """More members for the body that asks for approval, such as the API's own fields (4)."""
        return {}

    def unfinished(self, request: HttpRequest, operation_id: str) -> HttpResponse | None:
        """The answer of an API while an action is being performed, or nobody knows if it was (7).

        ``None`` stands for 503 with ``Retry-After``. The answer must not read as if the action had
        failed, nor as if it were done.
        """
        return None


def account_of(user: AbstractBaseUser | AnonymousUser) -> str | None:
    """What ``Company.account_of`` says of a user. Raises ``TypeError`` if it is no text."""
    account = get_company().account_of(user)
    if account is not None:
        require_identity("Company.account_of returns an account, which", account)
    return account


def _is_agents(
    company: Company, request: HttpRequest, credential: object, *, unreadable: bool = True
) -> bool:
    try:
        client_id = company.client_of(request, credential)
    except KeysUnavailable:
        return True
    except InvalidToken as refused:
        if unreadable:
            reason = "A credential without a Session is taken for an agent's. %s"
            logger.info(reason, refused)
        return unreadable
    return client_id is not None and not company.is_own_client(client_id)


def _is_users_own(credential: object) -> bool:
    """Whether a credential is of no client: a user, or a token of ``rest_framework.authtoken``."""
    meta = getattr(credential, "_meta", None)
    return isinstance(credential, AbstractBaseUser) or (
        getattr(meta, "app_label", None) == "authtoken"
    )


_VERIFIED = "_poppy_verified"
# At the request that stands for a tool call without one: the context of the call.
WITHOUT_HTTP = "poppy_without_http"


def user_of_account(account: str) -> AbstractBaseUser | None:
    """The user of exactly this account; ``None`` if the account of the user found is another.

    Databases may find a row by another spelling of its key, such as one without accents.
    """
    company = get_company()
    user = company.user_of(account)
    return user if user is not None and company.account_of(user) == account else None


def verified_session(request: HttpRequest) -> Session:
    """The Session of an agent's request, verified once for each request.

    Raises a ``SessionRefused``, the same one at every call.
    """
    outcome: Session | SessionRefused | None = getattr(request, _VERIFIED, None)
    if outcome is None:
        hide_from_reports(request)
        try:
            outcome = _session_of(request)
        except SessionRefused as refused:
            outcome = refused
        setattr(request, _VERIFIED, outcome)
    if isinstance(outcome, SessionRefused):
        raise outcome
    return outcome


def is_verified(request: HttpRequest) -> bool:
    """Whether the Session of a request was looked at, wherever it was found."""
    return hasattr(request, _VERIFIED)


def _session_of(request: HttpRequest) -> Session:
    company = get_company()
    over_stdio = getattr(request, WITHOUT_HTTP, None)
    if over_stdio is None:
        session = company.session_for(request)
    else:
        session = company.session_for_stdio(over_stdio)
    if session.account is not None and not company.is_account(session.account):
        message = "The access token names no account in the Company's own spelling."
        raise InvalidToken(message)
    return session


def get_company() -> Company:
    """The site's ``Company``. Read at every use, so that settings can change in tests.

    Raises ``ImproperlyConfigured`` if the setting names no subclass of ``Company``.
    """
    named: object = import_string(conf.company)
    if not isinstance(named, type) or not issubclass(named, Company):
        message = (
            f"POPPY_OPERATIONS['COMPANY'] is {conf.company}, which is no subclass of "
            "poppy_operations.Company."
        )
        raise ImproperlyConfigured(message)
    return named()
