"""How the properties of the protocol are tested."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no fault of the code.
settings.register_profile("calm", deadline=None)
settings.load_profile("calm")
