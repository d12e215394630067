"""The story in a real browser, against the example project as it is served."""
