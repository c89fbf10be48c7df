r"""JSON lines, one object a line, and JSON values that a stream brought.

msgspec decodes a batch of lines straight into structs made to measure, which hold the wanted fields
and skip the rest. If a line fails, the batch is read again line by line, to find out which and why.
A struct does not fit an object that has a field with a dot in its name where a nested one is
wanted; then the slower ``Reading.judge`` reads it. Text with half a surrogate pair (``"\ud800"``)
is a bad record, as invalid UTF-8 is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from operator import attrgetter
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from clasher.errors import ClasherError
from clasher.io.formats import Held, InputFile, Reading, Value
from clasher.io.lines import Overlong, line_groups, too_long
from clasher.io.protocol import Chunk, Poison, Position
from clasher.io.records import SKIP, Batch, FaultError, Fields, Id, Record, invalid_utf8, numbered

Leaf: TypeAlias = tuple[Any, Any]  # the type of a wanted field, and its default
_Tree: TypeAlias = dict[str, "Leaf | _Tree"]

_NEVER: Final[Leaf] = (msgspec.UnsetType, msgspec.UNSET)  # a field that no value fits
_NOTHING_FITS: Final[_Tree] = {"": (msgspec.UnsetType, msgspec.NODEFAULT)}


def struct_for(
    wanted: dict[str, Leaf],
) -> tuple[type[msgspec.Struct], dict[str, Callable[[Any], Any]]]:
    """Make a struct type for the wanted fields, and a getter for each of them."""
    tree: _Tree = {}
    getters: dict[str, Callable[[Any], Any]] = {}
    for path, leaf in wanted.items():
        names, node = path.split("."), tree
        if any(".".join(names[:i]) in wanted for i in range(1, len(names))):
            names = [path]
        elif len(names) > 1:
            tree[path] = _NEVER
        for name in names[:-1]:
            node = node.setdefault(name, {})  # type: ignore[assignment]
        node[names[-1]] = leaf
        getters[path] = attrgetter(".".join(map(_attribute, names)))
    try:
        return _grow(tree), getters
    except ValueError:
        return _grow(_NOTHING_FITS), getters


def _attribute(name: str) -> str:
    return f"field_{name.encode('utf-8', 'surrogatepass').hex()}"


def _grow(tree: _Tree) -> type[msgspec.Struct]:
    """Make the struct type of one level."""
    fields: list[Any] = []
    for name, branch in tree.items():
        if isinstance(branch, dict):
            kind = _grow(branch)
            is_needed = any(field.required for field in msgspec.structs.fields(kind))
            how: Any = {} if is_needed else {"default_factory": kind}
        else:
            kind, default = branch
            how = {"default": default}
        fields.append((_attribute(name), kind, msgspec.field(name=name, **how)))
    return msgspec.defstruct("Wanted", fields, kw_only=True, gc=False)


_Label = Annotated[str, msgspec.Meta(min_length=1)]
_Labels = list[_Label] | dict[_Label, bool] | str | None
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ClasherError)
_ONE_A_LINE = f"write one whole object a line (jq -c '.[]' makes lines of an array), or {SKIP}"


def read_jsonl(source: InputFile, reading: Reading) -> Iterator[Batch | Held]:
    """Read JSON lines; blank lines are no records."""
    decoder = RecordDecoder(reading)
    above = 0

    def values(lines: list[bytes]) -> Iterator[tuple[int, int, Value]]:
        for number, line in enumerate(lines, above + 1):
            fault = too_long(reading.longest, line.head) if isinstance(line, Overlong) else None
            if fault or line.strip():
                reading.records += 1
                yield number, reading.records, fault or line

    def reject(name: str, number: int, fault: FaultError, raw: bytes | None) -> None:
        if reading.records == 1 and not (raw or b"").lstrip().startswith((b"{", b"[")):
            what = "standard input" if source.is_standard_input else name
            fault.remedy = (
                f"name the format of {what} if it is not JSON lines, such as --format csv"
            )
        reading.reject(name, number, fault, raw)

    for lines in line_groups(source, reading):
        try:
            batch = decoder.batch(lines, count(reading.records + 1))
            reading.records += len(lines)
        except UNDECODABLE:
            batch = reading.one_by_one(source.name, values(lines), decoder.decode, reject)
        above += len(lines)
        yield batch


class RecordDecoder:
    """Decodes lines into the fields that a reader wants."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        kinds = {"text": str, "labels": _Labels, "id": int | str | None}
        wanted: dict[str, Leaf] = {
            field: (kinds[option], msgspec.NODEFAULT if is_needed else None)
            for option, field, is_needed in reading.wanted()
        }
        struct, getters = struct_for(wanted)
        own: dict[str, Any] = {option: getters[field] for option, field, _ in reading.wanted()}
        self._decode = msgspec.json.Decoder(struct).decode
        self._get_text, self._get_labels = own.get("text", lambda _: ""), own.get("labels")
        self._get_id = own.get("id", lambda _: None)

    def batch(self, lines: Sequence[bytes], spare: Iterable[Id]) -> Batch | Held:
        """Decode lines that are all good; raise one of ``UNDECODABLE`` otherwise."""
        found = list(map(self._decode, lines))
        labels = None if self._get_labels is None else list(map(self._get_labels, found))
        ids = numbered(list(map(self._get_id, found)), spare)
        return self.reading.batch(ids, list(map(self._get_text, found)), labels)

    def decode(self, value: bytes | Mapping[str, Any]) -> Record:
        if not isinstance(value, bytes):
            return self.reading.judge(value)
        try:
            found = self._decode(value)
        except UNDECODABLE:
            return self.reading.judge(decode_object(value))
        labels = None if self._get_labels is None else self._get_labels(found)
        labels = self.reading.judge_labels(labels)
        return Record(self._get_id(found), self._get_text(found), labels)


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


class Decoder:
    """Makes chunks of JSON values; bad ones become poison.

    A record without the field of labels is unlabelled, as most records of a stream are.

    Parameters
    ----------
    source, fields
        The name of the stream, for dead letters, and the fields of text, labels and id.

    Examples
    --------
    >>> decoder = Decoder("news", Fields())
    >>> chunk = decoder.chunk([b'{"text": "oil"}', b"{"], places=["1-0", "2-0"], position="2-0")
    >>> chunk.records.ids, [poison.place for poison in chunk.poison]
    (['1-0'], ['2-0'])
    """

    def __init__(self, source: str, fields: Fields) -> None:
        self.source = source
        self._decoder = RecordDecoder(Reading(fields, required=False))

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
        position, lost
            The position after them, and dead letters that come before them.
        ids
            Other ids for records without one.
        """
        spare: Sequence[Id] = places if ids is None else ids
        poison = list(lost)

        def reject(source: str, place: str | int, fault: FaultError, raw: bytes | None) -> None:
            poison.append(Poison(source, place, fault.problem, raw))

        batch: Batch | Held | None = None
        if all(type(value) is bytes for value in values):
            with suppress(*UNDECODABLE):
                batch = self._decoder.batch(values, spare)  # type: ignore[arg-type]
        if batch is None:
            each, reading = zip(places, spare, values, strict=True), self._decoder.reading
            batch = reading.one_by_one(self.source, each, self._decoder.decode, reject)
        assert isinstance(batch, Batch)  # nothing is held back without detection
        return Chunk(batch, position, poison)
