"""Error reports, Django's page for developers and its mails to ADMINS, without what agents send.

A Session is a credential, and Django hides cookies and ``Authorization`` only.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter, get_exception_reporter_filter

_HEADER_PREFIX = "HTTP_POPPY_"
_PACKAGE = __name__.partition(".")[0]
_HIDING: dict[type, type[HidesAgents]] = {}


def hide_from_reports(request: HttpRequest) -> None:
    """Let reports on a request show no Session and no approval, even if the site shows headers.

    Everything else is left to the site's own ``DEFAULT_EXCEPTION_REPORTER_FILTER``.
    """
    if any(name.startswith(_HEADER_PREFIX) for name in request.META):
        hide_our_frames(request)


def hide_our_frames(request: HttpRequest) -> None:
    """Hide this package's frames in reports on a request, such as a browser's: they hold terms."""
    before = get_exception_reporter_filter(request)
    if not isinstance(before, HidesAgents):
        # Django looks for it there.
        setattr(request, "exception_reporter_filter", _hiding(type(before))())  # noqa: B010  no attribute for the stubs


class HidesAgents(SafeExceptionReporterFilter):
    """Hides the protocol's headers, and outside DEBUG the values that this package worked with."""

    def get_safe_request_meta(self, request: HttpRequest) -> dict[str, Any]:
        """Give the request's META, without the values of the protocol's headers."""
        meta: dict[str, Any] = super().get_safe_request_meta(request)
        hidden = {
            name: self.cleansed_substitute for name in meta if name.startswith(_HEADER_PREFIX)
        }
        return {**meta, **hidden}

    def get_traceback_frame_variables(
        self, request: HttpRequest | None, tb_frame: FrameType
    ) -> Any:
        """Give a frame's variables; if it is this package's, their names: they hold Sessions."""
        module = str(tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == _PACKAGE and self.is_active(request):
            return [(name, self.cleansed_substitute) for name in tb_frame.f_locals]
        return super().get_traceback_frame_variables(request, tb_frame)


def _hiding(base: type) -> type[HidesAgents]:
    if base not in _HIDING:
        _HIDING[base] = type(base.__name__, (HidesAgents, base), {})
    return _HIDING[base]
