"""Store a stream in a folder, for runs in other processes.

The folder holds ``stream.arrow`` (raw text and labels) and ``corpus.json``. Systems add the stream
in their own formats before the clock starts.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather

from support.corpora import Corpus


@dataclass(frozen=True)
class Prepared:
    """A folder with a stream in it."""

    folder: Path

    @property
    def about(self) -> dict[str, Any]:
        """Name, order and number of documents; ``test_from`` if there is a test set."""
        about: dict[str, Any] = json.loads((self.folder / "corpus.json").read_text())
        return about

    def corpus(self, limit: int | None = None) -> Corpus:
        """Read the stream as Arrow columns."""
        table = feather.read_table(self.folder / "stream.arrow", memory_map=False)
        texts, labels = (table.column(name).combine_chunks() for name in ("text", "labels"))
        about = self.about
        return Corpus(about["name"], texts, labels, about["order"]).head(limit)


def prepare(corpus: Corpus, work: Path, *, test_from: int | None = None) -> Prepared:
    """Write ``corpus`` to a folder of its name under ``work``, replacing an older one."""
    prepared = Prepared(work / corpus.name)
    shutil.rmtree(prepared.folder, ignore_errors=True)
    prepared.folder.mkdir(parents=True)
    table = pa.table({"text": corpus.texts, "labels": corpus.labels})
    feather.write_feather(table, prepared.folder / "stream.arrow", compression="uncompressed")
    about = {"name": corpus.name, "order": corpus.order, "documents": len(corpus)}
    about |= {} if test_from is None else {"test_from": test_from}
    (prepared.folder / "corpus.json").write_text(json.dumps(about))
    return prepared
