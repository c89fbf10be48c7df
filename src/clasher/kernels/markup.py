"""Remove HTML and web addresses: passes that rewrite documents in place and never lengthen them.

A browser drops the rest of a text after a tag, comment or script without an end. Here it stays:
``lost`` remembers for the rest of the document which ends were not found, so nothing is searched
twice.
"""

from typing import NamedTuple

import numpy as np

from clasher.kernels import kernel
from clasher.kernels.hashing import absorb, find

PLUS, DOT, COLON = 43, 46, 58
LONGEST_SCHEME = 16


@kernel
def in_address(byte):
    """Tell whether a byte may be part of a web address: visible ASCII except " < and >."""
    return 33 <= byte <= 126 and byte not in (DOUBLE_QUOTE, LESS, GREATER)


@kernel
def after_address(data, i, end):
    """Return the position after the web address at ``i``, or ``i`` if there is none."""
    at = i
    while at < end and at - i < LONGEST_SCHEME and (
        is_letter(data[at]) or is_digit(data[at]) or data[at] in (PLUS, DASH, DOT)
    ):  # fmt: skip
        at += 1
    if starts_with(data, at, end - 1, (COLON, SLASH, SLASH)) and in_address(data[at + 3]):
        at += 3
    elif starts_with(data, i, end - 1, (119, 119, 119, DOT)) and (  # www.
        is_letter(data[i + 4]) or is_digit(data[i + 4])
    ):
        at = i + 4
    else:
        return i
    while at < end and in_address(data[at]):
        at += 1
    return at


@kernel
def strip_addresses(data, offsets, new_offsets, origin):
    """Replace each web address, ``scheme://…`` or ``www.…`` in ASCII, by a space."""
    out, end = 0, 0
    for document in range(offsets.shape[0] - 1):
        i, end = offsets[document], offsets[document + 1]
        inside = False
        while i < end:
            byte = data[i]
            after = i
            if not inside and is_letter(byte):
                after = after_address(data, i, end)
            if after > i:
                byte = SPACE
            else:
                after = i + 1
            inside = is_letter(byte) or is_digit(byte)
            trace(origin, out, 1, i)
            data[out] = byte
            out, i = out + 1, after
        new_offsets[document + 1] = out
    trace(origin, out, 1, end)


SPACE, LESS, GREATER, AMPERSAND, SEMICOLON, HASH = 32, 60, 62, 38, 59, 35
EXCLAMATION, QUESTION, SLASH, EQUALS, DASH = 33, 63, 47, 61, 45
DOUBLE_QUOTE, SINGLE_QUOTE = 34, 39
REPLACEMENT = 0xFFFD

# places in ``lost``
TAG, QUOTE, COMMENT, SCRIPT, STYLE = 0, 1, 2, 3, 4
ENDS = 5


class Entities(NamedTuple):
    """The named characters of HTML."""

    keys: np.ndarray  # uint64[places]: hashes of their names, with the semicolon
    starts: np.ndarray  # int64[places]
    stops: np.ndarray  # int64[places]
    data: np.ndarray  # uint8[bytes]: the characters, in UTF-8
    windows: np.ndarray  # uint32[32]: the characters of numbers 128 to 159


@kernel
def is_letter(byte):
    """Tell whether a byte is an ASCII letter."""
    return 97 <= byte | 0x20 <= 122


@kernel
def is_digit(byte):
    """Tell whether a byte is an ASCII digit."""
    return 48 <= byte <= 57


@kernel
def is_space(byte):
    """Tell whether a byte is white space in HTML."""
    return byte == 32 or 9 <= byte <= 13


@kernel
def starts_with(data, i, end, text):
    """Tell whether ``text``, in lower case, is at ``i`` in any case."""
    if i + len(text) > end:
        return False
    for at in range(len(text)):
        byte = np.int64(data[i + at])
        if (byte | 0x20 if is_letter(byte) else byte) != text[at]:
            return False
    return True


@kernel
def after_next(data, i, end, text, lost, what):
    """Return the position after the next ``text``; if there is none, remember that, return −1."""
    if not lost[what]:
        for at in range(i, end - len(text) + 1):
            if data[at] == text[0] and starts_with(data, at, end, text):
                return at + len(text)
        lost[what] = True
    return -1


@kernel
def after_tag(data, i, end, lost):
    """Return the position after the tag at ``i``, skipping ``>`` in quoted values."""
    value = False
    at = i + 1
    while at < end and not lost[QUOTE]:
        byte = data[at]
        if byte == GREATER:
            return at + 1
        if value and byte in (DOUBLE_QUOTE, SINGLE_QUOTE):
            at += 1
            while at < end and data[at] != byte:
                at += 1
        value = byte == EQUALS or (value and is_space(byte))
        at += 1
    lost[QUOTE] = True
    return after_next(data, i, end, (GREATER,), lost, TAG)


@kernel
def after_element(data, i, end, after, name, lost, what):
    """Return the position of the end tag of element ``name``, or ``after`` if it has none."""
    if not starts_with(data, i + 1, end, name):
        return after
    following = data[i + 1 + len(name)]
    if not (is_space(following) or following in (SLASH, GREATER)):
        return after
    close = after_next(data, after, end, (LESS, SLASH) + name, lost, what)  # noqa: RUF005
    return close - len(name) - 2 if close >= 0 else after


@kernel
def after_markup(data, i, end, lost):
    """Return the position after the markup that starts with the ``<`` at ``i``, or −1."""
    if i + 2 >= end:
        return -1
    byte = data[i + 1]
    if starts_with(data, i, end, (60, 33, 91, 99, 100, 97, 116, 97, 91)):  # <![cdata[
        return i + 9
    if byte in (EXCLAMATION, QUESTION):
        after = -1
        if data[i + 2] == DASH and starts_with(data, i, end, (60, 33, 45, 45)):  # <!--
            after = after_next(data, i + 2, end, (DASH, DASH, GREATER), lost, COMMENT)
        return after if after >= 0 else after_next(data, i, end, (GREATER,), lost, TAG)
    if byte == SLASH and is_letter(data[i + 2]):
        return after_tag(data, i, end, lost)
    if not is_letter(byte):
        return -1
    after = after_tag(data, i, end, lost)
    if after < 0:
        return -1
    after_script = after_element(
        data, i, end, after, (115, 99, 114, 105, 112, 116), lost, SCRIPT
    )  # script
    return after_element(data, i, end, after_script, (115, 116, 121, 108, 101), lost, STYLE)


@kernel
def encode(code, data, out):
    """Write a code point in UTF-8; returns the number of bytes."""
    if code < 0x80:
        data[out] = code
        return 1
    size = 2 + (code >= 0x800) + (code >= 0x10000)
    for at in range(size - 1, 0, -1):
        data[out + at] = 0x80 | (code & 0x3F)
        code >>= 6
    data[out] = (0xF00 >> size) & 0xFF | code
    return size


@kernel
def valid_code(code, windows):
    """Return the code point that HTML reads a number as, or −1 for none."""
    if 0x80 <= code <= 0x9F:
        return np.int64(windows[code - 0x80])
    if code == 0 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        return REPLACEMENT
    control = code < 0x20 and not is_space(code)
    if control or code == 11 or code == 0x7F or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE:
        return -1
    return code


@kernel
def numbered(data, i, end, entities, out):
    """Write the character of ``&#…`` at ``i``; returns its size and the position after it."""
    base, at, code, digits = 10, i + 2, 0, 0
    if at < end and data[at] | 0x20 == 120:  # x
        base, at = 16, at + 1
    while at < end:
        byte = np.int64(data[at])
        if is_digit(byte):
            digit = byte - 48
        elif base == 16 and 97 <= byte | 0x20 <= 102:
            digit = (byte | 0x20) - 87
        else:
            break
        code = min(code * base + digit, 0x110000)
        at, digits = at + 1, digits + 1
    if digits == 0:
        return 0, i
    if at < end and data[at] == SEMICOLON:
        at += 1
    code = valid_code(code, entities.windows)
    return encode(code, data, out) if code >= 0 else 0, at


@kernel
def named(data, i, end, entities, out):
    """Do the same for the longest name after the ``&`` at ``i``."""
    key, at, best, after = np.uint64(0), i + 1, -1, i
    while at < end and (is_letter(data[at]) or is_digit(data[at]) or data[at] == SEMICOLON):
        key = absorb(key, data[at])
        at += 1
        place = find(entities.keys, key)
        if entities.keys[place] != 0:
            best, after = place, at
        if data[at - 1] == SEMICOLON or at - i > 40:  # no name is longer
            break
    if best < 0:
        return 0, i
    start, size = entities.starts[best], entities.stops[best] - entities.starts[best]
    if size > after - i:  # &nLt; and &nGt; are shorter than their characters
        data[out] = SPACE
        return 1, after
    for offset in range(size):
        data[out + offset] = entities.data[start + offset]
    return size, after


@kernel
def trace(origin, out, size, i):
    """Note that ``size`` bytes from ``out`` on come from ``i``, if ``origin`` is given."""
    if origin.shape[0] > 0:
        for offset in range(size):
            origin[out + offset] = origin[i]


@kernel
def strip_markup(data, offsets, entities, lost, new_offsets, origin):
    """Replace tags, comments and scripts by spaces, and named characters by themselves."""
    out, end = 0, 0
    for document in range(offsets.shape[0] - 1):
        i, end = offsets[document], offsets[document + 1]
        lost[:] = False
        while i < end:
            size, after = 0, i
            if data[i] == LESS:
                after = max(i, after_markup(data, i, end, lost))
                if after > i:
                    data[out], size = SPACE, 1
            elif data[i] == AMPERSAND and i + 1 < end:
                if data[i + 1] == HASH:
                    size, after = numbered(data, i, end, entities, out)
                else:
                    size, after = named(data, i, end, entities, out)
            if after == i:
                data[out], size, after = data[i], 1, i + 1
            trace(origin, out, size, i)
            out, i = out + size, after
        new_offsets[document + 1] = out
    trace(origin, out, 1, end)
