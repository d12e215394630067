"""What is logged of an operation names it: in the text for people, as ``extra`` for machines."""

from __future__ import annotations

import logging
from typing import Any, TypedDict

logger = logging.getLogger("poppy_operations")


class About(TypedDict):
    """What names an operation in the log."""

    operation_id: str
    action: str


def about(operation: Any) -> About:
    """Name an operation, a row of ``Operation``, for ``log_of``."""
    return {"operation_id": operation.operation_id, "action": operation.action}


def log_of(
    level: int,
    message: str,
    *values: object,
    operation_id: str = "",
    action: str = "",
    error: BaseException | None = None,
    **extra: object,
) -> None:
    """Log a sentence, and which operation and action it is about, as far as there are any.

    ``values`` go into the message's placeholders. ``error`` is logged with its traceback. Terms and
    secrets have no place here.
    """
    about = {"operation_id": operation_id, "action": action}
    told = {name: value for name, value in about.items() if value}
    names = ", ".join(f"{name} %s" for name in told)
    text = f"{message} ({names})" if names else message
    logger.log(level, text, *values, *told.values(), exc_info=error, extra={**told, **extra})
