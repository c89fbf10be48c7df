"""Documents sorted by date in bounded memory: an external merge sort.

Documents that do not fit into memory are sorted in parts, which are compressed into files of a
temporary folder and merged. A small corpus stays in memory.
"""

from __future__ import annotations

import heapq
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from struct import Struct
from typing import Final

import msgspec
import pyarrow as pa

from clasher.datasets.document import Document
from clasher.errors import StreamError

PART_BYTES: Final = 64 << 20  # of texts held in memory
BLOCK: Final = 64  # documents compressed, written and read at once
PROGRESS_EVERY: Final = 1000  # documents

_OVERHEAD: Final = 400  # bytes of a document beside its text, roughly
_sizes = Struct("<QQ")  # of a block: compressed and uncompressed
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Document])


def by_date(
    documents: Iterable[Document],
    *,
    part_bytes: int = PART_BYTES,
    on_held: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """Sort documents by date; documents of the same date keep their order.

    All are read before the first is yielded; ``on_held`` is called now and then with their number.
    """
    held: list[Document] = []
    size = 0
    parts: list[str] = []
    with ExitStack() as stack:
        for number, document in enumerate(documents, 1):
            held.append(document)
            size += len(document.text) + _OVERHEAD
            if size > part_bytes:
                try:
                    if not parts:
                        scratch = tempfile.TemporaryDirectory(prefix="clasher-")
                        folder = stack.enter_context(scratch)
                    path = os.path.join(folder, f"{len(parts)}.part")
                    _write(path, sorted(held, key=_date))
                except OSError as error:
                    raise StreamError(
                        f"sorting by date needs temporary files, and {tempfile.gettempdir()} "
                        f"cannot be written: {error.strerror or error}; set TMPDIR to a folder "
                        f"with more room"
                    ) from error
                parts.append(path)
                held, size = [], 0
            if on_held is not None and number % PROGRESS_EVERY == 0:
                on_held(number)
        # heapq.merge yields documents of the same date from earlier parts first.
        yield from heapq.merge(*map(_read, parts), sorted(held, key=_date), key=_date)


def _date(document: Document) -> str:
    return document.date or ""


def _write(path: str, documents: list[Document]) -> None:
    with open(path, "xb") as file:
        for start in range(0, len(documents), BLOCK):
            plain = _encoder.encode(documents[start : start + BLOCK])
            block = pa.compress(plain, "zstd", asbytes=True)
            file.write(_sizes.pack(len(block), len(plain)))
            file.write(block)


def _read(path: str) -> Iterator[Document]:
    with open(path, "rb") as file:
        while sizes := file.read(_sizes.size):
            compressed, plain = _sizes.unpack(sizes)
            block = pa.decompress(file.read(compressed), plain, "zstd", asbytes=True)
            yield from _decoder.decode(block)
