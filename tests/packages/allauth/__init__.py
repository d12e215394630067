"""A site with django-allauth: accounts with e-mail addresses, links and passwords."""
