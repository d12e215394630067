"""Statements whose text is made once: what they read and write is what Django's own would."""
