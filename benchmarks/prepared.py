"""A corpus written in each system's input format, before any clock runs.

A prepared folder holds ``stream.arrow`` (raw text and labels), ``stream.jsonl`` (the same, for the
end-to-end runs), ``stream.vw`` (Vowpal Wabbit, lower-cased words) and ``corpus.json``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather

from benchmarks.corpora import Corpus

WORD = re.compile(r"[^\W_]{2,}")
"""What clasher takes for a word: two letters or digits and more."""

SPECIAL = re.compile(r"[\s:|]+")
"""What means something in a Vowpal Wabbit line and cannot stand in a word."""


@dataclass(frozen=True)
class Prepared:
    """A folder with a corpus in it."""

    folder: Path

    @property
    def about(self) -> dict[str, object]:
        """Name, order and number of documents."""
        about: dict[str, object] = json.loads((self.folder / "corpus.json").read_text())
        return about

    @property
    def json_lines(self) -> Path:
        return self.folder / "stream.jsonl"

    @property
    def vowpal_wabbit(self) -> Path:
        return self.folder / "stream.vw"

    def corpus(self, limit: int | None = None) -> Corpus:
        """The corpus in memory, as Arrow columns."""
        table = feather.read_table(self.folder / "stream.arrow", memory_map=False)
        texts, labels = (table.column(name).combine_chunks() for name in ("text", "labels"))
        about = self.about
        return Corpus(str(about["name"]), texts, labels, str(about["order"])).head(limit)


def prepare(corpus: Corpus, work: Path, *, for_peers: bool = True) -> Prepared:
    """Write ``corpus`` to a folder of its name under ``work``, over what was there.

    Without ``for_peers`` only the Arrow file is written.
    """
    prepared = Prepared(work / corpus.name)
    shutil.rmtree(prepared.folder, ignore_errors=True)
    prepared.folder.mkdir(parents=True)
    table = pa.table({"text": corpus.texts, "labels": corpus.labels})
    feather.write_feather(table, prepared.folder / "stream.arrow", compression="uncompressed")
    if for_peers:
        write_json_lines(corpus, prepared.json_lines)
        write_vowpal_wabbit(corpus, prepared.vowpal_wabbit)
    about = {"name": corpus.name, "order": corpus.order, "documents": len(corpus)}
    (prepared.folder / "corpus.json").write_text(json.dumps(about))
    return prepared


def write_json_lines(corpus: Corpus, path: Path) -> None:
    """Write one JSON object per document: id, text, labels."""
    with path.open("w", encoding="utf-8") as file:
        for number, (text, labels) in enumerate(_documents(corpus)):
            record = {"id": str(number), "text": text, "labels": labels}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_vowpal_wabbit(corpus: Corpus, path: Path) -> None:
    """Write the corpus for ``--multilabel_oaa``, labels as numbers of the sorted names."""
    numbers = {name: number for number, name in enumerate(corpus.label_names)}
    with path.open("w", encoding="utf-8") as file:
        for text, labels in _documents(corpus):
            words = WORD.findall(text.lower())
            file.write(vowpal_wabbit_line((numbers[label] for label in labels), words) + "\n")


def vowpal_wabbit_line(labels: Iterable[int], words: Iterable[str]) -> str:
    """One document; labels ascend, or Vowpal Wabbit learns wrongly without a word.

    >>> vowpal_wabbit_line([10, 2, 2], ["oil", "a:b|c"])
    '2,10 | oil a_b_c'
    """
    written = (SPECIAL.sub("_", word) for word in words)
    return f"{','.join(map(str, sorted(set(labels))))} | {' '.join(written)}"


def _documents(corpus: Corpus) -> Iterable[tuple[str, list[str]]]:
    for start in range(0, len(corpus), 10_000):  # Python objects of a part at a time
        part = slice(start, start + 10_000)
        yield from zip(corpus.texts[part].to_pylist(), corpus.labels[part].to_pylist(), strict=True)
