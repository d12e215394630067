"""For Django REST framework: the door of APIs, an authentication class and a scope permission."""

from __future__ import annotations

from poppy_operations.rest_framework.authentication import (
    PersonalAgentAuthentication as PersonalAgentAuthentication,
)
from poppy_operations.rest_framework.permissions import HasScope as HasScope
