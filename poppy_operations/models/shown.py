"""How rows show themselves where people look for faults."""

from __future__ import annotations


class ShownByKey:
    """Shows a row by its key: error reports and logs show objects as what they hold in variables.

    What it is called in the admin, such as an ID that agents send, has no place there.
    """

    pk: object

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.pk}>"
