"""The site's hooks, in one class that ``POPPY_OPERATIONS["COMPANY"]`` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from poppy_operations.conf import conf
from poppy_operations.declarations.arguments import require_identity
from poppy_operations.declarations.current import ApprovedOperation
from poppy_operations.declarations.declared_action import DeclaredAction
from poppy_operations.declarations.outcomes import Decline, Refusal
from poppy_operations.protocol.approval import ApprovalStatement
from poppy_operations.sessions.refusals import InvalidToken, KeysUnavailable, SessionRefused
from poppy_operations.sessions.reports import hide_from_reports
from poppy_operations.sessions.session import Session
from poppy_operations.sessions.tokens import TokenVerifier
from poppy_operations.sessions.verification import SessionVerifier

if TYPE_CHECKING:
    from django.contrib.auth.base_user import AbstractBaseUser
    from django.contrib.auth.models import AnonymousUser


class Company:
    """Subclass it to fit the app to a site; every hook has a default that is safe."""

    session_verifier: type[SessionVerifier] = SessionVerifier
    token_verifier: type[TokenVerifier] = TokenVerifier

    def session_for(self, request: HttpRequest) -> Session:
        """Verify the Session of an agent's request (core profile, Session JWT).

        Raises a ``SessionRefused`` where the Session header, the access token or the version is
        not acceptable.
        """
        verifier = self.session_verifier()
        verifier.token_verifier = self.token_verifier()
        return verifier.verify(request)

    def is_agent(self, request: HttpRequest) -> bool:
        """Whether a request without a Session came with an agent's credential.

        Default: its bearer token is an access token of this Company, which only agents hold.
        """
        authorization = request.META.get("HTTP_AUTHORIZATION")
        token = self.session_verifier().bearer_token(authorization)
        if token is None:
            return False
        try:
            self.token_verifier().verify(token)
        except KeysUnavailable:
            return True
        except InvalidToken:
            return False
        return True

    def account_of(self, user: AbstractBaseUser | AnonymousUser) -> str | None:
        """The account of a user, as tokens and operations name it; ``None`` for nobody."""
        return str(user.pk) if user.is_authenticated else None

    def user_of(self, account: str) -> AbstractBaseUser | None:
        """The active user whose account it is, to whom a join with a token gives a login."""
        model = get_user_model()
        try:
            user = model._default_manager.get(pk=account)  # noqa: SLF001  Django's documented name
        except (model.DoesNotExist, ValidationError, ValueError, OverflowError):
            return None
        return user if user.is_active else None

    def challenge(self, request: HttpRequest, operation_id: str | None = None) -> str:
        """The ``WWW-Authenticate`` of a challenge for an account (3; core profile)."""
        metadata = f"{conf.issuer.rstrip('/')}/.well-known/oauth-protected-resource"
        return f'Bearer resource_metadata="{metadata}"'

    def undeclared(self, request: HttpRequest, action: DeclaredAction) -> Refusal:
        """What an agent meets that needs approval and may not get an operation (2)."""
        return Refusal()

    def decline(self, operation: ApprovedOperation, approval: ApprovalStatement) -> Decline | None:
        """Refuse a valid approval of any action; asked after the action's own policy (6)."""
        return None

    def extra_members(self, request: HttpRequest, interface: str) -> Mapping[str, Any]:
        """More members for the body that asks for approval, such as the API's own fields (4)."""
        return {}

    def unfinished(self, request: HttpRequest, operation_id: str) -> HttpResponse | None:
        """What an API says while an action is being performed, or nobody knows if it was (7).

        ``None``: 503 with ``Retry-After``. It must not read as if the action had failed, nor as if
        it were done.
        """
        return None


def account_of(user: AbstractBaseUser | AnonymousUser) -> str | None:
    """What ``Company.account_of`` says of a user. Raises ``TypeError`` if it is no text."""
    account = get_company().account_of(user)
    if account is not None:
        require_identity("Company.account_of returns an account, which", account)
    return account


_VERIFIED = "_poppy_verified"


def verified_session(request: HttpRequest) -> Session:
    """The Session of an agent's request, verified once for each request.

    Raises a ``SessionRefused``, the same one at every call.
    """
    outcome: Session | SessionRefused | None = getattr(request, _VERIFIED, None)
    if outcome is None:
        hide_from_reports(request)
        try:
            outcome = get_company().session_for(request)
        except SessionRefused as refused:
            outcome = refused
        setattr(request, _VERIFIED, outcome)
    if isinstance(outcome, SessionRefused):
        raise outcome
    return outcome


def get_company() -> Company:
    """The site's ``Company``. Read at every use, so that settings can change in tests.

    Raises ``ImproperlyConfigured`` if the setting names something else.
    """
    named: object = import_string(conf.company)
    if not isinstance(named, type) or not issubclass(named, Company):
        message = (
            f"POPPY_OPERATIONS['COMPANY'] is {conf.company}, which is no subclass of "
            "poppy_operations.Company."
        )
        raise ImproperlyConfigured(message)
    return named()
