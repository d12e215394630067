"""A site that is not ours: django-helpdesk, with views of its own behind approval."""
