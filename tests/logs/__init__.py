"""Tests of what is logged."""
