"""A site with django-oauth-toolkit: opaque tokens, for agents and for other clients."""
