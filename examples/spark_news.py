"""A job for Spark: learn the news of the past, say how good that is, label what arrives.

    spark-submit --master spark://host:7077 examples/spark_news.py PAST INBOX MODEL LABELLED
    python examples/spark_news.py past/ inbox/ model/ labelled/          # on this machine

PAST and INBOX are folders of JSON lines: {"id": …, "text": …, "labels": […]}. The model in the
folder MODEL goes on learning from the labelled documents that arrive in INBOX; LABELLED gets the
predictions of all, a folder for every batch. Without --forever it ends with what is there now.
"""

from __future__ import annotations

import argparse

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark import fit, predict, session, stream

DOCUMENT = "id string, text string, labels array<string>"


def micro_f1(predictions: DataFrame) -> float:
    """2 · hits / (predicted + true), over all rows with labels."""
    hits = sf.size(sf.array_intersect("predicted", "labels"))
    both = sf.size("predicted") + sf.size("labels")
    found = predictions.where("labels is not null").agg(2 * sf.sum(hits) / sf.sum(both)).first()
    return float(found[0] or 0.0) if found is not None else 0.0


def main() -> None:
    """Learn, judge, then label what arrives."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("past", "inbox", "model", "labelled"):
        parser.add_argument(name)
    parser.add_argument("--forever", action="store_true")
    given = parser.parse_args()
    spark = session()

    past = spark.read.schema(DOCUMENT).json(given.past)
    learnt, held_out = past.randomSplit([0.9, 0.1], seed=0)
    print(f"micro F1 {micro_f1(predict(held_out, fit(learnt, rounds=4))):.3f} on a tenth of it")

    model = fit(past, rounds=4)
    inbox = spark.readStream.schema(DOCUMENT).json(given.inbox)

    def write(predictions: DataFrame, batch: int) -> None:
        """The same batch may come again after a crash: it replaces what it wrote."""
        rows = predictions.select("id", "predicted")
        rows.write.mode("overwrite").json(f"{given.labelled}/batch={batch}")

    trigger = {"processingTime": "10 seconds"} if given.forever else {"availableNow": True}
    with stream(inbox, given.model, model, write=write, trigger=trigger) as running:
        running.wait()
        print(f"learnt {running.model.documents:,} documents")


if __name__ == "__main__":
    main()
