"""What the readers of all formats share while a stream is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from clasher.errors import RecordError
from clasher.io.badrecords import BadRecords
from clasher.io.judging import FaultError
from clasher.io.records import Fields, Record, numbered

LONGEST_RECORD = 256 << 20
"""The default limit of one record in a text file: 256 MiB."""

BATCH_BYTES = 64 << 20
"""A batch is closed early where its records are long, at about this many bytes: 64 MiB."""


@dataclass(slots=True)
class Reading:
    """The wishes of the caller, and how far the reading has come.

    Attributes
    ----------
    required : bool
        Whether records without the field of the labels are bad, or unlabelled.
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
