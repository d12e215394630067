"""Tests of what the doors refuse before anything comes through them."""
