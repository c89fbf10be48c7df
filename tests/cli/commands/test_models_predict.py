import json
import os
import re
import signal

import pytest

from clasher import Clasher
from tests.cli.command import jsonl, one_line, records, run, start, stream


@pytest.fixture
def model(tmp_path):
    made = Clasher(dimensions=128, max_labels=8)
    rows = records(40)
    made.learn_many([row["text"] for row in rows], [row["labels"] for row in rows])
    made.save(tmp_path / "model.clasher")
    return tmp_path / "model.clasher"


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def expected(model, rows):
    made = Clasher.load(model)
    return [{"id": row["id"], "labels": sorted(made.predict(row["text"]))} for row in rows]


def test_predictions_are_json_lines_in_the_order_of_the_stream(tmp_path, model):
    before = model.read_bytes()
    result = run("predict", stream(tmp_path, 30, seed=1), "--model", model)
    assert lines(result.stdout) == expected(model, records(30, seed=1))
    assert result.stderr == ""
    assert model.read_bytes() == before


def test_predictions_can_go_to_a_file(tmp_path, model):
    target = tmp_path / "out.jsonl"
    result = run("predict", stream(tmp_path, 5), "-m", model, "-o", target)
    assert result.output == ""
    assert lines(target.read_text()) == expected(model, records(5))


def test_scores_are_those_of_every_label(tmp_path, model):
    found = lines(run("predict", stream(tmp_path, 5), "--model", model, "--probabilities").stdout)
    made = Clasher.load(model)
    for row, line in zip(records(5), found, strict=True):
        assert line["probabilities"] == pytest.approx(made.probabilities(row["text"]), abs=1e-6)


def test_labels_are_not_needed_and_ids_are_numbered(model):
    content = b'{"body": "wheat corn"}\n{"body": "zinc", "key": "k", "labels": 3}\n'
    args = ("--text", "body", "--id", "key")
    found = lines(run("predict", "-", "--model", model, *args, stdin=content).stdout)
    assert [line["id"] for line in found] == [1, "k"]


def test_the_text_may_be_in_a_field_called_labels(model):
    content = b'{"labels": "wheat corn"}\n'
    found = lines(run("predict", "-", "-m", model, "--text", "labels", stdin=content).stdout)
    assert found == [{"id": 1, "labels": ["grain"]}]


def test_csv_without_a_column_of_labels(tmp_path, model):
    path = tmp_path / "inbox.csv"
    path.write_text('text\n"wheat, corn"\nzinc gold\n')
    found = lines(run("predict", path, "--model", model, "--limit", 1).stdout)
    assert found == [{"id": 1, "labels": ["grain"]}]


def test_bad_records_are_reported_on_standard_error_only(model):
    content = jsonl(records(2)) + b"rubbish\n"
    result = run("predict", "-", "--model", model, "--on-error", "skip", stdin=content)
    assert len(lines(result.stdout)) == 2
    assert "skipped 1 bad record; the first: -, record 3" in result.stderr


def test_the_stream_is_never_overwritten(tmp_path, model):
    path = stream(tmp_path)
    os.symlink(path, tmp_path / "link.jsonl")
    args = ("predict", path, "--model", model, "--output", tmp_path / "link.jsonl")
    assert "would overwrite a file of the stream" in one_line(run(*args, code=2))


def test_without_a_standard_output_a_file_must_be_named(tmp_path, model, monkeypatch):
    monkeypatch.setattr("clasher.cli.terminal.sys", type("sys", (), {"stdout": None}))
    message = one_line(run("predict", stream(tmp_path), "--model", model, code=2))
    assert "there is no standard output; name a file" in message


# ── pipes, in a process of its own ───────────────────────────────────────────────────────────────


def test_predictions_come_as_documents_arrive_and_ctrl_c_ends_them(model):
    """Also: a thread that still waits for input must not break the way out."""
    with start("predict", "-", "--model", model, "--quiet") as child:
        rows = records(3)
        for row in rows:
            child.stdin.write(jsonl([row]))
            child.stdin.flush()
            assert json.loads(child.stdout.readline()) in expected(model, [row])
        os.kill(child.pid, signal.SIGINT)
        assert child.wait() == 130
        assert child.stdout.read() == b""
        assert child.stderr.read() == b"clasher: interrupted after 3 documents\n"


def test_a_reader_that_goes_away_is_no_error(model):
    with start("predict", "-", "--model", model, "--quiet") as child:
        child.stdin.write(jsonl(records(1)))
        child.stdin.flush()
        assert child.stdout.readline()
        child.stdout.close()
        child.stdin.write(jsonl(records(1)))
        child.stdin.flush()
        assert child.wait() == 141
        assert child.stderr.read() == b""


def test_nothing_but_predictions_is_on_standard_output(model):
    child = start("predict", "-", "--model", model)
    out, _ = child.communicate(jsonl(records(5)))
    assert child.returncode == 0
    assert lines(out) == expected(model, records(5))


# ── explain ──────────────────────────────────────────────────────────────────────────────────────


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
