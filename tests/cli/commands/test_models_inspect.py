import json

import pytest

from clasher import Alarm, Clasher
from tests.cli.command import one_line, records, run


@pytest.fixture
def path(tmp_path):
    made = Clasher(dimensions=128, max_labels=50, seed=3)
    for number, row in enumerate(records(30)):
        made.learn(row["text"], {*row["labels"], f"label {number % 25}"})
    made.observe("wheat")
    made.save(tmp_path / "model.clasher")
    return tmp_path / "model.clasher"


def test_inspect_shows_what_a_model_holds(path):
    text = run("inspect", path).stdout
    model = Clasher.load(path)
    assert max(map(len, text.splitlines())) <= 80
    words = [line.split() for line in text.splitlines()]
    assert ["documents", "31,", "30", "of", "them", "with", "labels"] in words
    assert ["labels", "28,", "at", "most", "50"] in words
    assert ["threshold", f".{round(model.threshold * 1000)},", "learnt"] in words
    for name in ("rule", "dimensions", "weighting", "similarity", "tf", "norm", "seed"):
        assert [name, f"{getattr(model.settings, name)}"] in words
    counts = model.support
    assert ["grain", f"{counts['grain']}"] in words
    assert counts["grain"] == sum("grain" in row["labels"] for row in records(30))


def test_inspect_shows_the_most_frequent_labels_or_all(path):
    few, all_ = run("inspect", path).stdout, run("inspect", path, "--all").stdout
    assert "… 8 more: --all shows them" in few
    assert "more" not in all_
    for label in Clasher.load(path).labels:
        assert label in all_


def test_inspect_as_json(path, tmp_path):
    written = json.loads(run("inspect", path, "--json", "-").stdout)
    model = Clasher.load(path)
    assert written["settings"] == model.settings.to_dict()
    assert written["labels"] == model.support
    assert (written["documents"], written["labelled"]) == (31, 30)
    assert (written["nbytes"], written["max_nbytes"]) == (model.nbytes, model.max_nbytes)
    table = run("inspect", path, "--json", tmp_path / "model.json").stdout
    assert json.loads((tmp_path / "model.json").read_text()) == written
    assert "threshold" in table


@pytest.fixture
def wordy(tmp_path):
    made = Clasher(dimensions=4096, max_labels=8, words=True)
    rows = records(60)
    made.learn_many([row["text"] for row in rows], [row["labels"] for row in rows])
    made.save(tmp_path / "wordy.clasher")
    return tmp_path / "wordy.clasher"


def test_inspect_shows_what_labels_are_about(wordy):
    model = Clasher.load(wordy)
    text = run("inspect", wordy, "--top-words", 3).stdout
    assert max(map(len, text.splitlines())) <= 80
    for label in model.labels:
        words = ", ".join(word for word, _ in model.top_words(label, 3))
        assert f"{label} " in text
        assert words in text
    assert (
        "words" not in run("inspect", wordy).stdout.partition("documents ")[2].split("analyzer")[1]
    )


def test_inspect_shows_the_words_of_one_label(wordy):
    model = Clasher.load(wordy)
    text = run("inspect", wordy, "--label", "grain", "--top-words", 4).stdout
    words = [line.split()[:2] for line in text.splitlines()[1:5]]
    assert words == [[f"{weight:+.3f}", word] for word, weight in model.top_words("grain", 4)]
    assert "metal" not in run("inspect", wordy, "-l", "grain").stdout
    written = json.loads(run("inspect", wordy, "-l", "grain", "--json", "-").stdout)
    assert written["top_words"] == {"grain": [list(pair) for pair in model.top_words("grain")]}


def test_a_model_without_words_says_so(path, wordy):
    message = one_line(run("inspect", path, "--top-words", 3, code=2))
    assert "the model keeps no words" in message
    assert "clasher learn --words" in message
    assert "knows no label 'grains'" in one_line(run("inspect", wordy, "-l", "grains", code=2))


def test_the_model_is_not_overwritten(path):
    before = path.read_bytes()
    one_line(run("inspect", path, "--json", path, code=2))
    assert path.read_bytes() == before


def test_inspect_shows_the_changes_that_were_found(tmp_path):
    path = tmp_path / "model.clasher"
    model = Clasher(dimensions=16, detector="window")
    model._watch.alarms = [
        Alarm(2560, None, 0.25, 0.5, ("fracking",), ("tanker", "barrel")),
        Alarm(5120, "oil\x1b", 0.1, 0.3),
    ]
    model.save(path)
    lines = [line.split() for line in run("inspect", path).stdout.splitlines()]
    assert ["2,560", "all", "labels", "25%", "→", "50%", "+fracking", "−tanker", "−barrel"] in lines
    assert ["5,120", r"oil\x1b", "10%", "→", "30%"] in lines
    written = json.loads(run("inspect", path, "--json", "-").stdout)
    assert [Alarm.of(alarm) for alarm in written["alarms"]] == model.alarms


@pytest.mark.parametrize("rule", ["centroid", "mistake", "perceptron"])
def test_other_rules_have_a_fixed_threshold(rule, tmp_path):
    path = tmp_path / "model.clasher"
    Clasher(dimensions=16, rule=rule).save(path)
    assert ".500, fixed" in run("inspect", path).stdout


def test_labels_do_nothing_to_the_terminal(tmp_path):
    path = tmp_path / "model.clasher"
    model = Clasher(dimensions=16)
    model.learn("wheat", {"grain\x1b[2J", "[red]metal[/]", "a\nb"})
    model.save(path)
    text = run("inspect", path).stdout
    for label in model.labels:
        text += run("explain", "--model", path, "wheat", "--label", label).stdout
    assert "\x1b" not in text
    for label in (r"grain\x1b[2J", "[red]metal[/]", r"a\nb"):
        assert text.count(label) >= 2
