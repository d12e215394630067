"""Tests of agents' browsers: marks, joins, logins and transactions."""
