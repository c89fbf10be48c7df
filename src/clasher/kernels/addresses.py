"""Web addresses out of text: a pass that rewrites documents in place, never longer than before."""

from clasher.kernels import kernel
from clasher.kernels.markup import (
    DASH,
    DOUBLE_QUOTE,
    GREATER,
    LESS,
    SLASH,
    SPACE,
    is_digit,
    is_letter,
    starts_with,
    trace,
)

PLUS, DOT, COLON = 43, 46, 58
LONGEST_SCHEME = 16


@kernel
def in_address(byte):
    """Whether a byte may be part of a web address: visible ASCII, but no quote and no bracket."""
    return 33 <= byte <= 126 and byte not in (DOUBLE_QUOTE, LESS, GREATER)


@kernel
def after_address(data, i, end):
    """The position after the web address at ``i``; ``i`` where there is none."""
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
    """A space for each web address: ``scheme://…`` and ``www.…``, of ASCII characters."""
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
