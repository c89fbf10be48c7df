"""Struct types made to measure: msgspec decodes the wanted fields of an object and skips the rest.

An object that has a field with a dot in its name where a nested one is looked for does not fit such
a struct, nor does anything when msgspec cannot put a wanted name in a struct: decoding fails, and
the slower ``records.judge`` reads it, which knows what goes first.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, TypeAlias

import msgspec

Leaf: TypeAlias = tuple[Any, Any]
"""The type of a wanted field, and its default."""

_Tree: TypeAlias = dict[str, "Leaf | _Tree"]

_NEVER: Final[Leaf] = (msgspec.UnsetType, msgspec.UNSET)  # a field that no value fits
_NOTHING_FITS: Final[_Tree] = {"": (msgspec.UnsetType, msgspec.NODEFAULT)}


def struct_for(
    wanted: dict[str, Leaf],
) -> tuple[type[msgspec.Struct], dict[str, Callable[[Any], Any]]]:
    """A struct type for the wanted fields, and how to get each of them out of it.

    >>> struct, getters = struct_for({"payload.body": (str, msgspec.NODEFAULT)})
    >>> found = msgspec.json.decode(b'{"payload": {"body": "oil", "size": 3}}', type=struct)
    >>> getters["payload.body"](found)
    'oil'
    """
    tree: _Tree = {}
    for path, leaf in wanted.items():
        *outer, last = path.split(".")
        if not outer or any(".".join(outer[:i]) in wanted for i in range(1, len(outer) + 1)):
            tree[path] = leaf
            continue
        tree[path] = _NEVER
        node = tree
        for name in outer:
            node = node.setdefault(name, {})  # type: ignore[assignment]
        node[last] = leaf
    try:
        struct, places = _grow(tree)
    except ValueError:
        struct, places = _grow(_NOTHING_FITS)
    return struct, {path: attrgetter(places.get(path, "none")) for path in wanted}


def _grow(tree: _Tree) -> tuple[type[msgspec.Struct], dict[str, str]]:
    """The struct type of one level of the tree, and the attribute path of each leaf below it."""
    names: dict[str, str] = {}
    fields: list[Any] = []
    places: dict[str, str] = {}
    for name, branch in tree.items():
        attribute = f"field{len(fields)}"
        names[attribute] = name
        if isinstance(branch, dict):
            struct, inner = _grow(branch)
            places |= {f"{name}.{path}": f"{attribute}.{place}" for path, place in inner.items()}
            optional = not any(field.required for field in msgspec.structs.fields(struct))
            default = msgspec.field(default_factory=struct) if optional else msgspec.field()
            fields.append((attribute, struct, default))
        else:
            kind, default = branch
            if branch is not _NEVER:
                places[name] = attribute
            fields.append((attribute, kind, msgspec.field(default=default)))
    return msgspec.defstruct("Wanted", fields, rename=names, kw_only=True, gc=False), places
