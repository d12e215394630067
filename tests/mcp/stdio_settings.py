"""The demo shop, whose MCP server speaks over stdio."""

from __future__ import annotations

from example_project.settings import *  # noqa: F403  the same shop in all else
from example_project.settings import POPPY_OPERATIONS as DEMO

POPPY_OPERATIONS = {**DEMO, "COMPANY": "tests.mcp.stdio_company.StdioCompany"}
