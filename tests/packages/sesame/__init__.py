"""A site with django-sesame: links that sign in."""
