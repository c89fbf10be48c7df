"""The token files of RCV1-v2: stemmed words without stop words, no dates.

A record is a line ``.I 2286``, a line ``.W``, lines of tokens, and an empty line. The documents of
each file are in the order of their numbers, which is the order of time, nearly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from clasher.datasets.documents import Document
from clasher.datasets.folder import Folder, text_blocks
from clasher.datasets.rcv1_topics import Judgements
from clasher.errors import StreamError
from clasher.io.judging import FaultError
from clasher.io.lines import split_lines

LONGEST_LINE: Final = 1 << 20


def read_tokens(paths: list[Path], judgements: Judgements, folder: Folder) -> Iterator[Document]:
    """The documents of several token files, in the order of their numbers."""
    streams = [_documents(path, judgements, folder) for path in paths]
    return heapq.merge(*streams, key=lambda document: int(document.id))


def _documents(path: Path, judgements: Judgements, folder: Folder) -> Iterator[Document]:
    for number, record in enumerate(_records(path), 1):
        folder.reading.records += 1
        try:
            yield parse(record, judgements)
        except FaultError as fault:
            folder.reading.reject(str(path), number, fault, b"\n".join(record))


def _records(path: Path) -> Iterator[list[bytes]]:
    """The lines of each record."""
    record: list[bytes] = []
    for line in _lines(path):
        if line.startswith(b".I") and record:
            yield record
            record = []
        record.append(line)
    yield record


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, the last of which must be whole too."""
    end = b""

    def blocks() -> Iterator[bytes]:
        nonlocal end
        for block in text_blocks(path):
            end = block[-1:]
            yield block

    for line in chain.from_iterable(split_lines(blocks(), LONGEST_LINE)):
        yield line.rstrip()
    if end != b"\n":
        raise StreamError(f"{path} ends in the middle of a line: is it complete? Get it again")


def parse(record: list[bytes], judgements: Judgements) -> Document:
    """A document, from its lines."""
    head, mark, *body = (*record, b"", b"")
    number = head.removeprefix(b".I").strip()
    if not head.startswith(b".I") or not number.isdigit():
        raise FaultError(f"it begins with {head[:40]!r}, not with .I and a number")
    if mark != b".W":
        raise FaultError(f"document {int(number)} has no .W before its words")
    labels = judgements.of(int(number))
    if not labels:
        raise FaultError(f"document {int(number)} has no topics in {judgements.path}")
    text = b"\n".join(line for line in body if line).decode("latin-1")
    return Document(str(int(number)), None, text, labels)
