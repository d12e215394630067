"""Log records that name their operation: in the text for people, as ``extra`` for machines."""

from __future__ import annotations

import logging
from typing import Any, TypedDict

LONGEST_TOLD = 500
# What every record has; anything else is an ``extra``.
_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _Escapes(logging.Filter):
    """Keeps one record one line: names and references come from whoever sent a request.

    The values of a message are escaped and cut, whichever module logs it.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Escape the values of a record; every record passes."""
        if isinstance(record.args, tuple):
            record.args = tuple(_argument(value) for value in record.args)
        elif record.args:
            record.args = {name: _argument(value) for name, value in record.args.items()}
        for name in vars(record).keys() - _OF_EVERY_RECORD:
            setattr(record, name, _extra(getattr(record, name)))
        return True


def escaped(text: str) -> str:
    """A text with escapes for line breaks and other unprintable characters; cut if it is long."""
    cut = text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}…"
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in cut)


def _argument(value: object) -> object:
    return value if isinstance(value, int | float) else escaped(str(value))


def _extra(value: object) -> object:
    if isinstance(value, str):
        return escaped(value)
    return [_extra(one) for one in value] if isinstance(value, list) else value


logger = logging.getLogger("poppy_operations")
logger.addFilter(_Escapes())


class About(TypedDict):
    """What names an operation in the log."""

    operation_id: str
    action: str


def about(operation: Any) -> About:
    """Name an operation, a row of ``Operation``, for ``log_of``."""
    return {"operation_id": operation.operation_id, "action": operation.action}


def is_logged(level: int) -> bool:
    """Whether anybody reads what is logged at a level."""
    return logger.isEnabledFor(level)


def log_of(
    level: int,
    message: str,
    *values: object,
    operation_id: str = "",
    action: str = "",
    error: BaseException | None = None,
    request: object = None,
    **extra: object,
) -> None:
    """Log a sentence with the operation and the action that it is about, if there are any.

    ``values`` go into the message's placeholders. ``error`` is logged with its traceback, and with
    the ``request``, which tells Django's mails what a report must not show. Never log terms and
    secrets.
    """
    if not is_logged(level):
        return
    about = {"operation_id": operation_id, "action": action}
    told = {name: value for name, value in about.items() if value}
    names = ", ".join(f"{name} %s" for name in told)
    text = f"{message} ({names})" if names else message
    if error is not None and request is not None:
        extra["request"] = request
    logger.log(level, text, *values, *told.values(), exc_info=error, extra={**told, **extra})
