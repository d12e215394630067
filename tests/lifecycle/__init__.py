"""Tests of the transitions: each the right way, and each way in which it must not happen."""
