"""The demo shop's MCP server over stdio: ``python -m tests.mcp.over_stdio``."""

from __future__ import annotations

import os

import django


def main() -> None:
    """Serve whoever started this process."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.mcp.stdio_settings"
    django.setup()
    from example_project.shop.mcp import server

    server.run("stdio")


if __name__ == "__main__":
    main()
