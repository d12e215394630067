"""What this process has verified, kept for as long as there is room for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Known(Generic[K, V]):
    """So many of them; the one unused for longest makes room."""

    MOST: Final = 1024

    def __init__(self) -> None:
        self._known: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Give what is kept for exactly this key."""
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
            return known

    def put(self, key: K, verified: V) -> None:
        """Keep what was verified."""
        with self._lock:
            self._known[key] = verified
            self._known.move_to_end(key)
            if len(self._known) > self.MOST:
                self._known.popitem(last=False)
