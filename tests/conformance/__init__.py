"""Which statements of the Operations text are shown by which tests."""
