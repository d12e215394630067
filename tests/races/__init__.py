"""Rounds in which several threads or processes meet one operation: one effect at the most."""
