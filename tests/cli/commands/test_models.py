import json

import pytest

from clasher import Alarm, Clasher
from tests.cli.command import SMALL, one_line, records, run, stream
from tests.models import state_bytes, taught

# ── inspect ──────────────────────────────────────────────────────────────────────────────────────


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


# ── labels ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.clasher"
    taught().save(path)
    return path


def test_list_shows_every_label(model):
    lines = run("labels", model, "list").stdout.split()
    for label, documents in taught().support.items():
        assert lines[lines.index(label) + 1] == str(documents)


@pytest.mark.parametrize(
    ("args", "change"),
    [
        (("rename", "oil", "crude"), lambda m: m.rename_label("oil", "crude")),
        (("merge", "corn", "grain"), lambda m: m.merge_labels("corn", "grain")),
        (("retire", "gold"), lambda m: m.retire_label("gold")),
    ],
)
def test_labels_are_changed_in_the_file(model, args, change):
    result = run("labels", model, *args)
    expected = taught()
    change(expected)
    changed = Clasher.load(model)
    assert changed.labels == expected.labels
    assert state_bytes(changed) == state_bytes(expected)
    assert f"saved {model}: {len(expected.labels)} labels" in result.stderr
    assert result.stdout == ""


def test_the_changed_model_may_go_elsewhere(model, tmp_path):
    before = model.read_bytes()
    target = tmp_path / "other.clasher"
    assert run("labels", model, "retire", "gold", "--output", target, "--quiet").output == ""
    assert model.read_bytes() == before
    assert "gold" not in Clasher.load(target).labels


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("rename", "oyl", "crude"), "knows no label 'oyl'; did you mean 'oil'?"),
        (("merge", "oil", "golf"), "knows no label 'golf'; did you mean 'gold'?"),
        (("rename", "oil", "gold"), "there is a label 'gold' already"),
        (("rename", "oil"), "rename needs OLD NEW. Got oil instead."),
        (("retire",), "retire needs LABEL. Got none instead."),
        (("list", "oil"), "list needs no label. Got oil instead."),
    ],
)
def test_impossible_changes_are_refused(model, args, message):
    before = model.read_bytes()
    assert message in one_line(run("labels", model, *args, code=2))
    assert model.read_bytes() == before


def test_an_unknown_action_lists_the_known_ones(model):
    output = run("labels", model, "forget", "oil", code=2).stderr
    for action in ("list", "rename", "merge", "retire"):
        assert action in output


def test_a_missing_model_is_named(tmp_path):
    output = one_line(run("labels", tmp_path / "none", "list", code=2))
    assert "there is no such model file" in output


# ── merge ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def parts(tmp_path):
    paths = []
    for part in range(3):
        path = tmp_path / f"part-{part}.clasher"
        source = stream(tmp_path, 10 + part, seed=part)
        run("learn", source, "-m", path, *SMALL, "--rule", "centroid", "-q")
        paths.append(path)
    return paths


def test_models_become_one(parts, tmp_path):
    output = tmp_path / "whole.clasher"
    before = [path.read_bytes() for path in parts]
    result = run("merge", *parts, "--output", output)
    first, *others = map(Clasher.load, parts)
    for other in others:
        first.merge(other)
    merged = Clasher.load(output)
    assert (merged.labels, merged.documents) == (first.labels, 33)
    assert state_bytes(merged) == state_bytes(first)
    assert [path.read_bytes() for path in parts] == before
    message = " ".join(result.stdout.split())
    assert "10 documents, 3 labels" in message
    assert "33 documents, 3 labels" in message
    assert f"wrote {output}, " in result.stderr


def test_quiet_says_nothing(parts, tmp_path):
    assert run("merge", *parts, "-o", tmp_path / "whole", "--quiet").output == ""


def test_one_of_the_parts_may_be_replaced(parts):
    run("merge", *parts, "-o", parts[0])
    assert Clasher.load(parts[0]).documents == 33


def test_different_settings_are_named_with_their_file(parts, tmp_path):
    odd = tmp_path / "odd.clasher"
    Clasher(dimensions=64, max_labels=8, rule="centroid").save(odd)
    message = one_line(run("merge", *parts, odd, "-o", tmp_path / "whole", code=2))
    assert f"{odd} does not merge with {parts[0]}: " in message
    assert "dimensions is 128 here and 64 there" in message
    assert not (tmp_path / "whole").exists()


def test_too_many_labels_are_named_with_their_file(parts, tmp_path):
    other = Clasher(dimensions=128, max_labels=8, rule="centroid")
    other.learn("a text", {f"label {i}" for i in range(8)})
    other.save(tmp_path / "full")
    message = one_line(run("merge", *parts, tmp_path / "full", "-o", tmp_path / "whole", code=2))
    assert "would be number 9, and --max-labels is 8" in message


def test_a_place_that_cannot_be_written_shows_before_the_work(parts, tmp_path):
    message = one_line(run("merge", *parts, "-o", tmp_path / "missing" / "whole", code=2))
    assert "there is no directory" in message
    assert "--output" in run("merge", *parts, code=2).stderr
