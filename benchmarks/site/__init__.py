"""A site with nothing but what is measured: each view inserts one row, or does nothing."""

from __future__ import annotations
