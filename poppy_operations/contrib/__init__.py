"""Ready-made Companies for sites whose access tokens are another package's.

Nothing of the package is imported unless the site names one of them.
"""
