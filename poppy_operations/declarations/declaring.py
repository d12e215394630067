"""Which module declares something, so that a module that is imported again may declare it again."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Declaring:
    """The module whose code is executed, and by which specification: each import has its own."""

    module: str | None
    spec: object

    @classmethod
    def now(cls) -> Declaring:
        """The innermost module whose own code is executed, as it is while it is imported."""
        frame = sys._getframe(1)  # noqa: SLF001  what the inspect module uses as well
        while frame.f_code.co_name != "<module>" and frame.f_back is not None:
            frame = frame.f_back
        names = frame.f_globals
        # Each import and each reload makes another specification; a script has none.
        spec = names.get("__spec__")
        return cls(names.get("__name__"), names if spec is None else spec)

    def is_again(self, earlier: Declaring) -> bool:
        """Whether the same module is executed again: its import failed below, or it is reloaded."""
        return (
            self.module is not None
            and self.module == earlier.module
            and self.spec is not earlier.spec
        )

    def __str__(self) -> str:
        return self.module or "a script"
