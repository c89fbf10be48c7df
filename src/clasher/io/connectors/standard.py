"""Standard input and output: JSON lines.

A pipe cannot be read again: a killed run loses what it read since its last snapshot, unless that is
sent once more.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from clasher.errors import StreamError
from clasher.io.connectors.resumed_file import Lines
from clasher.io.formats import compression_of
from clasher.io.jsonl import Decoder
from clasher.io.protocol import Caller, Chunk, Output, Position, Sink, Source
from clasher.io.records import Fields
from clasher.io.registry import Address
from clasher.io.writers import print_lines

PIPE: Final = 1 << 18  # bytes read at a time


class StandardInput(Source):
    """JSON lines as they arrive."""

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options([])
        self.name, self.fields = "standard input", fields
        self._lines: Lines | None = None

    def open(self, position: Position, caller: Caller) -> None:
        if sys.stdin is None:
            raise StreamError("there is no standard input to read; name a file instead of -")
        at = position or {"records": 0}
        self._lines = Lines(self._blocks, at, Decoder(self.name, self.fields))

    def read(self, most: int, seconds: float) -> Chunk | None:
        lines = self._lines
        assert lines is not None
        chunk = lines.read(most, seconds, lambda: {"records": lines.records})
        self.is_over = lines.is_over
        return chunk

    def close(self) -> None:
        """Leave standard input open."""

    def _blocks(self, seconds: Callable[[], float]) -> Iterator[bytes]:
        descriptor, is_first = sys.stdin.fileno(), True
        while True:
            if not select.select([descriptor], [], [], seconds())[0]:
                yield b""
                continue
            block = os.read(descriptor, PIPE)
            if not block:
                return
            if is_first and (compression := compression_of(block)) is not None:
                raise StreamError(
                    f"standard input holds {compression} data, and run reads JSON lines from it; "
                    f"decompress it first, or name a file"
                )
            is_first = False
            yield block


class StandardOutput(Sink):
    """JSON lines, flushed with each write."""

    def __init__(self, address: Address) -> None:
        self.name = "standard output"

    def open(self, position: Position, caller: Caller) -> None:
        if sys.stdout is None:
            raise StreamError("there is no standard output to write to; name a file instead of -")

    def write(self, outputs: Sequence[Output]) -> None:
        print_lines(b"".join([output.value + b"\n" for output in outputs]))

    def flush(self) -> Position:
        """Do nothing: everything is flushed."""

    def close(self) -> None:
        """Leave standard output open."""
