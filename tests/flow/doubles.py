"""Streams in memory that can fail on demand, as a connector's author would write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clasher.errors import CommitRefusedError, UnreachableError
from clasher.io.jsonl import Decoder
from clasher.io.protocol import Caller, Chunk, Output, Party, Position, Sink, Source
from clasher.io.records import Fields
from tests.flow.plain import Record


class ListSource(Source):
    """Read records from a list; the position counts them."""

    def __init__(self, rows: Sequence[Record], name: str = "list") -> None:
        self.name, self.fields, self.rows = name, Fields(), rows
        self.at = self.reads = 0
        self.caller = Caller("nobody")
        self.before_read: Callable[[ListSource], None] = lambda source: None

    def open(self, position: Position, caller: Caller) -> None:
        self.at, self.caller = position or 0, caller

    def read(self, most: int, seconds: float) -> Chunk | None:
        self.before_read(self)
        self.reads += 1
        part = self.rows[self.at : self.at + most]
        places = list(range(self.at + 1, self.at + len(part) + 1))
        self.at += len(part)
        self.is_over = not part
        return Decoder(self.name, self.fields).chunk(part, places, self.at) if part else None

    def close(self) -> None:
        pass


class RaggedSource(ListSource):
    """A list that comes in pieces, as from a network; ``sizes`` are used in turn."""

    def __init__(self, rows: Sequence[Record], name: str, sizes: Sequence[int]) -> None:
        super().__init__(rows, name)
        self.sizes = sizes

    def read(self, most: int, seconds: float) -> Chunk | None:
        return super().read(min(most, self.sizes[self.reads % len(self.sizes)]), seconds)


class HesitantSource(ListSource):
    """A list whose second half comes late: the source does not answer for a while."""

    silent = 20  # reads
    half = 0  # where it falls silent

    def read(self, most: int, seconds: float) -> Chunk | None:
        half = self.half or len(self.rows) // 2
        if self.at < half:
            return super().read(min(most, half - self.at), seconds)
        if self.silent:
            self.silent -= 1
            return None
        return super().read(most, seconds)

    @property
    def knows_end(self) -> bool:
        return self.at == len(self.rows)


class AgreedSource(ListSource, Party):
    """A list that must agree to snapshots; ``log`` outlives the flow, as a broker would."""

    def __init__(self, rows: Sequence[Record], log: dict[str, Any]) -> None:
        super().__init__(rows, "agreed")
        self.party, self.log = self, log
        self.refuses: Callable[[int], bool] = lambda number: False
        self.forgets_answer: Callable[[int], bool] = lambda number: False

    def committed(self, caller: Caller) -> int:
        return int(self.log.get(caller.id, 0))

    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        committed = self.committed(caller)
        if committed != number:
            assert committed == after
            if self.refuses(number):
                raise CommitRefusedError("agreed: it is not yours any more")
            self.log[caller.id] = number
            self.log["position"] = position
            if self.forgets_answer(number):
                raise UnreachableError("agreed: the answer got lost")


class ListSink(Sink):
    """Keep all outputs; some calls may fail."""

    def __init__(self, name: str = "kept") -> None:
        self.name = name
        self.written: list[Output] = []
        self.down = 0
        self.flushes = 0

    def open(self, position: Position, caller: Caller) -> None:
        if position is not None:
            del self.written[position:]

    def write(self, outputs: Sequence[Output]) -> None:
        if self.down:
            self.down -= 1
            raise UnreachableError("kept: it is down")
        self.written += outputs

    def flush(self) -> Position:
        self.flushes += 1
        return len(self.written)

    def close(self) -> None:
        pass
