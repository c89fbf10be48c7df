"""Predictions of executors equal those of one process."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from clasher.errors import SettingError
from support.environment import optional
from tests.adapters.spark.frames import TRIAL, Broadcast, cut, in_partitions, table
from tests.adapters.spark.test_fit import one_pass

predict = optional("clasher.adapters.spark", "spark").predict
predict_module = optional("clasher.adapters.spark.predict", "spark")


@pytest.mark.parametrize("rule", ["margin", TRIAL("centroid"), TRIAL("perceptron")])
def test_predictions_are_those_of_one_process(spark, corpus, rule):
    model = one_pass(corpus.head(100), rule=rule)
    df = in_partitions(spark, table(corpus), cut(len(corpus), 3))
    rows = predict(df, model, probabilities="probabilities").orderBy("number").collect()
    assert [row.predicted for row in rows] == [sorted(x) for x in model.predict_many(corpus.texts)]
    scores = np.array(
        [[row.probabilities[label] for label in model.labels] for row in rows], np.float32
    )
    np.testing.assert_array_equal(scores, model.probabilities_many(corpus.texts))
    assert rows[0].labels == corpus.labels[0].as_py()  # all columns are kept


def test_a_model_that_knows_nothing_predicts_nothing(spark, corpus):
    df = in_partitions(spark, table(corpus), [slice(0, 2)])
    rows = predict(df, one_pass(corpus.head(0)), probabilities="probabilities").collect()
    assert [(row.predicted, row.probabilities) for row in rows] == [([], {})] * 2


def test_the_next_model_replaces_the_last(spark, corpus):
    """Workers cache the last model only."""
    df = in_partitions(spark, table(corpus), [slice(0, 50)])
    for documents in (20, 200):
        model = one_pass(corpus.head(documents))
        found = [row.predicted for row in predict(df, model).collect()]
        assert found == [sorted(labels) for labels in model.predict_many(corpus.texts[:50])]


def test_an_existing_column_is_not_replaced(spark, corpus):
    df = in_partitions(spark, table(corpus), [slice(0, 2)])
    with pytest.raises(SettingError, match="a column 'labels' already; name another one"):
        predict(df, one_pass(corpus.head(5)), output="labels")


def test_the_task_labels_rows(corpus):
    model = one_pass(corpus.head(100))
    rows = pa.RecordBatch.from_arrays(
        [pa.array(["a", None, "b"]), pa.array([corpus.texts[0].as_py(), None, ""])], ["id", "text"]
    )
    sent = Broadcast(model)
    how = ("text", "predicted", "probabilities", False)
    (found,) = predict_module.label_rows(sent, *how, [rows])
    labels, scores = (found.column(at).to_pylist() for at in (2, 3))
    assert found.column(0).to_pylist() == ["a", None, "b"]
    assert [None if x is None else set(x) for x in labels] == [
        model.predict(corpus.texts[0].as_py()), None, model.predict("")
    ]  # fmt: skip
    assert dict(scores[0]) == pytest.approx(model.probabilities(corpus.texts[0].as_py()), abs=1e-6)
    assert scores[1] is None
