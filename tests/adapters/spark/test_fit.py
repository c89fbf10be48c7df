"""A fit of partitions equals one process that learns them one after the other."""

from __future__ import annotations

import shlex

import numpy as np
import pyarrow as pa
import pytest

from clasher import Analyzer, Clasher
from clasher.errors import LabelCapacityError, LabelError, SettingError, StreamError, TextError
from clasher.learning.model_file import packed
from support.environment import optional
from tests.adapters.spark.frames import SETTINGS as SMALL
from tests.adapters.spark.frames import TRIAL, Broadcast, batch, cut, in_partitions, table
from tests.learning.test_merge import by_name
from tests.service.plain import file_bytes

fit = optional("clasher.adapters.spark", "spark").fit
fit_module = optional("clasher.adapters.spark.fit", "spark")
Columns = optional("clasher.adapters.spark.columns", "spark").Columns

EXACT = ("frequencies", "counts", "together", "seen", "totals")


def one_pass(corpus, order=None, **how):
    model = Clasher(**SMALL | how)
    for part in [slice(0, len(corpus))] if order is None else order:
        model.learn_many(corpus.texts[part], corpus.labels[part])
    return model


def check_equal(ours, theirs):
    """Counts to the last bit, sums to 1e-5 of what was summed."""
    for name in EXACT:
        np.testing.assert_array_equal(by_name(ours, name), by_name(theirs, name), err_msg=name)
    sums, expected = by_name(ours, "rows"), by_name(theirs, "rows")
    assert np.abs(sums - expected).max() <= 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(by_name(ours, "norms"), by_name(theirs, "norms"), rtol=1e-5)


@pytest.mark.parametrize(("parts", "fan"), [TRIAL(1, 16), (3, 16), TRIAL(5, 2)])
def test_partitions_merged_are_one_pass(spark, corpus, parts, fan, monkeypatch):
    """With TF-IDF; five parts are merged in a tree of three levels."""
    monkeypatch.setattr(fit_module, "FAN", fan)
    df = in_partitions(spark, table(corpus), cut(len(corpus), parts))
    model = fit(df, rule="centroid", **SMALL)
    whole = one_pass(corpus, rule="centroid")
    check_equal(model, whole)
    assert model.labels == whole.labels
    assert list(model.predict_many(corpus.texts)) == list(whole.predict_many(corpus.texts))


def test_the_order_of_partitions_does_not_matter(spark, corpus):
    """With raw counts, the order changes nothing."""
    parts = cut(len(corpus), 5)
    how = {"rule": "centroid", "weighting": "tf"}
    whole = one_pass(corpus, **how)
    for seed in range(2):
        order = [parts[at] for at in np.random.default_rng(seed).permutation(5)]
        model = fit(in_partitions(spark, table(corpus), order), **SMALL, **how)
        for name in ("frequencies", "counts", "together"):
            np.testing.assert_array_equal(by_name(model, name), by_name(whole, name))
        sums, expected = by_name(model, "rows"), by_name(whole, "rows")
        assert np.abs(sums - expected).max() <= 1e-5 * np.abs(expected).max()


def test_the_same_partitions_give_the_same_model_byte_for_byte(spark, corpus):
    df = in_partitions(spark, table(corpus), cut(len(corpus), 3))
    assert file_bytes(fit(df, **SMALL)) == file_bytes(fit(df, **SMALL))


@pytest.mark.compiled
@pytest.mark.parametrize("rule", ["margin", TRIAL("mistake"), TRIAL("perceptron")])
def test_rules_that_learn_from_mistakes(spark, corpus, rule):
    """Counts equal those of one pass, also with several rounds."""
    df = in_partitions(spark, table(corpus), cut(len(corpus), 3))
    whole = one_pass(corpus, rule=rule)
    for rounds in (1, 2):
        model = fit(df, rule=rule, rounds=rounds, exact=rounds == 1, **SMALL)
        np.testing.assert_array_equal(model.state.frequencies, whole.state.frequencies)
        assert (model.documents, model.labelled) == (whole.documents, whole.labelled)
        if rule != "mistake":
            assert model.support == whole.support


def test_fit_continues_a_copy_of_a_model(spark, corpus):
    half = len(corpus) // 2
    model = one_pass(corpus.head(half), rule="centroid")
    before = file_bytes(model)
    df = in_partitions(spark, table(corpus)[half:], cut(len(corpus) - half, 2))
    check_equal(fit(df, model), one_pass(corpus, rule="centroid"))
    assert file_bytes(model) == before


def test_maps_nulls_and_ids(spark):
    """Partial labels, unlabelled documents, and documents that wait for their labels."""
    rows = [
        (1, "wheat and corn", {"grain": True, "oil": False}),
        (2, "crude oil", {"oil": True}),
        (3, "gold", None),
    ]
    df = spark.createDataFrame(rows, "own int, words string, tags map<string,boolean>")
    model = fit(df, text="words", labels="tags", id="own", pending=5, **SMALL)
    assert (model.documents, model.labelled, model.support) == (3, 2, {"grain": 1, "oil": 1})
    model.learn_later("3", {"metal"})
    assert model.support["metal"] == 1


def test_executors_use_a_custom_tokenizer(spark):
    df = spark.createDataFrame(
        [("a 'b c'", ["x"]), ("d", ["y"])], "text string, labels array<string>"
    )
    how = {"analyzer": Analyzer(tokenizer=shlex.split), "rule": "centroid", **SMALL}
    model, alone = fit(df, **how), Clasher(**how)
    alone.learn_many(["a 'b c'", "d"], [{"x"}, {"y"}])
    np.testing.assert_array_equal(model.state.frequencies, alone.state.frequencies)


# ── tasks, without a cluster ─────────────────────────────────────────────────────────────────────


def test_counted_learnt_and_merged_partitions_are_one_pass(corpus, monkeypatch):
    inside = [slice(0, 90), slice(90, 91), slice(91, 91), slice(91, 240)]
    model = Clasher(rule="centroid", **SMALL)
    counts, learnt = {}, []
    for number, part in enumerate(inside):
        monkeypatch.setattr(fit_module, "partition", lambda number=number: number)
        (row,) = fit_module.count(
            model.settings, Columns(labels=None), fit_module.ALL, [batch(corpus, part)]
        )
        found = row.to_pylist()[0]
        counts[found["number"]] = found["documents"], found["frequencies"]
    start = Broadcast((packed(model), counts))
    for number, part in enumerate(inside):
        monkeypatch.setattr(fit_module, "partition", lambda number=number: number)
        rows = [batch(corpus, part)]
        learnt += fit_module.learn_part(start, Columns(), None, fit_module.ALL, rows)
    with fit_module.received_models(fit_module.merge_parts(4, None, learnt)) as paths:
        assert list(paths) == [0]
        model.add_difference(fit_module.take_model(paths[0]))
    check_equal(model, one_pass(corpus, rule="centroid"))


def test_a_share_is_every_nth_row_whatever_the_batches(corpus):
    whole, halves = [batch(corpus)], [batch(corpus, slice(0, 101)), batch(corpus, slice(101, 240))]
    for number in range(3):
        share = fit_module.Share(number, 3)
        expected = corpus.texts.to_pylist()[number::3]
        for batches in (whole, halves):
            found = [text for rows in share.rows(batches) for text in rows["text"].to_pylist()]
            assert found == expected


def test_the_rows_of_models_may_come_in_any_order(corpus, monkeypatch):
    monkeypatch.setattr(fit_module, "PIECE", 1000)
    models = {number: one_pass(corpus.head(20 * number)) for number in (1, 2)}
    rows = [row for number, model in models.items() for row in fit_module.model_rows(number, model)]
    np.random.default_rng(0).shuffle(rows)
    with fit_module.received_models(rows) as paths:
        assert list(paths) == [1, 2]
        for number, model in models.items():
            assert file_bytes(fit_module.take_model(paths[number])) == file_bytes(model)


# ── errors, in one line ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"text": "body"}, "has no column 'body'; it has 'number', 'text', 'labels'"),
        ({"text": "number"}, "column 'number' must be text. Got int."),
        ({"labels": "text"}, "must be an array of text, or a map from text to boolean. Got string"),
        ({"rounds": 0}, "The 'rounds' parameter of fit must be a positive integer"),
        ({"half_life": 10.0}, "leave out half_life, or learn in one process"),
        ({"model": Clasher(64), "seed": 1}, "leave out seed, or the model"),
    ],
)
def test_wrong_arguments_are_refused_before_a_job_runs(spark, corpus, how, says):
    with pytest.raises(SettingError, match=says):
        fit(in_partitions(spark, table(corpus), [slice(0, 5)]), **how)


def test_a_row_without_text_is_one_line(spark):
    df = spark.createDataFrame([("a", ["x"]), (None, ["x"])], "text string, labels array<string>")
    with pytest.raises(TextError, match=r"^a row has no text in column 'text'; drop such .*\)$"):
        fit(df, **SMALL)
    (rows,) = pa.table({"text": pa.array([None], pa.string())}).to_batches()
    with pytest.raises(TextError, match="a row has no text in column 'text'"):
        list(fit_module.count(Clasher(64).settings, Columns(labels=None), fit_module.ALL, [rows]))
    df = spark.createDataFrame([("a", ["x", None])], "text string, labels array<string>")
    with pytest.raises(LabelError, match=r"^document 0 has a null among its labels"):
        fit(df, **SMALL)


def test_too_many_labels_are_one_line(spark, corpus):
    df = in_partitions(spark, table(corpus), cut(len(corpus), 3))
    with pytest.raises(LabelCapacityError, match="would be number 3, and max_labels is 2; raise"):
        fit(df, dimensions=64, max_labels=2)


def test_an_empty_data_frame_is_refused(spark, corpus):
    empty = table(corpus)[:0]
    with pytest.raises(StreamError, match="has no documents"):
        fit(in_partitions(spark, empty, [slice(0, 0)] * 2), **SMALL)


def test_other_errors_of_tasks_are_not_changed(spark):
    from pyspark.errors import PythonException

    def fail(batches):
        yield from batches
        raise RuntimeError("not of ours")

    df = spark.createDataFrame([("a", ["x"])], "text string, labels array<string>")
    with pytest.raises(PythonException, match="not of ours"):
        fit(df.mapInArrow(fail, df.schema), **SMALL)
