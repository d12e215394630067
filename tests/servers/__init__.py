"""The example project in real server processes, on real databases."""
