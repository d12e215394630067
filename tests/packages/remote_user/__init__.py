"""A site with header sign-on: something in front of Django says who is signed in."""
