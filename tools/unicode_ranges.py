"""Write src/clasher/text/unicode.json from the Unicode data of the running Python.

    python tools/unicode_ranges.py > src/clasher/text/unicode.json

Run once per Unicode version we decide to move to; a model's buckets depend on its output.
"""

import json
import sys
import unicodedata

LAST = 0x3FFFF  # the planes that hold writing
UNSPACED_SCRIPTS = (
    "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "HIRAGANA", "KATAKANA", "BOPOMOFO",
    "CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HALFWIDTH KATAKANA",
    "HENTAIGANA", "COMBINING KATAKANA-HIRAGANA", "IDEOGRAPHIC", "TAI LE", "NEW TAI LUE", "TAI THAM",
)  # fmt: skip


def is_word(code: int) -> bool:
    """Letters, marks and numbers; what only selects how an emoji looks is no part of a word."""
    name = unicodedata.name(chr(code), "")
    return unicodedata.category(chr(code))[0] in "LMN" and not name.startswith("VARIATION SELECTOR")


def is_unspaced(code: int) -> bool:
    return is_word(code) and unicodedata.name(chr(code), "").startswith(UNSPACED_SCRIPTS)


def is_symbol(code: int) -> bool:
    return unicodedata.category(chr(code)) == "So"


def is_digit(code: int) -> bool:
    return unicodedata.category(chr(code)) == "Nd"


def lower(code: int) -> int:
    if code == ord("ς"):  # the final sigma is the same letter
        return ord("σ")
    return ord(chr(code).lower()[0])


def ranges(holds):
    """The maximal [start, stop) runs on which ``holds`` is true."""
    found, start = [], None
    for code in range(LAST + 2):
        inside = code <= LAST and holds(code)
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            found.append((start, code))
            start = None
    return found


def shifts():
    """Runs (start, stop, step, shift) of letters whose lower case is ``code + shift``."""
    found: list[list[int]] = []
    for code in (c for c in range(LAST + 1) if lower(c) != c):
        shift = lower(code) - code
        if found:
            start, last, step, previous = found[-1]
            gap = code - last
            if shift == previous and (gap == step or (start == last and gap <= 2)):
                found[-1] = [start, code, gap, shift]
                continue
        found.append([code, code, 1, shift])
    return [(start, last + 1, step, shift) for start, last, step, shift in found]


if __name__ == "__main__":
    tables = {
        "words": ranges(is_word),
        "unspaced": ranges(is_unspaced),
        "symbols": ranges(is_symbol),
        "digits": ranges(is_digit),
        "lower": shifts(),
    }
    lines = [f'"{name}": {json.dumps(rows)}' for name, rows in tables.items()]
    version = json.dumps(unicodedata.unidata_version)
    sys.stdout.write(f'{{"version": {version},\n' + ",\n".join(lines) + "}\n")
