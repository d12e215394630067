"""Settings of the package, changed for one test."""

from __future__ import annotations

from typing import Any


def configure(settings: Any, **values: Any) -> None:
    """Change settings of the package, and leave the others as they are."""
    settings.POPPY_OPERATIONS = {**settings.POPPY_OPERATIONS, **values}
