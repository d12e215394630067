"""What a typed site writes against the public names: read by mypy, and run by nobody."""
