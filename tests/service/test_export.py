"""Exports are read line by line."""

from __future__ import annotations

import pytest

from clasher.errors import RecordError
from clasher.service.export import read_lines


@pytest.mark.parametrize("line", [b"{", b'{"version": 1}', b"\xff\n", b'{"version": "x"}'])
def test_a_bad_line_is_refused_with_its_number(line):
    with pytest.raises(RecordError, match=r"a\.jsonl, record 2: .*a line of clasher log"):
        list(read_lines([b"\n", line], "a.jsonl"))
