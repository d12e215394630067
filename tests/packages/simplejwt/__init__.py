"""A site with simplejwt: tokens that the site signs itself, for agents and for other clients."""
