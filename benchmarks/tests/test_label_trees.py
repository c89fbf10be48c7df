"""Test the peers of many labels: label trees, and the rankings of the systems that rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import vowpal_wabbit
from benchmarks.peers.base import Record, Task
from benchmarks.tests.runs import GAS, OIL, RAIN, corpus, kept, run

THREE = [(OIL, ["oil"]), (GAS, ["gas", "fuel"]), (RAIN, ["weather report"])]
OFTEN = {"first": 30, "every": 15}
RETRAINED = ["napkinxc", "omikuji"]
RANKING = ["clasher-margin", "vw-plt", "fasttext", *RETRAINED]


def task(tmp_path: Path, system: str, **more: object) -> Task:
    """Ask for rankings of a stream that is easy to learn."""
    options = {} if system in ("clasher-margin", "vw-plt") else OFTEN
    return Task(corpus(*THREE * 20), tmp_path, options=options, ranked=True, **more)  # type: ignore[arg-type]


# ── rankings ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.compiled
@pytest.mark.parametrize("system", RANKING)
def test_true_labels_are_ranked_first(system: str, tmp_path: Path):
    record = kept(system, task(tmp_path, system))
    assert len(record.best) == 60
    for at in range(48, 60):
        truth = set(THREE[at % 3][1])
        assert set(record.best[at][: len(truth)]) == truth
        assert len(record.best[at]) <= 5
    assert 0 < record.figures()["precision_at_1"] < 1
    assert 0 < record.figures()["psp_at_5"] <= 1


@pytest.mark.parametrize("system", ["fasttext", *RETRAINED])
def test_before_its_first_training_a_system_ranks_nothing_and_is_judged(
    system: str, tmp_path: Path
):
    record = kept(system, task(tmp_path, system))
    assert record.best[:30] == [[]] * 30
    assert record.figures()["precision_at_1"] == 0.5


@pytest.mark.compiled
@pytest.mark.parametrize("system", ["clasher-margin", "vw-plt", "fasttext"])
def test_label_sets_do_not_depend_on_rankings(system: str, tmp_path: Path):
    with_rankings = task(tmp_path, system)
    without = Task(with_rankings.corpus, tmp_path, options=with_rankings.options)
    figures, predicted = run(system, without)
    assert kept(system, with_rankings).labels == predicted
    assert "precision_at_1" not in figures
    assert "precision_at_1" not in figures["points"][-1]


@pytest.mark.compiled
def test_rankings_of_a_test_set_are_judged(tmp_path: Path):
    for system in RANKING:
        record = kept(system, task(tmp_path, system, test_from=45))
        assert record.ranks.documents == 15
        assert record.figures()["precision_at_1"] == 1


def test_points_have_the_precision_so_far():
    stream = corpus(*THREE)
    record = Record(Task(stream, Path(), points=(1, 2)))
    record.predicted(slice(0, 3), [[]] * 3, [["oil"], [], ["oil"]])
    found = [point["precision_at_1"] for point in record._points.values()]
    assert found == [1, 1 / 2, 1 / 3]


@pytest.mark.parametrize("system", ["vw-hinge", "vw-plt", "fasttext", *RETRAINED])
def test_the_size_of_a_model_is_recorded(system: str, tmp_path: Path):
    assert run(system, task(tmp_path, system))[0]["model_bytes"] > 100


# ── Vowpal Wabbit ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("system", ["vw-hinge", "vw-plt"])
@pytest.mark.parametrize("at", [1, 20, 59])
def test_vowpal_wabbit_predicts_a_document_before_it_learns_it(
    system: str, at: int, tmp_path: Path
):
    """Other labels of a document change no prediction up to its own."""
    documents = THREE * 20
    changed = [*documents[:at], (documents[at][0], ["oil", "fuel"]), *documents[at + 1 :]]
    records = []
    for name, stream in (("one", documents), ("other", changed)):
        (folder := tmp_path / name).mkdir()
        records.append(kept(system, Task(corpus(*stream), folder, ranked=True)))
    one, other = records
    assert one.labels[: at + 1] == other.labels[: at + 1]
    assert one.best[: at + 1] == other.best[: at + 1]


def test_a_label_tree_of_vowpal_wabbit_learns_labels_in_any_order(tmp_path: Path):
    _, predicted = run("vw-plt", Task(corpus(*THREE * 20), tmp_path))
    assert predicted[0] == []
    assert predicted[-3:] == [sorted(labels) for _, labels in THREE]


def test_a_label_tree_of_vowpal_wabbit_does_not_learn_from_lines_without_labels(tmp_path: Path):
    learn = np.array([True] * 60 + [False] * 200)
    stream = corpus(*THREE * 20, *[(OIL, ["oil"])] * 200)
    _, predicted = run("vw-plt", Task(stream, tmp_path, learn))
    assert predicted[60:] == [["oil"]] * 200


def test_only_the_pass_that_ranks_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    timed = []
    drive = vowpal_wabbit.drive

    def watched(arguments: str, task: Task, folder: Path, record: Record | None) -> Path:
        timed.append(("--top_k" in arguments, record is not None))
        return drive(arguments, task, folder, record)

    monkeypatch.setattr(vowpal_wabbit, "drive", watched)
    kept("vw-plt", task(tmp_path, "vw-plt"))
    assert timed == [(True, True), (False, False)]


# ── retrained label trees ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("system", RETRAINED)
def test_a_tree_is_trained_at_set_times_and_predicts_nothing_before(system: str, tmp_path: Path):
    figures, predicted = run(system, task(tmp_path, system))
    assert figures["trained_at"] == [30, 45]
    assert predicted[:30] == [[]] * 30
    assert predicted[45:] == [sorted(labels) for _, labels in THREE] * 5


@pytest.mark.parametrize("system", RETRAINED)
def test_a_tree_learns_from_given_labels_only(system: str, tmp_path: Path):
    learn = np.array([True, False, True] * 20)
    record = kept(system, task(tmp_path, system, learn=learn))
    ranked = {label for labels in record.best for label in labels}
    assert ranked == {"oil", "weather report"}


@pytest.mark.parametrize("system", RETRAINED)
def test_a_tree_without_labels_is_never_trained(system: str, tmp_path: Path):
    record = kept(system, task(tmp_path, system, learn=np.zeros(60, bool)))
    assert (record.figures()["trained_at"], record.best) == ([], [[]] * 60)


@pytest.mark.parametrize("system", RETRAINED)
def test_a_tree_accepts_labels_given_twice_and_documents_without_known_words(
    system: str, tmp_path: Path
):
    documents = [*[(OIL, ["oil", "oil"]), ("", ["empty"]), (RAIN, ["rain"])] * 15]
    documents += [("all of this is new", ["oil"])] * 15
    figures, predicted = run(system, Task(corpus(*documents), tmp_path, options=OFTEN))
    assert figures["trained_at"] == [30, 45]
    assert predicted[42] == ["oil"]


@pytest.mark.parametrize("system", RETRAINED)
def test_a_tree_stops_at_its_time_limit(system: str, tmp_path: Path):
    figures, _ = run(system, task(tmp_path, system, seconds=0.0))
    assert (figures["complete"], figures["trained_at"]) == (False, [])


@pytest.mark.parametrize("system", RETRAINED)
def test_settings_of_a_tree_are_options(system: str, tmp_path: Path):
    strong = {"napkinxc": {"liblinear_c": 1e-6}, "omikuji": {"linear_c": 1e-6}}[system]
    options = OFTEN | strong
    _, predicted = run(system, Task(corpus(*THREE * 20), tmp_path, options=options))
    assert predicted == [[]] * 60


@pytest.mark.parametrize("system", RETRAINED)
def test_a_tree_prints_nothing(system: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    run(system, task(tmp_path, system))
    print("the end")
    assert capfd.readouterr() == ("the end\n", "")
