"""A site with django-guardian: rights to single objects, from a backend that finds no users."""
