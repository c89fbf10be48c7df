"""The pictures are what the code draws now."""

from __future__ import annotations

import re

import pytest

from tools.pictures import FOLDER, NAMES, drawn
from tools.pictures.architecture import BANDS, bands, layers

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.mark.compiled
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_up_to_date(name: str) -> None:
    """To within a unit of the drawing: other processors round otherwise."""
    kept, now = (FOLDER / f"{name}.svg").read_text(), drawn(name)
    assert NUMBER.sub("0", kept) == NUMBER.sub("0", now), "draw it anew: python -m tools.pictures"
    numbers = zip(NUMBER.findall(kept), NUMBER.findall(now), strict=True)
    assert all(abs(float(old) - float(new)) <= 1 for old, new in numbers)


def test_the_picture_of_the_architecture_has_every_module_once() -> None:
    modules = [module for layer in layers() for module in layer]
    drawn_ones = [module for band in bands().values() for module in band]
    assert drawn_ones == modules
    assert len(set(modules)) == len(modules)
    assert list(bands()) == list(BANDS.values())
