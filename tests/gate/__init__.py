"""Tests of the one algorithm behind every door."""
