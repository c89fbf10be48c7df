"""The stored pictures equal what the code draws."""

from __future__ import annotations

import re

import pytest

from tools.pictures import FOLDER, PICTURES

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.mark.compiled
@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    """Equal to within a unit of the drawing: processors round differently."""
    kept, now = (FOLDER / f"{name}.svg").read_text(), str(PICTURES[name]())
    assert NUMBER.sub("0", kept) == NUMBER.sub("0", now), "run python -m tools.pictures"
    numbers = zip(NUMBER.findall(kept), NUMBER.findall(now), strict=True)
    assert all(abs(float(old) - float(new)) <= 1 for old, new in numbers)
