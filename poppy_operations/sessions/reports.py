"""Error reports, Django's page for developers and its mails to ADMINS, without what agents send.

A Session is a credential, and Django hides cookies and ``Authorization`` only.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter, get_exception_reporter_filter

_HEADER_PREFIX = "HTTP_POPPY_"
_PACKAGE = __name__.partition(".")[0]
_MIDDLEWARE = f"{_PACKAGE}.middleware"
# What this package calls, and never the site's own code: it is told by who has called it.
_TOOLS = frozenset(
    {"MySQLdb", "asgiref", "celery", "django", "kombu", "psycopg", "pymysql", "rest_framework"}
)
_HIDING: dict[type, type[HidesAgents]] = {}


def hide_from_reports(request: HttpRequest) -> None:
    """Let reports on a request show no Session and no approval, even if the site shows headers.

    Everything else is left to the site's own ``DEFAULT_EXCEPTION_REPORTER_FILTER``.
    """
    if isinstance(get_exception_reporter_filter(request), HidesAgents):
        return
    if any(name.startswith(_HEADER_PREFIX) for name in request.META):
        hide_our_frames(request)


def hide_our_frames(request: HttpRequest) -> None:
    """Hide this package's frames in reports on a request, such as a browser's: they hold terms."""
    before = get_exception_reporter_filter(request)
    if not isinstance(before, HidesAgents):
        # Django looks for it there.
        setattr(request, "exception_reporter_filter", _hiding(type(before))())  # noqa: B010  no attribute for the stubs


def report_request() -> HttpRequest:
    """A request for reports on what no request has asked for: it hides what this package holds."""
    request = HttpRequest()
    request.META |= {"SERVER_NAME": "worker", "SERVER_PORT": "0"}  # a report names its host
    hide_our_frames(request)
    return request


def clear_our_frames(error: BaseException) -> None:
    """Forget what this package's frames hold, for whoever reports on an error without a request.

    Frames that still run keep what they hold.
    """
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        left += [one.__cause__, one.__context__]
        _clear(one.__traceback__)


def _clear(traceback: TracebackType | None) -> None:
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if _is_ours(frame):
            with suppress(RuntimeError):
                frame.clear()


class HidesAgents(SafeExceptionReporterFilter):
    """Hides the protocol's headers, and outside DEBUG the values that this package worked with."""

    def get_safe_request_meta(self, request: HttpRequest) -> dict[str, Any]:
        """Give the request's META, without the values of the protocol's headers.

        Nor has it the CSRF cookie, which Django notes there.
        """
        meta: dict[str, Any] = super().get_safe_request_meta(request)
        names = [name for name in meta if name.startswith(_HEADER_PREFIX) or name == "CSRF_COOKIE"]
        hidden = dict.fromkeys(names, self.cleansed_substitute)
        return {**meta, **hidden}

    def get_traceback_frame_variables(
        self, request: HttpRequest | None, tb_frame: FrameType
    ) -> Any:
        """Give a frame's variables; if it is this package's, their names: they hold Sessions.

        The same of frames that this package has called, such as Django's that write its rows.
        """
        if self.is_active(request) and _is_ours(tb_frame):
            return [(name, self.cleansed_substitute) for name in tb_frame.f_locals]
        return super().get_traceback_frame_variables(request, tb_frame)

    def get_safe_cookies(self, request: HttpRequest) -> dict[str, Any]:
        """Give the cookies; of those that are a session or mark one, that they were there."""
        cookies: dict[str, Any] = super().get_safe_cookies(request)
        sessions = [name for name in cookies if name.startswith(settings.SESSION_COOKIE_NAME)]
        return {**cookies, **dict.fromkeys(sessions, self.cleansed_substitute)}


class _InReports(logging.Filter):
    """Gives what is logged of an error a request, by which Django's mails know what to hide."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes."""
        if record.exc_info and getattr(record, "request", None) is None:
            record.request = report_request()
        return True


logger = logging.getLogger(_PACKAGE)
logger.addFilter(_InReports())


def _is_ours(frame: FrameType | None) -> bool:
    """Whether it is this package's, or was called by it alone."""
    is_called = False
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        package = name.partition(".")[0]
        # Django's way to every view leads through our middleware.
        if package not in _TOOLS and not (is_called and name == _MIDDLEWARE):
            return package == _PACKAGE
        frame, is_called = frame.f_back, True
    return False


def _hiding(base: type) -> type[HidesAgents]:
    if base not in _HIDING:
        _HIDING[base] = type(base.__name__, (HidesAgents, base), {})
    return _HIDING[base]
