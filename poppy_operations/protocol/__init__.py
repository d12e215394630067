"""The wire format of the Operations extension: terms, revisions, approvals and answers."""

from __future__ import annotations

EXTENSION = "operations"
VERSION = "3"
