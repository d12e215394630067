"""Processes that are killed at every step, and what the next requests make of it."""
