"""Ready-made Companies for sites whose access tokens are another package's.

That package is imported only if the site names its Company.
"""
