"""The pages of experiments show what was measured, and every experiment runs."""

import numpy as np
import pytest

from benchmarks import corpora
from clasher import Clasher, LabelSets
from clasher.labels import LabelIndex
from experiments import margin
from experiments.common import Plan, experiments, fill, page, prequential
from experiments.margin_kernel import Rule, walk


@pytest.mark.parametrize("name", sorted(experiments()))
def test_pages_show_their_results(name):
    assert page(name).read_text(encoding="utf-8") == fill(name)


@pytest.mark.parametrize("name", sorted(experiments()))
def test_pages_name_their_command(name):
    assert f"python -m experiments {name}" in page(name).read_text(encoding="utf-8")


def test_without_corpora_there_is_a_synthetic_stream(tmp_path):
    streams = Plan(tmp_path, limit=30).streams()
    assert [(stream.name, len(stream)) for stream in streams] == [("synthetic-50", 30)]


def test_a_run_has_points_where_they_are_asked_for():
    stream = corpora.synthetic(60, 4)
    scores = prequential(Clasher(64), stream, points=(7, 50, 900))
    assert [point["documents"] for point in scores.curve] == [7, 50]
    assert scores.to_dict() == {
        "macro_f1": round(scores.macro_f1, 4),
        "micro_f1": round(scores.micro_f1, 4),
    }


# ── the margin rule with switches ────────────────────────────────────────────────────────────────


def test_the_margin_rule_without_a_switch_is_that_of_the_product():
    stream = corpora.synthetic(1500, 30, words=20)
    found = margin.measured(stream, {"now": margin.PARTS["now"]})["variants"]["now"]
    points = tuple(map(int, found["early"]))
    scores = prequential(Clasher(), stream, points)
    assert {name: found[name] for name in ("macro_f1", "micro_f1")} == scores.to_dict()
    for point in scores.curve:
        early = found["early"][str(point["documents"])]
        assert early["macro_f1"] == pytest.approx(point["macro_f1"], abs=1e-4)
        assert early["micro_f1"] == pytest.approx(point["micro_f1"], abs=1e-4)


def test_its_probabilities_are_those_of_the_product():
    stream = corpora.synthetic(300, 5, words=20)
    model = Clasher()
    model.step_many(stream.texts, stream.labels)
    hashed = model.hash_many(stream.texts)
    truth = LabelIndex(8).adopt(LabelSets.of(stream.labels))
    ids, indptr = margin.numbered(truth.ids, truth.indptr)
    arrays = walk(hashed, ids, indptr, 5, 65536, Rule())
    np.testing.assert_allclose(arrays.odds, model._state.odds, rtol=1e-3)
    np.testing.assert_allclose(arrays.shared, model._state.shared, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", [*margin.PARTS, *margin.TRIED])
def test_every_variant_of_the_margin_rule_learns(name):
    stream = corpora.synthetic(250, 5, words=20)
    variant = {**margin.PARTS, **margin.TRIED}[name]
    found = margin.measured(stream, {name: variant})["variants"][name]
    assert found["micro_f1"] > 0.4
    assert found["early"]["100"]["micro_f1"] < found["micro_f1"]


def test_calibration_errors_by_hand():
    shades = np.zeros((3, 20))
    shades[:, 4] = [2.0, 3.0, 10.0]  # ten labels at 0.2, three of them true
    shades[:, 18] = [9.0, 9.0, 10.0]
    assert margin.calibration_error(shades) == pytest.approx(1 / 20)
