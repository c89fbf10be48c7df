r"""JSON lines, one object a line, and JSON values that a stream brought.

msgspec decodes a batch of lines straight into structs made to measure, which hold the wanted fields
and skip the rest. If a line fails, the batch is read again line by line, to find out which and why.
A struct does not fit an object that has a field with a dot in its name where a nested one is
wanted; then the slower ``records.judge`` reads it. Text with half a surrogate pair (``"\ud800"``)
is a bad record, as invalid UTF-8 is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from operator import attrgetter
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from clasher.errors import LabelError
from clasher.io.formats import STANDARD_INPUT, Held, InputFile, Reading
from clasher.io.label_cells import DoubtfulLabelsError
from clasher.io.lines import Overlong, line_groups, too_long
from clasher.io.protocol import Chunk, Poison, Position
from clasher.io.records import (
    Batch,
    FaultError,
    Fields,
    Id,
    LabelValue,
    Record,
    check_labels,
    invalid_utf8,
    judge,
    numbered,
    read_cell,
)

Leaf: TypeAlias = tuple[Any, Any]  # the type of a wanted field, and its default
_Tree: TypeAlias = dict[str, "Leaf | _Tree"]

_NEVER: Final[Leaf] = (msgspec.UnsetType, msgspec.UNSET)  # a field that no value fits
_NOTHING_FITS: Final[_Tree] = {"": (msgspec.UnsetType, msgspec.NODEFAULT)}


def struct_for(
    wanted: dict[str, Leaf],
) -> tuple[type[msgspec.Struct], dict[str, Callable[[Any], Any]]]:
    """Make a struct type for the wanted fields, and a getter for each of them."""
    tree: _Tree = {}
    for path, leaf in wanted.items():
        *outer, last = path.split(".")
        if not outer or any(".".join(outer[:i]) in wanted for i in range(1, len(outer) + 1)):
            tree[path] = leaf
            continue
        tree[path] = _NEVER
        node = tree
        for name in outer:
            node = node.setdefault(name, {})  # type: ignore[assignment]
        node[last] = leaf
    try:
        struct, places = _grow(tree)
    except ValueError:
        struct, places = _grow(_NOTHING_FITS)
    return struct, {path: attrgetter(places.get(path, "none")) for path in wanted}


def _grow(tree: _Tree) -> tuple[type[msgspec.Struct], dict[str, str]]:
    """Make the struct type of one level, and the attribute path of each leaf below it."""
    names: dict[str, str] = {}
    fields: list[Any] = []
    places: dict[str, str] = {}
    for name, branch in tree.items():
        attribute = f"field{len(fields)}"
        names[attribute] = name
        if isinstance(branch, dict):
            struct, inner = _grow(branch)
            places |= {f"{name}.{path}": f"{attribute}.{place}" for path, place in inner.items()}
            optional = not any(field.required for field in msgspec.structs.fields(struct))
            default = msgspec.field(default_factory=struct) if optional else msgspec.field()
            fields.append((attribute, struct, default))
        else:
            kind, default = branch
            if branch is not _NEVER:
                places[name] = attribute
            fields.append((attribute, kind, msgspec.field(default=default)))
    return msgspec.defstruct("Wanted", fields, rename=names, kw_only=True, gc=False), places


_Label = Annotated[str, msgspec.Meta(min_length=1)]
_Labels = list[_Label] | dict[_Label, bool] | str | None
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_ONE_A_LINE = (
    "write one whole object a line (jq -c '.[]' makes lines of an array), or skip bad records with "
    "--on-error skip"
)


def read_jsonl(source: InputFile, reading: Reading) -> Iterator[Batch | Held]:
    """Read JSON lines; blank lines are no records."""
    decoder = RecordDecoder(reading.fields, **reading.rules)
    above = 0
    for lines in line_groups(source, reading):
        try:
            columns = decoder.columns(lines, count(reading.records + 1))
            batch = reading.batch(*columns)
            reading.records += len(lines)
        except (*UNDECODABLE, LabelError, DoubtfulLabelsError):
            batch = _one_by_one(lines, above, decoder, source.name, reading)
        above += len(lines)
        yield batch


def _one_by_one(
    lines: Sequence[bytes], above: int, decoder: RecordDecoder, source: str, reading: Reading
) -> Batch | Held:
    records: list[Record] = []
    for number, line in enumerate(lines, above + 1):
        overlong = isinstance(line, Overlong)
        if not overlong and not line.strip():
            continue
        reading.records += 1
        try:
            if overlong:
                raise too_long(reading.longest)
            records.append(reading.number(decoder.decode(line)))
        except DoubtfulLabelsError as error:
            raise error.at(f"{source}, record {number}") from None
        except FaultError as fault:
            if reading.records == 1 and not line.lstrip().startswith((b"{", b"[")):
                what = "standard input" if source == STANDARD_INPUT else source
                fault.remedy = (
                    f"name the format of {what} if it is not JSON lines, such as --format csv"
                )
            reading.reject(source, number, fault, getattr(line, "head", line))
    return reading.of_records(records)


class RecordDecoder:
    """Decodes lines into the wanted fields; the parameters are those of ``records.judge``."""

    def __init__(
        self, fields: Fields, *, labelled: bool, required: bool = True, splitting: bool = True
    ) -> None:
        self.fields, self._splitting = fields, splitting
        self.judge = partial(
            judge, fields=fields, labelled=labelled, required=required, splitting=splitting
        )
        wanted: dict[str, Leaf] = {}
        if fields.text is not None:
            wanted[fields.text] = (str, msgspec.NODEFAULT)
        if labelled:
            wanted[fields.labels] = (_Labels, msgspec.NODEFAULT if required else None)
        if fields.id is not None:
            wanted[fields.id] = (int | str | None, None)
        struct, getters = struct_for(wanted)
        self._decode = msgspec.json.Decoder(struct).decode
        self._get_text = (lambda _: "") if fields.text is None else getters[fields.text]
        self._get_labels = getters.get(fields.labels) if labelled else None
        self._get_id = getters[fields.id] if fields.id is not None else None

    def decode_many(self, lines: Sequence[bytes], spare: Iterable[Id]) -> Batch:
        return Batch.of(*self.columns(lines, spare), self.fields)

    def columns(
        self, lines: Sequence[bytes], spare: Iterable[Id]
    ) -> tuple[list[Id], list[str], list[LabelValue | str] | None]:
        found = list(map(self._decode, lines))
        ids: Sequence[Any]
        ids = [None] * len(found) if self._get_id is None else list(map(self._get_id, found))
        labels = None if self._get_labels is None else list(map(self._get_labels, found))
        texts = list(map(self._get_text, found))
        return numbered(ids, spare), texts, labels

    def decode(self, line: bytes) -> Record:
        try:
            found = self._decode(line)
        except UNDECODABLE:
            return self.judge(decode_object(line))
        labels = None if self._get_labels is None else self._get_labels(found)
        if isinstance(labels, str):
            labels = read_cell(labels, self.fields, splitting=self._splitting)
        else:
            check_labels(labels, self.fields)
        own = None if self._get_id is None else self._get_id(found)
        return Record(own, self._get_text(found), labels)


def decode_object(line: bytes) -> dict[str, Any]:
    """Decode an object with all its fields."""
    try:
        value = msgspec.json.decode(line)
    except UnicodeDecodeError:
        raise invalid_utf8(line) from None
    except RecursionError:
        raise FaultError("it is nested too deeply") from None
    except msgspec.DecodeError as error:
        problem = str(error).removeprefix("JSON is malformed: ")
        raise FaultError(f"broken JSON: {problem}", _ONE_A_LINE) from None
    if not isinstance(value, dict):
        raise FaultError("it is not an object", _ONE_A_LINE)
    return value


# A JSON object as bytes, a decoded one, or what is wrong with it.
Value: TypeAlias = bytes | Mapping[str, Any] | FaultError


class Decoder:
    """Makes chunks of JSON values; bad ones become poison.

    A record without the field of labels is unlabelled, as most records of a stream are.

    Parameters
    ----------
    source
        The name of the stream, for dead letters.
    fields
        The fields of text, labels and id.

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
        lost: Sequence[Poison] = (),
    ) -> Chunk:
        """Decode values, all at once if all are good.

        Parameters
        ----------
        values
            JSON values in order.
        places
            The place of each in the stream, for dead letters; also the id of a record without one.
        position
            The position after them.
        ids
            Other ids for records without one.
        lost
            Dead letters that come before them.
        """
        spare = places if ids is None else ids
        if all(type(value) is bytes for value in values):
            try:
                batch = self._decoder.decode_many(values, spare)  # type: ignore[arg-type]
                return Chunk(batch, position, lost)
            except (*UNDECODABLE, LabelError, DoubtfulLabelsError):
                pass
        records: list[Record] = []
        poison = list(lost)
        for value, place, own in zip(values, places, spare, strict=True):
            try:
                if isinstance(value, FaultError):
                    raise value
                if isinstance(value, bytes):
                    record = self._decoder.decode(value)
                else:
                    record = self._decoder.judge(value)
            except DoubtfulLabelsError as error:
                raise error.at(f"{self.source}, record {place}") from None
            except FaultError as fault:
                poison.append(Poison(self.source, place, fault.problem, _raw(value)))
            else:
                records.append(record if record.id is not None else record._replace(id=own))
        batch = Batch.of_records(records, self._decoder.fields, labelled=True)
        return Chunk(batch, position, poison)


def _raw(value: Value) -> bytes | None:
    if isinstance(value, FaultError):
        return value.raw
    return value if isinstance(value, bytes) else msgspec.json.encode(value, enc_hook=repr)
