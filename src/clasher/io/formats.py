"""Which format a file has, told by its extension or by the caller; its compression by its bytes."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from clasher.errors import SettingError, StreamError

Kind: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "arrow", "text"]
"""The formats of records; ``text`` is any other, whose reader knows more."""

Compression: TypeAlias = Literal["gzip", "zstd", "xz", "bz2"]

KINDS: Final[dict[str, Kind]] = {
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
    "csv": "csv",
    "tsv": "tsv",
    "parquet": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
}
COMPRESSIONS: Final[dict[str, Compression]] = {
    "gz": "gzip",
    "zst": "zstd",
    "xz": "xz",
    "bz2": "bz2",
}
MAGIC: Final[dict[bytes, Compression]] = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bz2",
}
"""How compressed data begins."""
MAGIC_BYTES: Final = 10
STANDARD_INPUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a stream, or standard input: where it is and how to read it.

    ``delimiter`` stands between the cells of CSV and TSV; None finds out. ``encoding`` is that of
    text; None is UTF-8.

    Examples
    --------
    >>> source = Source.of("news/today.csv.gz")
    >>> source.kind, source.compression
    ('csv', 'gzip')
    >>> Source.of("-", format="tsv").kind
    'tsv'
    """

    name: str
    kind: Kind
    compression: Compression | None = None
    delimiter: str | None = None
    encoding: str | None = None

    @property
    def is_standard_input(self) -> bool:
        """Whether this is standard input; a file called ``-`` is ``./-``."""
        return self.name == STANDARD_INPUT

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> Source:
        """Tell the format of ``path``; ``format`` is an extension, such as ``csv`` or ``jsonl.gz``.

        Standard input is JSON lines unless ``format`` says otherwise; what has a ``delimiter`` is
        CSV.
        """
        name = os.fspath(path)
        extension, compression = _extension(name)
        if format is not None:
            extension, said = _extension(f".{format.removeprefix('.')}")
            compression = said or compression
        elif name == STANDARD_INPUT:
            extension = "jsonl" if delimiter is None else "csv"
        elif delimiter is not None and extension not in KINDS:
            extension = "csv"
        if format is None and os.path.isdir(name):
            raise StreamError(
                f"{name} is a folder; name the files in it ({os.path.join(name, '*.jsonl')}), or "
                f"the dataset that it holds with --format NAME (see clasher datasets)"
            )
        if extension not in KINDS:
            if format:
                raise StreamError(f"format {format!r} is unknown; known are {_known()}")
            raise StreamError(
                f"the extension of {name} is unknown; known are {_known()}; name the format with "
                f"--format EXT"
            )
        kind = KINDS[extension]
        if compression and kind in ("parquet", "arrow"):
            raise StreamError(
                f"{name}: a {kind} file is compressed inside, not as a whole; decompress it first"
            )
        return cls(name, kind, compression, _delimiter(delimiter), _encoding(encoding))


def compression_of(head: bytes) -> Compression | None:
    """Tell how data is compressed by its first bytes."""
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


def may_be_compressed(head: bytes) -> bool:
    """Tell whether bytes are the beginning of how compressed data begins: more are needed."""
    return any(magic.startswith(head) and magic != head for magic in MAGIC) and bool(head)


def _delimiter(given: str | None) -> str | None:
    if given in (r"\t", "tab"):
        return "\t"
    if given is not None and (len(given) != 1 or given in '"\r\n'):
        raise SettingError(
            f"a delimiter must be one character, such as ; or \\t. Got {given!r} instead; "
            f"--delimiter says which"
        )
    return given


def _encoding(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        found = codecs.lookup(given)
        "".encode(given)  # not one of bytes to bytes
    except (LookupError, ValueError):
        raise SettingError(
            f"there is no encoding {given!r}; --encoding takes names such as cp1252, latin-1 or "
            f"utf-16"
        ) from None
    return None if found.name == "utf-8" else found.name


def _extension(name: str) -> tuple[str, Compression | None]:
    stem, _, last = os.path.basename(name).lower().rpartition(".")
    if last not in COMPRESSIONS:
        return last if stem or name.startswith(".") else "", None
    return stem.rpartition(".")[2], COMPRESSIONS[last]


def _known() -> str:
    return ", ".join(f".{e}" for e in KINDS) + "; text formats also with .gz, .zst, .xz, .bz2"
