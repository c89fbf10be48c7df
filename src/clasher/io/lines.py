"""Lines of a text file, in groups that fit a batch, none longer than a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from clasher.io.blocks import BLOCK, read_blocks
from clasher.io.formats import Source
from clasher.io.judging import FaultError
from clasher.io.reading import BATCH_BYTES, Reading

BOM: Final = b"\xef\xbb\xbf"
HEAD: Final = 4096
"""How much is kept of a line that is too long."""


class Overlong(bytes):
    """Stands in the place of a line that is too long: empty, its beginning is in ``head``."""

    head: bytes
    size: int

    @classmethod
    def of(cls, head: bytes, size: int) -> Overlong:
        """The stand-in for a line of ``size`` bytes that begins with ``head``."""
        line = cls()
        line.head, line.size = head, size
        return line


def line_groups(source: Source, reading: Reading) -> Iterator[list[bytes]]:
    """The lines of ``source`` without their line feeds, at most ``reading.room()`` at a time."""
    # Blocks no larger than the limit, so that only a line across blocks can exceed it.
    blocks = read_blocks(source, min(BLOCK, reading.longest))
    return group(split_lines(blocks, reading.longest), reading.room)


def split_lines(
    blocks: Iterable[bytes], longest: int, *, is_beginning: bool = True
) -> Iterator[list[bytes]]:
    r"""Complete lines, block by block; an empty list for an empty block (see ``read_blocks``).

    Only at the beginning of a file can there be a byte order mark.

    >>> list(split_lines([b"one\ntw", b"o\nthree"], longest=100))
    [[b'one'], [b'two'], [b'three']]
    """
    rest = _Rest(longest, is_beginning)
    for block in blocks:
        lines = block.split(b"\n")
        rest.append(lines[0])
        if len(lines) > 1:
            lines[0] = rest.take()
            rest.append(lines.pop())
            yield lines
        elif not block:
            yield []
    if rest.size:
        yield [rest.take()]


def group(
    chunks: Iterable[list[bytes]], room: Callable[[], int], enough: int = BATCH_BYTES
) -> Iterator[list[bytes]]:
    """Regroup lines to ``room()`` at a time; fewer at a pause, the end, or past ``enough`` bytes.

    >>> list(group([[b"a"], [b"b", b"c"], [], [b"d"]], room=lambda: 2))
    [[b'a', b'b'], [b'c'], [b'd']]
    """
    pending: list[bytes] = []
    size = 0
    for lines in chunks:
        pending += lines
        size += sum(map(len, lines))
        start = 0
        while len(pending) - start >= (some := room()):
            yield pending[start : start + some]
            start += some
            size = 0
        del pending[:start]
        if pending and (not lines or size > enough):
            yield pending
            pending, size = [], 0
    if pending:
        yield pending


def too_long(longest: int) -> FaultError:
    """What is wrong with a line or row past the limit."""
    return FaultError(
        f"it is longer than {longest:,} bytes",
        "is a line end or a closing quote missing? Split it, or pass over it with --on-error skip",
    )


class _Rest:
    """The line that the end of a block cut off, collected piece by piece."""

    def __init__(self, longest: int, is_beginning: bool) -> None:
        self.longest = longest
        self.pieces: list[bytes] = []
        self.size = 0
        self.first = is_beginning

    def append(self, piece: bytes) -> None:
        if self.size <= self.longest:
            self.pieces.append(piece)
        self.size += len(piece)
        if self.size > self.longest:
            self.pieces = [b"".join(self.pieces)[:HEAD]]

    def take(self) -> bytes:
        line = b"".join(self.pieces)
        if self.size > self.longest:
            line = Overlong.of(line, self.size)
        elif self.first:
            line = line.removeprefix(BOM)
        self.pieces, self.size, self.first = [], 0, False
        return line
