"""A Company that issues access tokens to agents and to other clients alike."""

from __future__ import annotations

from poppy_operations.company import Company


class AmongOtherClients(Company):
    """An agent is a client whose ID is a URL; other clients have another kind of ID.

    The site names clients that have a URL and are no agents in ``own_clients``.
    """

    def is_own_client(self, client_id: str) -> bool:
        """Whether the client is named as the Company's own, or its ID is no URL."""
        is_url = client_id.strip().lower().startswith(("https:", "http:"))
        return super().is_own_client(client_id) or not is_url
