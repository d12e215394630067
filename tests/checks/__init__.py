"""Tests of what is checked before the first request."""
