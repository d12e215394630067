"""What is measured, one module for each kind; each gives its subjects and what to compare."""

from __future__ import annotations
