"""Which module declares something, so that a module that is imported again may declare it again."""

from __future__ import annotations

import sys
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Declaring:
    """The module whose code is running, and which run of it this is."""

    module: str | None
    run: object

    @classmethod
    def now(cls) -> Declaring:
        """The innermost module whose own code is running, as while it is imported."""
        frame = sys._getframe(1)  # noqa: SLF001  what the inspect module uses as well
        while frame.f_code.co_name != "<module>" and frame.f_back is not None:
            frame = frame.f_back
        names = frame.f_globals
        # Each import and each reload makes another specification; a script has none.
        run = names.get("__spec__")
        return cls(names.get("__name__"), names if run is None else run)

    def is_again(self, earlier: Declaring) -> bool:
        """Whether the same module runs once more: its import had failed, or it is reloaded."""
        return (
            self.module is not None
            and self.module == earlier.module
            and self.run is not earlier.run
        )

    def __str__(self) -> str:
        return self.module or "a script"
