"""Names of labels: one spelling for names that look the same.

``É`` can be written in two ways (NFC and NFD), and ``oil`` with blanks, zero-width or control
characters around it. Models see names in NFC without these. Upper and lower case stay different.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from clasher.errors import LabelError

T = TypeVar("T")

# Zero-width characters, direction marks, and blanks that str.isspace does not know.
INVISIBLE: Final = (
    "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u2800\u3164\ufeff\uffa0\u115f\u1160"
    + "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
)
# These change how other characters look, so names keep them; alone they show nothing.
MODIFIERS: Final = "\u034f" + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0000, 0xE0080)]))

_SEPARATORS: Final = re.compile(r"[-_:./\s]+")
_URI: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)\S+")
_CASE_CHANGE: Final = re.compile("(?<=l)(?=U)|(?<=U)(?=Ul)")  # in a shape: U upper, l lower case


def normal_name(name: str) -> str:
    """Return a name in NFC, without white space and invisible characters around it."""
    name = name.strip()
    if name.isascii() and name.isprintable():
        return name
    name = unicodedata.normalize("NFC", name)
    while name and (name[0] in INVISIBLE or name[-1] in INVISIBLE):
        name = name.strip(INVISIBLE).strip()
    return name


def check_name(name: Any, where: str = "") -> str:
    """Return the normal form of a name; refuse names that cannot be shown or stored."""
    try:
        bad = not isinstance(name, str) or not name.encode()
    except UnicodeEncodeError:
        bad = True
    if bad:
        raise LabelError(
            f"{where}a label must be non-empty text, without lone surrogates. Got {name!r} instead."
        )
    normal = normal_name(name)
    if not normal.strip(INVISIBLE + MODIFIERS):
        raise LabelError(f"{where}a label must have a visible character. Got {name!r} instead.")
    return normal


def normal_states(states: Mapping[str, T], where: str = "") -> dict[str, T]:
    """Normalise the names of a mapping label → bool; refuse a yes and a no for one label."""
    normal: dict[str, T] = {}
    for name, state in states.items():
        own = check_name(name, where)
        if normal.setdefault(own, state) is not state:
            raise contradiction(own, where)
    return normal


def contradiction(name: str, where: str = "") -> LabelError:
    """Make the error for a document that both has and lacks a label."""
    return LabelError(
        f"{where}label {name!r} is True and False under two spellings; keep one of them"
    )


def settled_names(names: Iterable[str]) -> list[str]:
    """Normalise the names in a file written before names were normalised.

    Labels stay apart: if several names have one normal form, one of them gets it and the others
    stay, to be merged or renamed by hand. A blank name stays too.
    """
    given = list(names)
    taken = set(given)
    settled = dict.fromkeys(given, "")
    for name in sorted(given):
        normal = normal_name(name)
        settled[name] = normal if normal and normal not in taken else name
        taken.add(settled[name])
    return [settled[name] for name in given]


def readable(label: str) -> str:
    """Return the words of a label; of a URI only those of its last part.

    Words end at ``-_:./``, at white space and where the case changes. Words in capitals stay whole,
    and digits stay with the letters before them.

    >>> readable("ClassificationOfThings"), readable("HTMLParser"), readable("crude_oil")
    ('Classification Of Things', 'HTML Parser', 'crude oil')
    >>> readable("http://example.org/topics#windPower2")
    'wind Power2'
    """
    parts = _SEPARATORS.split(local_name(label) if _URI.fullmatch(label) else label)
    words = " ".join(word for part in parts for word in _split_at_case(part))
    return words if words.strip(INVISIBLE + MODIFIERS + " ") else label


def local_name(uri: str) -> str:
    """Return the last part of a URI.

    >>> local_name("http://example.org/topics#oil"), local_name("urn:isbn:1"), local_name("oil")
    ('oil', '1', 'oil')
    """
    return re.split("[/#:]", uri.rstrip("/#:"))[-1] or uri


def _split_at_case(part: str) -> list[str]:
    """Split ``HTMLParser`` before the P, and ``crudeOil`` before the O; keep ``APIs`` whole."""
    shape = ""
    for character in part:
        if character.isupper() or character.islower():
            shape += "U" if character.isupper() else "l"
        else:
            shape += shape[-1:] or "U"
    if part.endswith("s") and shape.endswith("Ul"):
        shape = shape[:-1] + "U"
    ends = [*(found.start() for found in _CASE_CHANGE.finditer(shape)), len(part)]
    return [part[start:end] for start, end in zip([0, *ends], ends, strict=False) if part]
