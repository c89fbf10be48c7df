"""Which format a file has, told by its extension or by the caller."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from clasher.errors import StreamError

Kind: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet", "arrow", "text"]
"""The formats of records; ``text`` is any other, whose reader knows more."""

Compression: TypeAlias = Literal["gzip", "zstd", "xz"]

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
COMPRESSIONS: Final[dict[str, Compression]] = {"gz": "gzip", "zst": "zstd", "xz": "xz"}
STANDARD_INPUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a stream, or standard input: where it is and how to read it.

    Examples
    --------
    >>> Source.of("news/today.csv.gz")
    Source(name='news/today.csv.gz', kind='csv', compression='gzip')
    >>> Source.of("-", format="tsv").kind
    'tsv'
    """

    name: str
    kind: Kind
    compression: Compression | None = None

    @property
    def is_standard_input(self) -> bool:
        """Whether this is standard input; a file called ``-`` is ``./-``."""
        return self.name == STANDARD_INPUT

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002
    ) -> Source:
        """Tell the format of ``path``; ``format`` is an extension, such as ``csv`` or ``jsonl.gz``.

        Standard input is JSON lines unless ``format`` says otherwise.
        """
        name = os.fspath(path)
        extension, compression = _extension(name)
        if format is not None:
            extension, said = _extension(f".{format.removeprefix('.')}")
            compression = said or compression
        elif name == STANDARD_INPUT:
            extension = "jsonl"
        if extension not in KINDS:
            what = f"format {format!r}" if format else f"the extension of {name}"
            raise StreamError(f"{what} is unknown; known are {_known()}")
        kind = KINDS[extension]
        if compression and kind in ("parquet", "arrow"):
            raise StreamError(
                f"{name}: a {kind} file is compressed inside, not as a whole; decompress it first"
            )
        return cls(name, kind, compression)


def _extension(name: str) -> tuple[str, Compression | None]:
    stem, _, last = os.path.basename(name).lower().rpartition(".")
    if last not in COMPRESSIONS:
        return last if stem or name.startswith(".") else "", None
    return stem.rpartition(".")[2], COMPRESSIONS[last]


def _known() -> str:
    return ", ".join(f".{e}" for e in KINDS) + "; text formats also with .gz, .zst, .xz"
