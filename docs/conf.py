"""How the documentation is built: `make docs`."""

from __future__ import annotations

project = "poppy-operations"
author = "The poppy-operations contributors"
language = "en"

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

html_theme = "furo"
html_title = project
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}
