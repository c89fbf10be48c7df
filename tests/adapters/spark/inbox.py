"""A folder that files arrive in, each a batch of a stream."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from support.corpora import Corpus

SCHEMA = "number int, text string, labels array<string>"
LENGTH = 30  # documents of a file


def fill(folder: Path, corpus: Corpus, files: int, first: int = 0) -> None:
    """Put the next files into the folder, the older ones first."""
    folder.mkdir(exist_ok=True)
    rows = [
        {"number": number, "text": text, "labels": labels}
        for number, (text, labels) in enumerate(
            zip(corpus.texts.to_pylist(), corpus.labels.to_pylist(), strict=True)
        )
    ]
    for number in range(first, first + files):
        put(folder, number, rows[number * LENGTH : (number + 1) * LENGTH])


def put(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    """Put a file into the folder, newer than those with lower numbers."""
    path = folder / f"{number:04}.json"
    path.write_bytes(msgspec.json.Encoder().encode_lines(rows))
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def read(spark: Any, folder: Path) -> Any:
    """Read the folder as a stream, a file at a time."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.json(str(folder))
