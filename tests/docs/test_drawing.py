"""The pictures show what is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.drawing import IMAGES, MEANINGS, PICTURES, WAY, layers


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_it_would_be_drawn_now(name: str) -> None:
    drawn = PICTURES[name]()
    assert (IMAGES / name).read_text("utf-8") == drawn, "run python -m tests.docs.drawing"


def test_every_layer_has_a_meaning() -> None:
    firsts = [layer.replace(":", "|").split("|")[0].strip() for layer in layers()]
    assert firsts == list(MEANINGS)


@pytest.mark.parametrize(("step", "modules"), WAY)
def test_a_step_is_where_the_picture_says(step: str, modules: str) -> None:
    for module in modules.split(", "):
        assert (Path("poppy_operations") / module).exists(), step
