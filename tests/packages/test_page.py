"""The page about other packages: each site has a section, whose code runs and settings hold."""

from __future__ import annotations

import importlib

from tests.docs.pages import DOCS, Block, blocks, headings
from tests.docs.stand_in import Shop, made_of
from tests.packages.sites import SITES, running_site, settings_of

PAGE = DOCS / "how-to" / "with-other-packages.md"
SITE = running_site() or ""


def own_blocks() -> list[Block]:
    """The Python of the site's section."""
    lines = PAGE.read_text("utf-8").splitlines()
    begin = lines.index(f"## {SITES[SITE].heading}")
    later = (number for number, line in enumerate(lines) if line.startswith("## "))
    end = next((number for number in later if number > begin), len(lines))
    return [block for block in blocks(PAGE, "python") if begin < block.line <= end]


def test_every_site_has_its_section_and_every_section_its_site() -> None:
    assert sorted(headings(PAGE)) == sorted(site.heading for site in SITES.values())


def test_the_code_of_the_section_runs() -> None:
    with made_of(PAGE, Shop(), own_blocks()) as modules:
        assert modules


def test_the_settings_of_the_section_are_the_sites() -> None:
    ours = importlib.import_module(settings_of(SITE))
    for block in own_blocks():
        if block.path == "shop/settings.py":
            said: dict[str, object] = {}
            exec(block.text, said)
            for name in filter(str.isupper, said):
                assert said[name] == getattr(ours, name), name
