"""Every message of the system checks, in one table; ``docs/reference/checks.md`` explains each."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.core.checks import CheckMessage, Error, Warning  # noqa: A004  Django's own name

MESSAGES: tuple[CheckMessage, ...] = (
    Error(
        "POPPY_OPERATIONS is not a dict.",
        hint="Give the settings of this app as a dict, with ISSUER at least.",
        id="poppy_operations.E001",
    ),
    Error(
        "POPPY_OPERATIONS has no setting %(key)s.",
        hint="%(advice)s",
        id="poppy_operations.E002",
    ),
    Error(
        "POPPY_OPERATIONS['%(key)s'] should be %(kind)s.",
        hint="It is of the type %(type)s, or out of range. Leave it out to get the default.",
        id="poppy_operations.E003",
    ),
    Error(
        "POPPY_OPERATIONS['ISSUER'] is not set.",
        hint="Set it to this Company's issuer, the HTTPS URL that Session JWTs have as `aud`.",
        id="poppy_operations.E004",
    ),
    Error(
        "POPPY_OPERATIONS['ISSUER'] is not an HTTPS URL.",
        hint=(
            "Set it to an absolute HTTPS URL. Plain HTTP will do on a loopback address and in "
            "DEBUG only."
        ),
        id="poppy_operations.E005",
    ),
    Error(
        "POPPY_OPERATIONS['ISSUER'] is a plain HTTP URL, and so is the endpoint.",
        hint=(
            "Deploy with an HTTPS issuer: the endpoint is on its origin, and agents send their "
            "Sessions and access tokens there."
        ),
        id="poppy_operations.E006",
    ),
    Error(
        "PersonalAgentMiddleware is not in MIDDLEWARE.",
        hint=(
            "Add 'poppy_operations.middleware.PersonalAgentMiddleware' after Django's session and "
            "authentication middleware: without it, logins outlive the joins that gave them, and "
            "after a sign-out an agent's browser passes for an ordinary visitor's."
        ),
        id="poppy_operations.E007",
    ),
    Error(
        "PersonalAgentMiddleware stands before %(other)s in MIDDLEWARE.",
        hint="Move it below Django's session and authentication middleware.",
        id="poppy_operations.E008",
    ),
    Error(
        "SessionMiddleware is not in MIDDLEWARE, and actions are offered on the website.",
        hint=(
            "Add 'django.contrib.sessions.middleware.SessionMiddleware': an agent's browser is "
            "known by its Django session. Another package's middleware counts if its name ends in "
            "SessionMiddleware. If the website does not offer an action, declare it website=False."
        ),
        id="poppy_operations.E009",
    ),
    Error(
        "The URLs of poppy_operations are not included, and actions are offered on the website.",
        hint=(
            "Add path('poppy/', include('poppy_operations.urls')) to the URLconf: it has the "
            "endpoint, the browser join and the waiting page."
        ),
        id="poppy_operations.E010",
    ),
    Error(
        "POPPY_OPERATIONS['COMPANY'] cannot be imported: %(error)s",
        hint="Give the dotted path of a class, such as 'shop.company.Company'.",
        id="poppy_operations.E011",
    ),
    Error(
        "POPPY_OPERATIONS['COMPANY'] is not a subclass of poppy_operations.company.Company.",
        hint="Derive the class with the site's hooks from it, so that every hook has a default.",
        id="poppy_operations.E012",
    ),
    Error(
        "%(company)s overrides %(hook)s in a way that the app cannot call.",
        hint="The app calls it as %(call)s, and does not await it.",
        id="poppy_operations.E013",
    ),
    Error(
        "AUTOCOMMIT is off for the database '%(alias)s'.",
        hint=(
            "Turn it on: a claim has to be committed before the action runs, and with it off "
            "every gated request of an agent is answered 503."
        ),
        id="poppy_operations.E014",
    ),
    Error(
        "Django sessions are kept in signed cookies, and browsers can be joined.",
        hint=(
            "Use another SESSION_ENGINE, such as django.contrib.sessions.backends.db: a browser "
            "could put back a cookie from before its join, and pass for an ordinary visitor's."
        ),
        id="poppy_operations.E015",
    ),
    Error(
        "The action %(action)s runs in the background, and its queue %(queue)s cannot be used: "
        "%(error)s",
        hint=(
            "POPPY_OPERATIONS['QUEUE'] is the dotted path of a function that takes an operation_id "
            "and an attempt; the default one needs poppy-operations[celery]. As long as the queue "
            "cannot be used, every request for the action is answered 503."
        ),
        id="poppy_operations.E016",
    ),
    Error(
        "%(verifier)s is not a class that is derived from %(base)s.",
        hint="Derive it, and override the steps that differ: an object of it is made for each use.",
        id="poppy_operations.E017",
    ),
    Error(
        "The %(name)s= of the gated view %(view)s does not take the arguments of '%(path)s'.",
        hint="It is called as its view is: %(call)s. Add what is missing, or **kwargs.",
        id="poppy_operations.E018",
    ),
    Error(
        "The view %(view)s calls %(call)s() of the action %(action)s, whose @gated is missing.",
        hint=(
            "Decorate the class of the view with the action's `gated`: without it every request "
            "that reaches the call fails. If the view is a function, use the action's `view`."
        ),
        id="poppy_operations.E019",
    ),
    Error(
        "The gate of the action %(action)s in %(view)s is for no method of its handler.",
        hint=(
            "The decorated handler answers %(methods)s, but methods= names others: name the "
            "methods that change something, such as methods=['GET']."
        ),
        id="poppy_operations.E020",
    ),
    Warning(
        "The SQLite database '%(alias)s' begins its transactions without a lock.",
        hint=(
            "Set OPTIONS['transaction_mode'] = 'IMMEDIATE': otherwise a transaction that reads "
            "first fails at once if another one is writing, and does not wait."
        ),
        id="poppy_operations.W001",
    ),
    Warning(
        "The SQLite database '%(alias)s' has no timeout of its own.",
        hint=(
            "Set OPTIONS['timeout'] = 20, in seconds: an action that holds the lock for longer "
            "than the default of 5 turns others away with 503."
        ),
        id="poppy_operations.W002",
    ),
    Warning(
        "The gated view %(view)s is async, and ATOMIC_REQUESTS is on for '%(alias)s'.",
        hint=(
            "Django then refuses async views, so that ordinary visitors get an error: put "
            "transaction.non_atomic_requests around the view, or around what as_view() gives."
        ),
        id="poppy_operations.W003",
    ),
    Warning(
        "Django sessions are kept in a cache alone, and browsers can be joined.",
        hint=(
            "Use django.contrib.sessions.backends.cached_db: a cache forgets sessions when it "
            "is full. If it forgets the one of an agent's browser, the browser's join is lost, "
            "and only the cookie still marks the browser."
        ),
        id="poppy_operations.W004",
    ),
    Warning(
        "The external action %(action)s has no reconcile hook.",
        hint=(
            "Give it one with the action's decorator `reconcile`, to find out what became of an "
            "attempt; without it, a person has to settle every unknown outcome."
        ),
        id="poppy_operations.W005",
    ),
    Warning(
        "POPPY_OPERATIONS['TOKEN_JWKS'] is not set: no access token can be verified.",
        hint=(
            "Set it to the key set of the authorization server, or to its HTTPS URL, or give "
            "the Company a token_verifier. If no agent is ever signed in, silence this check."
        ),
        id="poppy_operations.W006",
    ),
    Warning(
        "Nothing says that requests come through HTTPS alone.",
        hint=(
            "Set SECURE_SSL_REDIRECT, and behind a proxy SECURE_PROXY_SSL_HEADER: Sessions and "
            "tokens must not travel in the open, and join URLs get the scheme that Django sees."
        ),
        id="poppy_operations.W007",
    ),
    Warning(
        "The database '%(alias)s' answers a commit before it is on the disk: %(said)s.",
        hint=(
            "%(advice)s: a power failure may undo the last commits, and with them the knowledge "
            "that an action was performed, which is then performed again."
        ),
        id="poppy_operations.W008",
    ),
    Warning(
        "%(middleware)s signs browsers in without asking anybody, and browsers can be joined.",
        hint=(
            "Keep such a sign-on from agents' browsers, or let people sign in by hand: an agent's "
            "browser that drops its cookies is an ordinary visitor's, and would be signed in at "
            "once. Silence this check if agents' browsers do not get it."
        ),
        id="poppy_operations.W009",
    ),
    Warning(
        "%(company)s has a method %(name)s, which looks like the hook %(hook)s.",
        hint="Nothing calls it. Write %(hook)s if that is meant, or give it a name of its own.",
        id="poppy_operations.W010",
    ),
    Warning(
        "The database '%(alias)s' cannot hold every character: %(said)s.",
        hint=(
            "Use utf8mb4 for the connection (OPTIONS['charset']) and for the columns (ALTER TABLE "
            "… CONVERT TO CHARACTER SET utf8mb4): terms with any other character, such as an "
            "emoji, are answered with an error, so that their action cannot be approved."
        ),
        id="poppy_operations.W011",
    ),
    Warning(
        "%(middleware)s in MIDDLEWARE opens a transaction around every request.",
        hint=(
            "Derive it with atomic = False, or take it out and create revisions inside the views: "
            "an agent's request for a gated view fails in such a transaction, which could undo "
            "the record that the action was performed."
        ),
        id="poppy_operations.W012",
    ),
    Warning(
        "The view %(view)s accepts access tokens of %(package)s, and %(company)s does not know "
        "which clients they were issued to.",
        hint=(
            "Derive the Company from %(adapter)s, or give it a client_of of its own: otherwise "
            "every such token is taken for an agent's, and the site's own apps are refused with "
            "invalid_session."
        ),
        id="poppy_operations.W013",
    ),
)

_BY_ID = {message.id: message for message in MESSAGES}


def message(number: str, **named: Any) -> CheckMessage:
    """Give the message with the id ``poppy_operations.<number>``, its gaps filled."""
    found = copy(_BY_ID[f"poppy_operations.{number}"])
    found.msg = found.msg % named
    found.hint = (found.hint or "") % named
    return found
