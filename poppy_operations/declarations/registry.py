"""The actions of this site, by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poppy_operations.declarations.declared_action import DeclaredAction


class Registry:
    """The actions of this site, by name."""

    def __init__(self) -> None:
        self._actions: dict[str, DeclaredAction] = {}

    def add(self, action: DeclaredAction) -> None:
        """Add an action; it replaces the action that an earlier run of the same module declared.

        Raises ``ValueError`` if another action has its name.
        """
        other = self._actions.get(action.name)
        if other is not None and not action.declared_by.is_again(other.declared_by):
            message = (
                f"Two actions are called {action.name!r}, declared by {other.declared_by} and by "
                f"{action.declared_by}; a name is used once."
            )
            raise ValueError(message)
        self._actions[action.name] = action

    def discard(self, action: DeclaredAction) -> None:
        """Take an action out again, as tests do that declare their own."""
        self._actions.pop(action.name, None)

    def get(self, name: str) -> DeclaredAction | None:
        """The action of that name; ``None`` if none is declared, such as one that was dropped."""
        return self._actions.get(name)

    def __iter__(self) -> Iterator[DeclaredAction]:
        return iter(list(self._actions.values()))

    @property
    def on_website(self) -> bool:
        """Whether any action returns operations on the website (2)."""
        return any(action.website and action.has_website_door for action in self._actions.values())


registry = Registry()
