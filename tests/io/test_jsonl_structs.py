from typing import Any

import msgspec
import pytest

from clasher.io.jsonl import struct_for

TEXT = (str, msgspec.NODEFAULT)
ID = (int | None, None)


def decode(wanted: dict[str, Any], line: bytes) -> dict[str, Any]:
    struct, getters = struct_for(wanted)
    found = msgspec.json.decode(line, type=struct)
    return {path: get(found) for path, get in getters.items()}


def test_fields_at_all_depths_are_found():
    wanted = {"a": TEXT, "b.c": TEXT, "b.d.e": TEXT, "f.g": ID}
    line = b'{"a": "1", "b": {"c": "2", "x": 0, "d": {"e": "3"}}, "f": {"g": 4}, "x": []}'
    assert decode(wanted, line) == {"a": "1", "b.c": "2", "b.d.e": "3", "f.g": 4}


@pytest.mark.parametrize("line", [b'{"a": "1"}', b'{"a": "1", "f": {}}'])
def test_a_default_holds_at_every_depth(line):
    assert decode({"a": TEXT, "f.g.h": ID}, line) == {"a": "1", "f.g.h": None}


def test_an_object_without_a_required_field_does_not_fit():
    with pytest.raises(msgspec.ValidationError):
        decode({"b.c": TEXT, "b.d": ID}, b'{"b": {"d": 1}}')


def test_a_field_with_a_dot_in_its_name_does_not_fit():
    with pytest.raises(msgspec.ValidationError):
        decode({"b.c": TEXT}, b'{"b": {"c": "2"}, "b.c": "3"}')


def test_a_field_that_is_itself_wanted_has_none_inside():
    assert decode({"b": TEXT, "b.c": TEXT}, b'{"b": "1", "b.c": "2"}') == {"b": "1", "b.c": "2"}


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "\ud800"])
def test_nothing_fits_where_msgspec_cannot_have_the_name(name):
    for line in (b"{}", b'{"": 1}', b'{"a": "x"}', b'{"a\\"b": "x"}'):
        with pytest.raises(msgspec.ValidationError):
            decode({name: TEXT}, line)
