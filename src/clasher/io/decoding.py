"""From what a stream brought to records: JSON texts or objects in, a chunk out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from clasher.errors import LabelError
from clasher.io.cells import DoubtfulLabelsError
from clasher.io.jsonl import UNDECODABLE, RecordDecoder
from clasher.io.judging import FaultError
from clasher.io.records import Batch, Fields, Id, Record
from clasher.io.streams import Chunk, Poison, Position

Value: TypeAlias = bytes | Mapping[str, Any] | FaultError
"""What came: a JSON object as bytes, one that is decoded already, or what is wrong with it."""


class Decoder:
    r"""Makes chunks of what came; what is no record becomes poison.

    A record without the field of the labels is unlabelled: on a stream, most are.

    Parameters
    ----------
    source
        The name of the stream, for dead letters.
    fields
        Which fields of a record hold what.

    Examples
    --------
    >>> decoder = Decoder("news", Fields())
    >>> chunk = decoder.chunk([b'{"text": "oil"}', b"{"], places=["1-0", "2-0"], position="2-0")
    >>> chunk.records.ids, [poison.place for poison in chunk.poison]
    (['1-0'], ['2-0'])
    """

    def __init__(self, source: str, fields: Fields) -> None:
        self.source = source
        self._decoder = RecordDecoder(fields, labelled=True, required=False)

    def chunk(
        self,
        values: Sequence[Value],
        places: Sequence[str | int],
        position: Position,
        ids: Sequence[Id] | None = None,
    ) -> Chunk:
        """Decode values, all at once where all are good.

        Parameters
        ----------
        values
            What came, in order.
        places
            Where each stands in the stream: for dead letters, and as the id of a record that has
            none.
        position
            Where to go on after them.
        ids
            Other ids for records that have none.
        """
        spare = places if ids is None else ids
        if all(type(value) is bytes for value in values):
            try:
                return Chunk(self._decoder.decode_many(values, spare), position)  # type: ignore[arg-type]
            except (*UNDECODABLE, LabelError, DoubtfulLabelsError):
                pass
        records: list[Record] = []
        poison: list[Poison] = []
        for value, place, own in zip(values, places, spare, strict=True):
            try:
                record = self._record(value)
            except DoubtfulLabelsError as error:
                raise error.at(f"{self.source}, record {place}") from None
            except FaultError as fault:
                poison.append(Poison(self.source, place, fault.problem, raw_of(value)))
            else:
                records.append(record if record.id is not None else record._replace(id=own))
        batch = Batch.of_records(records, self._decoder.fields, labelled=True)
        return Chunk(batch, position, poison)

    def _record(self, value: Value) -> Record:
        if isinstance(value, FaultError):
            raise value
        if isinstance(value, bytes):
            return self._decoder.decode(value)
        return self._decoder.judge(value)


def raw_of(value: Value) -> bytes | None:
    """What came, as far as it can be shown."""
    if isinstance(value, FaultError):
        return value.raw
    return value if isinstance(value, bytes) else msgspec.json.encode(value, enc_hook=repr)
