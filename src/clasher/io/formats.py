"""The format of a file, and the state that the readers of all formats share.

The extension or the caller names the format; the first bytes or the extension give the compression.
Readers decode whole batches; ``Reading.judge`` checks records of a failed batch one by one.
"""

from __future__ import annotations

import codecs
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Final, Literal, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from clasher.errors import LabelError, RecordError, SettingError, StreamError
from clasher.io.label_cells import (
    Detection,
    DoubtfulLabelsError,
    OnLabels,
    Understood,
    checked,
    is_blank,
    split,
)
from clasher.io.records import Batch, FaultError, Fields, Id, LabelValue, Record, listing
from clasher.io.writers import BadRecords
from clasher.labels import LabelSets

Kind: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "arrow", "text"]
"""The formats of records; the readers of ``text`` know more about it."""

Compression: TypeAlias = Literal["gzip", "zstd", "xz", "bz2"]

KINDS: Final[dict[str, Kind]] = {
    "jsonl": "jsonl", "ndjson": "jsonl", "json": "jsonl", "csv": "csv", "tsv": "tsv",
    "parquet": "parquet", "arrow": "arrow", "feather": "arrow",
}  # fmt: skip
COMPRESSIONS: dict[str, Compression] = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bz2"}
MAGIC: Final[dict[bytes, Compression]] = {  # the first bytes of compressed data
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bz2",
}  # fmt: skip
STANDARD_INPUT: Final = "-"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of records, or standard input, and how to read it."""

    name: str
    kind: Kind
    compression: Compression | None = None
    delimiter: str | None = None  # of the cells of CSV and TSV; None detects it
    encoding: str | None = None  # of text; None is UTF-8

    @property
    def is_standard_input(self) -> bool:
        return self.name == STANDARD_INPUT

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> InputFile:
        """Find the format of ``path``; ``format`` is an extension, as ``csv`` or ``jsonl.gz``."""
        name = os.fspath(path)
        extension, compression = _extension(name)
        if format is not None:
            extension, packed = _extension(f".{format.removeprefix('.')}")
            compression = packed or compression
        elif name == STANDARD_INPUT:
            extension = "jsonl" if delimiter is None else "csv"
        elif delimiter is not None and extension not in KINDS:
            extension = "csv"
        if format is None and os.path.isdir(name):
            raise StreamError(
                f"{name} is a folder; name the files in it ({shlex.quote(name)}/*.jsonl), or "
                f"the dataset that it holds with --format NAME (see clasher datasets)"
            )
        if extension not in KINDS:
            what = f"format {format!r}" if format else f"the extension of {name}"
            known = ", ".join(f".{kind}" for kind in KINDS)
            known += "; text formats also with .gz, .zst, .xz, .bz2"
            remedy = "" if format else "; name the format with --format EXT"
            raise StreamError(f"{what} is unknown; known are {known}{remedy}")
        kind = KINDS[extension]
        if compression and kind in ("parquet", "arrow"):
            problem = f"a {kind} file is compressed inside, not as a whole"
            raise StreamError(f"{name}: {problem}; decompress it first")
        if delimiter in (r"\t", "tab"):
            delimiter = "\t"
        elif delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            wanted = "one character, such as ; or \\t"
            raise SettingError(f"--delimiter must be {wanted}. Got {delimiter!r} instead.")
        try:
            encoding = codecs.lookup(encoding or "utf-8").name
            "".encode(encoding)  # refuses codecs of bytes, such as hex
        except (LookupError, ValueError):
            known = "--encoding takes names such as cp1252, latin-1 or utf-16"
            raise SettingError(f"there is no encoding {encoding!r}; {known}") from None
        encoding = None if encoding == "utf-8" else encoding
        return cls(name, kind, compression, delimiter, encoding)


def compression_of(head: bytes) -> Compression | None:
    """Detect the compression of data by its first bytes."""
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


def _extension(name: str) -> tuple[str, Compression | None]:
    stem, _, last = os.path.basename(name).lower().rpartition(".")
    if last not in COMPRESSIONS:
        return last if stem or name.startswith(".") else "", None
    return stem.rpartition(".")[2], COMPRESSIONS[last]


Value: TypeAlias = bytes | Mapping[str, Any] | FaultError
"""A JSON object as bytes, a decoded one, or what is wrong with it."""

_MISSING: Final = object()

FEW: Final = 20  # records of which most may have blank labels without a warning
LONGEST_RECORD = 256 << 20  # bytes of a record in a text file, by default
BATCH_BYTES = 64 << 20  # about, after which a batch of long records ends early


@dataclass(frozen=True, slots=True)
class Held:
    """A batch whose labels cannot be split yet."""

    ids: list[Id]
    texts: pa.LargeStringArray
    labels: Sequence[LabelValue | str]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(slots=True)
class Reading:
    """The options of a stream, and the progress of its reader."""

    fields: Fields = field(default_factory=Fields)
    labelled: bool = True
    required: bool = True  # records without the field of labels are bad, else unlabelled
    batch_size: int = 1000
    limit: int | None = None
    longest: int = LONGEST_RECORD
    bad: BadRecords = field(default_factory=BadRecords)
    records: int = 0  # so far in all files, with bad ones: the number of the last one
    delivered: int = 0
    detection: Detection | None = None  # finds the separator of labels; None: never guess
    on_labels: OnLabels | None = None
    blank: int = 0  # records whose labels are a blank text

    def room(self) -> int:
        if self.limit is None:
            return self.batch_size
        return min(self.batch_size, self.limit - self.delivered)

    def wanted(self) -> list[tuple[str, str, bool]]:
        """List the fields to read: their option, their name, and whether a record needs them."""
        text, labels, own = self.fields.text, self.fields.labels, self.fields.id
        listed = [] if text is None else [("text", text, True)]
        listed += [("labels", labels, self.required)] if self.labelled else []
        return listed if own is None else [*listed, ("id", own, False)]

    def reject(self, source: str, position: Any, fault: FaultError, raw: bytes | None) -> None:
        self.bad.handle(RecordError(source, position, fault.problem, fault.remedy, raw))

    def judge(self, values: Mapping[str, Any]) -> Record:
        """Check one record and say precisely what is wrong with it."""
        fields = self.fields
        own = None if fields.id is None else _find(values, fields.id, None)
        if isinstance(own, bool) or not isinstance(own, int | str | None):
            problem = f"field {fields.id!r} holds {_kind(own)}; an id is text or an integer"
            raise FaultError(problem, "name the field of the id with --id FIELD")
        text = "" if fields.text is None else _find(values, fields.text)
        if not isinstance(text, str):
            got = _missing(values) if text is _MISSING else f"holds {_kind(text)}, not text"
            remedy = "name the field of the text with --text FIELD"
            raise FaultError(f"field {fields.text!r} {got}", remedy)
        labels = _find(values, fields.labels) if self.labelled else None
        if labels is _MISSING and self.required:
            remedy = "name the field of the labels with --labels FIELD, write null for unlabelled"
            raise FaultError(f"field {fields.labels!r} {_missing(values)}", remedy)
        return Record(own, text, None if labels is _MISSING else self.judge_labels(labels))

    def judge_labels(self, value: Any) -> LabelValue | str:
        """Check labels; read those written as one text, as far as the separator is known."""
        fields = self.fields
        try:
            if isinstance(value, str):
                self.blank += is_blank(value)
                if self.detection is None:
                    return fields.split(value)
                self.detection.has_text = True
                return fields.listed(value)
            if isinstance(value, list | dict):
                checked(value)
            elif value is not None:
                raise FaultError(
                    f"field {fields.labels!r} holds {_kind(value)}, not labels",
                    "give a list of text, an object label → true or false, null for unlabelled, or "
                    "one text with --label-separator; --labels FIELD names another field",
                )
        except LabelError as error:
            problem = str(error)[:500].removesuffix(" instead.").rstrip(".")
            raise FaultError(f"field {fields.labels!r}: {problem}") from None
        return value  # type: ignore[no-any-return]

    def one_by_one(
        self,
        source: str,
        values: Iterable[tuple[str | int, Id, Value]],
        decode: Callable[[Any], Record],
        reject: Callable[[str, Any, FaultError, bytes | None], None] | None = None,
    ) -> Batch | Held:
        """Make a batch of the good values; each value comes with its place and a spare id."""
        records: list[Record] = []
        for place, spare, value in values:
            try:
                if isinstance(value, FaultError):
                    raise value
                record = decode(value)
            except DoubtfulLabelsError as error:
                raise error.at(f"{source}, record {place}") from None
            except FaultError as fault:
                raw = value if isinstance(value, bytes) else fault.raw
                if isinstance(value, Mapping):
                    raw = msgspec.json.encode(value, enc_hook=repr)
                (reject or self.reject)(source, place, fault, raw)
            else:
                records.append(record if record.id is not None else record._replace(id=spare))
        return self.of_records(records)

    def batch(
        self,
        ids: list[Id],
        texts: Sequence[str] | pa.LargeStringArray,
        labels: Sequence[LabelValue | str] | None,
    ) -> Batch | Held:
        detection = self.detection
        cells = [x for x in labels or () if isinstance(x, str)] if _has_text(labels) else []
        if labels is None or detection is None:
            batch: Batch | Held = Batch.of(ids, texts, labels, self.fields)
        else:
            if cells:
                detection.has_text = True
                labels = [self.fields.listed(x) if isinstance(x, str) else x for x in labels]
            batch = Held(ids, pa.array(texts, pa.large_string()), labels)
            if not detection.is_open:
                batch = self._settled(batch)
            else:  # refuse bad ones now
                LabelSets.of([x for x in labels if not isinstance(x, str)])
        self.blank += sum(map(is_blank, cells))
        return batch

    def of_records(self, records: Sequence[tuple[Any, str, LabelValue | str]]) -> Batch | Held:
        """Make a batch of records that have ids."""
        ids, texts, labels = map(list, zip(*records, strict=True)) if records else ([], [], [])
        return self.batch(ids, texts, labels if self.labelled else None)

    def settle(self, batches: Iterator[Batch | Held]) -> Iterator[Batch]:
        """Hold back the first batches until the separator is known, then pass all on."""
        detection = self.detection or Detection(is_open=False)
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
        if (
            self.on_labels
            and not self.fields.blank_is_none
            and 2 * self.blank > self.delivered >= FEW
        ):
            self.on_labels(Understood(None, self.delivered, 0, [], is_late=True, blank=self.blank))

    def _settled(self, batch: Batch | Held) -> Batch:
        if isinstance(batch, Batch):
            return batch
        assert self.detection is not None
        separator, labels = self.detection.separator, batch.labels
        if _has_text(labels):
            self.detection.watch(labels)
            labels = [split(x, separator) if isinstance(x, str) else x for x in labels]
        return Batch.of(batch.ids, batch.texts, labels, self.fields)


def _has_text(labels: Sequence[Any] | None) -> bool:
    """Tell whether some labels are one text, without a look at each."""
    return any(issubclass(kind, str) for kind in set(map(type, labels or ())))


def _find(values: Mapping[str, Any], path: str, default: object = _MISSING) -> Any:
    if path in values:
        return values[path]
    found: Any = values
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return default
        found = found[name]
    return found


def _missing(values: Mapping[str, Any]) -> str:
    return f"is missing ({f'there is {listing(values)}' if values else 'the record is empty'})"


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")
