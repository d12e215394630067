"""Tests of what a site declares."""
