"""The Company of a site whose access tokens are django-oauth-toolkit's."""

from __future__ import annotations

from poppy_operations.contrib.oauth_toolkit import ToolkitCompany


class ShopCompany(ToolkitCompany):
    """Has an app whose client ID is a URL, as agents' are."""

    own_clients = ("https://app.shop.example/client",)
