"""Key sets that are published at a URL: when to load them again, and how long to use old ones.

One rule for the agents' key sets, kept in their rows, and the token issuer's, kept in memory.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Final

from poppy_operations.sessions.fetching import FetchFailed, fetch
from poppy_operations.sessions.keys import (
    MalformedKeySet,
    PublicKey,
    matching_keys,
    parsed_key_set,
)
from poppy_operations.sessions.refusals import KeysUnavailable

# All in seconds.
FRESH_FOR: Final = 600
RELOAD_AT_MOST_EVERY: Final = 30
USABLE_AFTER_FAILURE_FOR: Final = 3600

logger = logging.getLogger("poppy_operations")


@dataclass(frozen=True)
class KeySetState:
    """A reduced key set and how loading it went; times in seconds since 1970."""

    keys: str = ""
    loaded_at: int | None = None
    tried_at: int | None = None
    failing_since: int | None = None

    def is_fresh(self, now: int) -> bool:
        """Whether the keys are recent. If not, they are loaded again, so that removed keys go."""
        return self.loaded_at is not None and now - self.loaded_at < FRESH_FOR

    def may_be_tried(self, now: int) -> bool:
        """Whether a new try is allowed; failed tries count as well."""
        return self.tried_at is None or now - self.tried_at >= RELOAD_AT_MOST_EVERY

    def is_usable(self, now: int) -> bool:
        """Whether there are keys, and reloading has not been failing for an hour."""
        if self.loaded_at is None:
            return False
        return self.failing_since is None or now - self.failing_since < USABLE_AFTER_FAILURE_FOR

    @property
    def is_settled(self) -> bool:
        """Whether the last try succeeded; if not, a key that is not here may well exist."""
        return (
            self.loaded_at is not None
            and self.failing_since is None
            and (self.tried_at is None or self.tried_at <= self.loaded_at)
        )

    def after_failure(self, now: int) -> KeySetState:
        """Give the state after a try that failed."""
        since = now if self.failing_since is None else self.failing_since
        return replace(self, tried_at=now, failing_since=since)


class KeySource(ABC):
    """A key set at a URL, with its state kept somewhere."""

    name: str
    state: KeySetState

    @abstractmethod
    def claim(self, now: int) -> bool:
        """Take this try, so that nobody else loads at the same time; false if it is taken."""

    @abstractmethod
    def load(self) -> str:
        """Give the reduced key set. Raises FetchFailed or MalformedKeySet."""

    @abstractmethod
    def store(self, state: KeySetState) -> None:
        """Keep the state that results from a claimed try."""

    def matching(self, *, alg: object, kid: object, now: int) -> tuple[PublicKey, ...]:
        """Give the keys for ``alg`` and ``kid``, loading the set again if that may help.

        Raises:
            KeysUnavailable: there is no usable set, or the key may be in one that could not be
                loaded.

        """
        self.keep_fresh(now)
        keys = matching_keys(self.state.keys, alg=alg, kid=kid)
        if not keys:
            self._try(now)
            keys = matching_keys(self.state.keys, alg=alg, kid=kid)
        if not keys and not self.state.is_settled:
            raise self.unavailable()
        return keys

    def keep_fresh(self, now: int) -> None:
        """Load the set again when it is old, so that removed keys are noticed.

        Raises:
            KeysUnavailable: there is no usable set.

        """
        if not self.state.is_fresh(now):
            self._try(now)
        if not self.state.is_usable(now):
            raise self.unavailable()

    def _try(self, now: int) -> None:
        if self.state.may_be_tried(now) and self.claim(now):
            self.reload(now)

    def reload(self, now: int) -> bool:
        """Load the set now, keep the result, and return whether the set could be loaded."""
        try:
            keys = self.load()
        except (FetchFailed, MalformedKeySet) as error:
            logger.warning(
                "The key set of %s cannot be loaded: %s",
                self.name,
                error,
                extra={"key_set": self.name},
            )
            self.store(self.state.after_failure(now))
            return False
        self.store(KeySetState(keys, loaded_at=now, tried_at=now))
        return True

    def unavailable(self) -> KeysUnavailable:
        """Give the refusal of a request that needs this key set."""
        message = f"The key set of {self.name} cannot be loaded."
        return KeysUnavailable(message, retry_after=RELOAD_AT_MOST_EVERY)


class RemoteKeySet(KeySource):
    """The key set at a URL of the Company's own choice, kept in this process."""

    def __init__(self, url: str) -> None:
        self.name = url
        self.state = KeySetState()
        self._lock = threading.Lock()

    def claim(self, now: int) -> bool:
        """Take this try for this thread."""
        with self._lock:
            if not self.state.may_be_tried(now):
                return False
            self.state = replace(self.state, tried_at=now)
            return True

    def load(self) -> str:
        """Fetch the key set."""
        return parsed_key_set(fetch(self.name))

    def store(self, state: KeySetState) -> None:
        """Keep the state for the threads of this process."""
        self.state = state
