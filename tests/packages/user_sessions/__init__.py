"""A site with django-user-sessions: a session middleware and a session store of its own."""
