"""Tests of ``poppy_operations.sessions``."""
