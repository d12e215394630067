"""The Company of a site whose access tokens are simplejwt's."""

from __future__ import annotations

from poppy_operations.contrib.simplejwt import SimpleJwtCompany


class ShopCompany(SimpleJwtCompany):
    """Has an app whose client ID is a URL, as agents' are."""

    own_clients = ("https://app.shop.example/client",)
