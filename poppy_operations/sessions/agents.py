"""The allow-list of Personal Agents: the only code that writes ``Agent`` rows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from django.db.models import Q, QuerySet

from poppy_operations.models import Agent
from poppy_operations.models.databases import place_of, write_alias
from poppy_operations.models.lengths import NAME_LENGTH
from poppy_operations.models.statements import Columns, Reading, given
from poppy_operations.sessions.clock import epoch, stored
from poppy_operations.sessions.fetching import checked_url, fetch
from poppy_operations.sessions.key_sets import RELOAD_AT_MOST_EVERY, KeySetState, KeySource
from poppy_operations.sessions.keys import (
    PublicKey,
    matching_keys,
    parsed_key_set,
    usable_key_set,
)

_KEY_FIELDS: Final = ("jwks", "jwks_uri", "keys_loaded_at", "keys_tried_at", "keys_failing_since")


class UnknownAgent(LookupError):
    """No Personal Agent on the allow-list has this client ID."""


def find_agent(client_id: str) -> Agent | None:
    """Give the agent with exactly this client ID, if it is listed, even revoked. One query."""
    row = _FOUND.exact("client_id", client_id=client_id)
    return None if row is None else row[0]


_FOUND = Reading(lambda: Agent.objects.filter(client_id=given(Agent, "client_id")), Columns(Agent))


def known_agent(client_id: str) -> Agent:
    """Give the agent with this client ID, allowed or revoked.

    Raises:
        UnknownAgent: it is not on the allow-list.

    """
    agent = find_agent(client_id)
    if agent is None:
        message = f"There is no Personal Agent {client_id!r} on the allow-list."
        raise UnknownAgent(message)
    return agent


def listed_agents() -> QuerySet[Agent]:
    """Give the whole allow-list, revoked agents included, by client ID."""
    return Agent.objects.using(write_alias()).order_by("client_id")


def revoked_client_ids() -> QuerySet[Agent, str]:
    """Give the client IDs of all revoked agents, to be asked for inside another query."""
    return listed_agents().filter(status=Agent.Status.REVOKED).values_list("client_id", flat=True)


def add_agent(
    client_id: str,
    *,
    name: str = "",
    jwks: Mapping[str, Any] | None = None,
    jwks_uri: str = "",
    again: bool = False,
) -> Agent:
    """Put an agent on the allow-list, with its key set or the URL of its key set.

    If the agent is listed already, it gets the new name and keys. If it was revoked, it is allowed
    again only with ``again``: a script that gives agents their keys must not undo a revocation.

    Raises:
        ValueError: the agent was revoked and ``again`` is false, the client ID is no HTTPS URL
            (HTTP in DEBUG), not exactly one of ``jwks`` and ``jwks_uri`` is given, ``jwks`` has no
            usable key, ``jwks_uri`` is not on the client ID's host, or another agent's client ID
            differs only in case.

    """
    fields = {"name": _checked_name(name), **_checked_keys(client_id, jwks, jwks_uri)}
    fields |= {"status": Agent.Status.ALLOWED, "revoked_at": None}
    agent, is_new = listed_agents().get_or_create(client_id=client_id, defaults=fields)
    if agent.client_id != client_id:
        message = f"The client ID is too like that of the agent {agent.client_id!r}."
        raise ValueError(message)
    if agent.status == Agent.Status.REVOKED and not again:
        message = f"The agent {client_id!r} was revoked; it has to be allowed again expressly."
        raise ValueError(message)
    if not is_new:
        _write(agent, **fields)
    return agent


def revoke_agent(client_id: str) -> Agent:
    """Take an agent off the allow-list: from now on none of its Sessions is accepted (8.1).

    Raises:
        UnknownAgent: it is not on the allow-list.

    """
    agent = known_agent(client_id)
    if agent.status != Agent.Status.REVOKED:
        _write(agent, status=Agent.Status.REVOKED, revoked_at=stored(epoch()))
    return agent


def refresh_keys(agent: Agent, *, now: datetime | None = None) -> None:
    """Load the agent's key set now, even if that was tried a moment ago: for operators.

    Raises:
        ValueError: its keys were given when it was added; there is no URL to load them from.
        KeysUnavailable: the key set could not be loaded; the log says why.

    """
    if not agent.jwks_uri:
        message = "The agent has no JWKS URI: its keys were given when it was added."
        raise ValueError(message)
    keys, at = AgentKeys(agent), epoch(now)
    _write(agent, keys_tried_at=stored(at))
    if not keys.reload(at):
        raise keys.unavailable()


def _checked_name(name: str) -> str:
    if len(name) > NAME_LENGTH or not name.isprintable():
        message = f"The name is longer than {NAME_LENGTH} characters or not printable."
        raise ValueError(message)
    return name


def _checked_keys(client_id: str, jwks: Mapping[str, Any] | None, jwks_uri: str) -> dict[str, Any]:
    host = _checked_host(client_id)
    if (jwks is None) != bool(jwks_uri):
        message = "Give either a key set or the URI of one."
        raise ValueError(message)
    keys, loaded_at = "", None
    if jwks is not None:
        keys, loaded_at = usable_key_set(jwks), stored(epoch())
        if keys == usable_key_set({"keys": []}):
            message = "The key set has no key that is accepted."
            raise ValueError(message)
    elif _checked_host(jwks_uri) != host:
        message = f"The JWKS URI is not on the client ID's host {host}."
        raise ValueError(message)
    return {
        "jwks": keys,
        "jwks_uri": jwks_uri,
        "keys_loaded_at": loaded_at,
        "keys_tried_at": None,
        "keys_failing_since": None,
    }


def _checked_host(url: str) -> str:
    # URLs that pass are short enough for their columns.
    return checked_url(url).hostname or ""


def _write(agent: Agent, **fields: Any) -> None:
    listed_agents().filter(pk=agent.pk).update(**fields)
    for field, value in fields.items():
        setattr(agent, field, value)


class AgentKeys(KeySource):
    """The key set of an agent, with its state in the agent's row."""

    def __init__(self, agent: Agent) -> None:
        self.name = agent.client_id
        self._agent = agent
        self._read()

    def _read(self) -> None:
        self.state = KeySetState(
            self._agent.jwks,
            _epoch_or_none(self._agent.keys_loaded_at),
            _epoch_or_none(self._agent.keys_tried_at),
            _epoch_or_none(self._agent.keys_failing_since),
        )

    def _read_again(self) -> None:
        self._agent.refresh_from_db(fields=_KEY_FIELDS, from_queryset=listed_agents())
        self._read()

    def matching(self, *, alg: object, kid: object, now: int) -> tuple[PublicKey, ...]:
        """Give the keys. If they were given by hand, nothing is loaded."""
        if not self._agent.jwks_uri:
            return matching_keys(self.state.keys, alg=alg, kid=kid)
        return super().matching(alg=alg, kid=kid, now=now)

    def keep_fresh(self, now: int) -> None:
        """Load the set again when it is old, unless it was given by hand."""
        if self._agent.jwks_uri:
            super().keep_fresh(now)

    def claim(self, now: int) -> bool:
        """Take this try, in the agent's row and, in case that is rolled back, in this process."""
        earlier = stored(now - RELOAD_AT_MOST_EVERY)
        due = Q(keys_tried_at__isnull=True) | Q(keys_tried_at__lte=earlier)
        rows = listed_agents().filter(due, pk=self._agent.pk, jwks_uri=self._agent.jwks_uri)
        key = place_of(rows.db), self._agent.pk, self._agent.jwks_uri
        if tries.take(key, now) and rows.update(keys_tried_at=stored(now)):
            self.state = replace(self.state, tried_at=now)
            return True
        self._read_again()  # another request is loading the keys, or has just tried
        return False

    def load(self) -> str:
        """Fetch the key set from the host that the client ID names, and from no other."""
        host = checked_url(self._agent.client_id).hostname
        return parsed_key_set(fetch(self._agent.jwks_uri, host=host))

    def store(self, state: KeySetState) -> None:
        """Keep the state in the row, unless the row has changed since the claim."""
        rows = listed_agents().filter(
            pk=self._agent.pk,
            jwks_uri=self._agent.jwks_uri,
            keys_tried_at=_stored_or_none(state.tried_at),
        )
        rows.update(
            jwks=state.keys,
            keys_loaded_at=_stored_or_none(state.loaded_at),
            keys_failing_since=_stored_or_none(state.failing_since),
        )
        self._read_again()


def _epoch_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else epoch(moment)


def _stored_or_none(seconds: int | None) -> datetime | None:
    return None if seconds is None else stored(seconds)


class Tries:
    """When this process last tried to load each key set.

    The agent's row holds that too. But if a request's transaction is rolled back, as after a
    refusal in Django REST framework, the row forgets, and each request would fetch again.
    """

    MOST: Final = 1024

    def __init__(self) -> None:
        self._at: OrderedDict[Hashable, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: Hashable, now: int) -> bool:
        """Note a try, unless there was one within the last half minute."""
        with self._lock:
            last = self._at.get(key)
            if last is not None and abs(now - last) < RELOAD_AT_MOST_EVERY:
                return False
            self._at[key] = now
            self._at.move_to_end(key)
            if len(self._at) > self.MOST:
                self._at.popitem(last=False)
            return True

    def clear(self) -> None:
        """Forget all, between tests."""
        with self._lock:
            self._at.clear()


tries = Tries()
