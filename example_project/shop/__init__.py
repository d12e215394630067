"""Stormline, a small outdoor shop."""
