"""A site with django-hijack: operators work as somebody else."""
