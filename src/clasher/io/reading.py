"""What the readers of all formats share while a stream is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc

from clasher.errors import RecordError
from clasher.io.badrecords import BadRecords
from clasher.io.cells import Detection
from clasher.io.judging import FaultError
from clasher.io.records import Batch, Fields, Id, LabelValue, Record, numbered
from clasher.labels import LabelSets

LONGEST_RECORD = 256 << 20
"""The default limit of one record in a text file: 256 MiB."""

BATCH_BYTES = 64 << 20
"""A batch is closed early where its records are long, at about this many bytes: 64 MiB."""


@dataclass(frozen=True, slots=True)
class Held:
    """A batch whose labels wait until it is known what separates them."""

    ids: list[Id]
    texts: pa.LargeStringArray
    labels: Sequence[LabelValue | str]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(slots=True)
class Reading:
    """The wishes of the caller, and how far the reading has come.

    Attributes
    ----------
    required : bool
        Whether records without the field of the labels are bad, or unlabelled.
    detection : Detection | None
        Finds out what separates labels; None never guesses.
    records : int
        Records met so far in all files, bad ones included: the running number of the last one.
    delivered : int
        Records handed over so far.
    """

    fields: Fields = field(default_factory=Fields)
    labelled: bool = True
    required: bool = True
    batch_size: int = 1000
    limit: int | None = None
    longest: int = LONGEST_RECORD
    bad: BadRecords = field(default_factory=BadRecords)
    records: int = 0
    delivered: int = 0
    detection: Detection | None = None

    def room(self) -> int:
        """How many records the next batch may hold."""
        if self.limit is None:
            return self.batch_size
        return min(self.batch_size, self.limit - self.delivered)

    def reject(self, source: str, position: int, fault: FaultError, raw: bytes | None) -> None:
        """Hand a bad record to the policy, which may raise."""
        self.bad.handle(RecordError(source, position, fault.problem, fault.remedy, raw))

    def number(self, record: Record) -> Record:
        """Give the record just met its running number where it has no id."""
        return record._replace(id=numbered([record.id], [self.records])[0])

    def batch(
        self,
        ids: list[Id],
        texts: Sequence[str] | pa.LargeStringArray,
        labels: Sequence[LabelValue | str] | None,
    ) -> Batch | Held:
        """Make a batch of columns whose values are known to be good.

        Raises ``LabelError`` where a text that holds a list holds something else than labels.
        """
        detection = self.detection
        if labels is None or detection is None:
            return Batch.of(ids, texts, labels, self.fields)
        if str in set(map(type, labels)):
            detection.has_text = True
            labels = [self.fields.listed(x) if isinstance(x, str) else x for x in labels]
            if not detection.is_open:
                labels = self._split(labels)
        if detection.is_open:
            LabelSets.of([x for x in labels if not isinstance(x, str)])  # refuses bad ones now
            return Held(ids, pa.array(texts, pa.large_string()), labels)
        return Batch.of(ids, texts, labels, self.fields)

    def of_records(self, records: Sequence[Record]) -> Batch | Held:
        """Make a batch of records that were judged one by one and have their ids."""
        ids: list[Id] = [record.id for record in records]  # type: ignore[misc]
        labels = [record.labels for record in records] if self.labelled else None
        return self.batch(ids, [record.text for record in records], labels)

    def settle(self, batches: Iterator[Batch | Held]) -> Iterator[Batch]:
        """Look at the first batches, hold them back as long as it takes, and pass all on."""
        detection = self.detection
        if detection is None:
            yield from map(self._settled, batches)
            return
        held: list[Batch | Held] = []
        for batch in batches:
            if detection.is_open:
                labels = batch.labels if isinstance(batch, Held) else repeat(None, len(batch))
                detection.look(labels, pc.binary_length(batch.texts).to_pylist())
            held.append(batch)
            if not detection.holds_back:
                yield from map(self._settled, held)
                held.clear()
        detection.close()
        yield from map(self._settled, held)

    def _settled(self, batch: Batch | Held) -> Batch:
        if isinstance(batch, Batch):
            return batch
        return Batch.of(batch.ids, batch.texts, self._split(batch.labels), self.fields)

    def _split(self, labels: Sequence[LabelValue | str]) -> Sequence[LabelValue]:
        assert self.detection is not None
        separator = self.detection.separator
        self.detection.watch(labels)
        return [self.fields.split(x, separator) if isinstance(x, str) else x for x in labels]
