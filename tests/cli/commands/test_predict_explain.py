import re

import pytest

from clasher import Clasher
from tests.cli.command import one_line, records, run


def a_model(path, **settings):
    made = Clasher(dimensions=1024, max_labels=8, **settings)
    rows = records(60)
    made.learn_many([row["text"] for row in rows], [row["labels"] for row in rows])
    made.save(path)
    return made


@pytest.fixture
def path(tmp_path):
    a_model(tmp_path / "model.clasher")
    return tmp_path / "model.clasher"


def numbers(text):
    """The figures at the beginning of lines, block by block."""
    return [
        [float(found) for found in re.findall(r"^ *([+-]\d+\.\d+)", block, re.M)]
        for block in text.strip().split("\n\n")
    ]


def test_the_predicted_labels_are_explained_best_first(path):
    text = run("explain", "--model", path, "wheat corn gold zinc").stdout
    scores = Clasher.load(path).probabilities("wheat corn gold zinc")
    named = re.findall(r"^(\w+): predicted, probability", text, re.M)
    assert set(named) == Clasher.load(path).predict("wheat corn gold zinc")
    assert named == sorted(named, key=lambda label: -scores[label])
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("rule", ["margin", "perceptron", "centroid", "mistake"])
def test_the_shown_evidence_adds_up(rule, tmp_path):
    path = tmp_path / "model.clasher"
    model = a_model(path, rule=rule)
    text = run("explain", "-m", path, "wheat corn today barrel", "-l", "grain", "-n", 2).stdout
    (*parts, total) = numbers(text)[0]
    explanation = model.explain("wheat corn today barrel", "grain")
    linear = rule in ("margin", "perceptron")
    assert sum(parts) == pytest.approx(total, abs=0.01)
    assert total == pytest.approx(explanation.evidence, abs=0.001)
    assert f"evidence ({'log-odds' if linear else 'cosine'})" in text
    assert ("(5 more)" if rule == "margin" else "(2 more)") in text  # and its pairs


def test_labels_can_be_named_also_ones_not_predicted(path):
    text = run("explain", "--model", path, "wheat corn", "-l", "metal", "-l", "grain").stdout
    assert re.findall(r"^(\w+): (.*), probability", text, re.M) == [
        ("metal", "not predicted"),
        ("grain", "predicted"),
    ]
    assert "nearest region grain" in text


def test_an_unknown_label_has_a_neighbour(path):
    assert "did you mean 'grain'" in one_line(
        run("explain", "--model", path, "wheat", "--label", "grian", code=2)
    )


def test_text_comes_as_words_or_from_standard_input(path):
    quoted = run("explain", "--model", path, "wheat corn").stdout
    assert run("explain", "--model", path, "wheat", "corn").stdout == quoted
    assert run("explain", "--model", path, "-", stdin="wheat\ncorn\n").stdout == quoted


def test_standard_input_must_be_text(path):
    message = one_line(run("explain", "--model", path, "-", stdin=b"wheat \xff", code=2))
    assert "not UTF-8, at byte 7" in message


@pytest.mark.parametrize("text", ["", "a\udcffb", "\0", "[bold]wheat[/nonsense] :smile:"])
def test_any_text_can_be_explained(text, path):
    assert ", probability" in run("explain", "--model", path, "--", text).stdout


def test_markup_is_no_markup(path):
    assert "nonsense" in run("explain", "--model", path, "[/nonsense] wheat").stdout


def test_a_model_that_knows_no_label(tmp_path):
    Clasher(dimensions=16).save(tmp_path / "model.clasher")
    message = one_line(run("explain", "--model", tmp_path / "model.clasher", "wheat", code=2))
    assert "knows no label" in message
