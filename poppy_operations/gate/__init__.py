"""The one algorithm behind every door."""
