"""Where the predictions of a stream go: a folder for every batch, so that it can be replaced."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark.batches import Write

LETTER = ("place", "error", "raw")
"""What is told of a row that is no document, as far as it is known."""


def to_folder(folder: str, output: str = "predicted") -> Write:
    """Write JSON lines of id and labels, below ``folder``, the rows without a prediction left out.

    A batch that comes again after a crash replaces what was there of it.
    """

    def write(predictions: DataFrame, number: int) -> None:
        good = predictions.where(sf.col(output).isNotNull())
        _lines(good.select("id", sf.col(output).alias("labels")), folder, number)

    return write


def dead_letters(folder: str, output: str = "predicted") -> Write:
    """Write the rows that are no documents, and what is wrong with them."""

    def write(predictions: DataFrame, number: int) -> None:
        known = [name for name in LETTER if name in predictions.columns]
        bad = predictions.where(sf.col(output).isNull()).select(*known)
        if not bad.isEmpty():
            _lines(bad, folder, number)

    return write


def to_all(writes: list[Write]) -> Write | None:
    """One after the other; None where there is nothing to be written."""

    def write(predictions: DataFrame, number: int) -> None:
        for one in writes:
            one(predictions, number)

    return write if writes else None


def _lines(rows: DataFrame, folder: str, number: int) -> None:
    rows.write.mode("overwrite").json(f"{folder}/batch={number:09}")
