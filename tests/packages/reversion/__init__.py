"""A site with django-reversion: each change of an item is a version."""
