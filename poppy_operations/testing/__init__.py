"""Doubles for the tests of sites that use operations."""
