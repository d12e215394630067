"""Servers of one test, with the tools that it writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mcp.server import MCPServer

from poppy_operations import Action, Terms


@dataclass
class OwnServer:
    """A server, and an action for its tools."""

    server: MCPServer = field(default_factory=lambda: MCPServer("own"))
    actions: list[Action] = field(default_factory=list)

    def action(self, name: str = "tests.tool", effects: Any = "database", **options: Any) -> Action:
        """Declare an action that is forgotten after the test."""
        action = Action(name, effects=effects, **options)
        self.actions.append(action)
        return action


def fixed_terms(request: Any, **arguments: Any) -> Terms:
    """Terms that nobody minds."""
    return Terms({"what": "it"}, summary="Do it.")
