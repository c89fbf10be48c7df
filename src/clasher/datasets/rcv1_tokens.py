"""The token files of RCV1-v2: stemmed words without stop words, no dates.

A record is a line ``.I 2286``, a line ``.W``, lines of tokens, and an empty line. The documents of
each file are in the order of their numbers, which is the order of time, nearly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
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
    number = 0
    for number, record in enumerate(_records(path), 1):
        folder.reading.records += 1
        try:
            yield parse(record, judgements)
        except FaultError as fault:
            folder.reading.reject(str(path), number, fault, b"\n".join(record))
    if not number:
        raise StreamError(f"{path} holds no document; get it again")


def _records(path: Path) -> Iterator[list[bytes]]:
    """The lines of each record; the last of a file must be whole."""
    record: list[bytes] = []
    for line in _lines(path):
        if line.startswith(b".I") and record:
            yield record
            record = []
        record.append(line)
    if record:
        if record[-1]:
            raise StreamError(f"{path} ends in the middle of a document: is it complete?")
        yield record


def _lines(path: Path) -> Iterator[bytes]:
    for lines in split_lines(text_blocks(path), LONGEST_LINE):
        for line in lines:
            yield line.rstrip()


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
