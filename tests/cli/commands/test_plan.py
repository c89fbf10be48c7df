import json
from pathlib import Path

import pytest

from clasher import Clasher
from clasher.cli.format import size
from clasher.errors import SettingError
from clasher.learning import memory
from clasher.settings import Settings
from tests.cli.command import jsonl, one_line, records, run, stream


def plan(*args):
    return json.loads(run("plan", *args, "--json", "-").stdout)


PAPER = ("--paper", 1)
TF = ("--rule", "centroid", "--weighting", "tf", "--tf", "count")


def test_a_plan_without_a_stream():
    text = run("plan", "--labels", 2000, "--memory", "2GB").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "65,536 dimensions for 2,000 labels" in text
    assert "--dimensions 65536 --max-labels 2000" in text
    for dimensions in ("16,384", "32,768", "131,072", "262,144"):
        assert dimensions in text
    for theorem in ("Theorem 1", "Eq. 8", "Theorem 2", "Lemma 2", "second moments"):
        assert theorem in text


def test_options_to_copy_are_whole_on_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    text = run("plan", "--labels", 2000, "--memory", "2GB").stdout
    assert "--dimensions 65536 --max-labels 2000\n" in text


def test_the_default_model_is_promised_what_is_proved_for_it():
    """Without a stream nothing is known of its weights: of its errors only frequencies are."""
    found = plan("--labels", 120, "--dimensions", 2048)
    promised = {
        (line["what"], line["by"])
        for row in found["sizes"]
        for line in row["guarantees"]
        if line["guaranteed"] is not None
    }
    assert promised == {("counts", "Theorem 2")}
    message = one_line(run("plan", "--labels", 120, "--error", 0.1, code=2))
    assert "give a STREAM to measure the error on" in message


@pytest.mark.parametrize("options", [(), PAPER, TF, ("--tf", "count"), ("--weighting", "tf")])
def test_nothing_measured_exceeds_what_is_guaranteed_beside_it(tmp_path, options):
    """Texts so short that half of what they hold are pairs of words, in several models."""
    path = tmp_path / "short.jsonl"
    path.write_bytes(
        jsonl(
            {"text": f"wheat, corn {i} oil {i % 7}! gas {i % 3}", "labels": []} for i in range(60)
        )
    )
    found = plan(path, "--labels", 3, "--dimensions", 2**14, *options)
    for row in found["sizes"]:
        for line in row["guarantees"]:
            if line["guaranteed"] is not None and line["measured"] is not None:
                assert line["measured"] <= line["guaranteed"], line
            else:
                assert line["why"] or line["what"] == "decisions"
    text = run("plan", path, "--labels", 3, "--dimensions", 2**19, *options).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text  # nothing was cut off to fit


def test_a_plan_with_a_stream(tmp_path):
    text = run("plan", stream(tmp_path), "--labels", 3, "--memory", "10MB").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "news.jsonl, 40 documents, 54 distinct words" in text  # and pairs of them
    for theorem in ("Lemma 1", "Eq. 22", "Proposition 1"):
        assert theorem in text
    assert "No guarantee" in text
    assert "tf=log takes logarithms" in " ".join(text.split())
    assert "measured" in text


def test_the_plan_holds(tmp_path):
    """A model with the proposed settings takes the memory that was foretold."""
    found = plan("--labels", 100, "--memory", "1MB", "--rule", "centroid")
    model = Clasher(**{k: v for k, v in found["settings"].items() if k != "analyzer"})
    assert model.settings.dimensions == found["dimensions"]
    assert model.max_nbytes == found["nbytes"] <= 10**6
    model.learn("wheat", {f"label {i}" for i in range(100)})
    assert model.nbytes <= found["nbytes"]


def test_a_plan_as_json(tmp_path):
    path = stream(tmp_path)
    found = plan(path, "--labels", 3, "--dimensions", 64, "--confidence", 0.8)
    assert (found["dimensions"], found["labels"], found["confidence"]) == (64, 3, 0.8)
    assert [s["dimensions"] for s in found["sizes"]] == [16, 32, 64, 128, 256]
    assert found["sample"]["documents"] == 40
    middle = found["sizes"][2]
    assert middle["nbytes"] == memory.nbytes(Settings(dimensions=64, max_labels=3), 3)
    assert set(middle["measured"]["lengths"]) == {"mean", "median", "q90", "q99", "max"}
    assert found["needs"] == []
    table = run("plan", path, "--labels", 3, "--dimensions", 64, "--json", tmp_path / "p").stdout
    assert "64 dimensions for 3 labels" in table
    assert json.loads((tmp_path / "p").read_text())["dimensions"] == 64


def test_an_error_in_place_of_memory(tmp_path):
    text = run("plan", "--labels", 10, "--error", 0.1, "--confidence", 0.9, *TF).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "2,048 dimensions for 10 labels" in text
    assert "By second moments" in text
    assert "Sizes for an error of 0.1" in text
    assert "2,000" in text
    found = plan(stream(tmp_path), "--labels", 10, "--error", 0.9)
    assert {need["by"] for need in found["needs"]} >= {"Theorem 1", "Theorem 2", "Proposition 1"}
    wide = run("plan", stream(tmp_path), "--labels", 10, "--error", 0.9).stdout
    assert max(map(len, wide.splitlines())) <= 80
    assert "Measured, not guaranteed" in wide
    assert "No guarantee" in wide


def test_the_settings_are_those_of_other_commands(tmp_path):
    path = stream(tmp_path)
    plain = plan(path, "--labels", 3, "--memory", "1MB", "--weighting", "tf")
    assert plain["sample"]["rarity"] == 0
    long = plan(path, "--labels", 3, "--memory", "1MB", "--min-length", 6)
    assert 0 < long["sample"]["words"] < plain["sample"]["words"]
    paper = plan("--labels", 3, "--memory", "1MB", "--paper", 2)["settings"]
    assert (paper["rule"], paper["tf"], paper["norm"]) == ("mistake", "count", "none")
    message = one_line(
        run("plan", "--labels", 3, "--memory", "1MB", "--paper", 2, "--rule", "margin", code=2)
    )
    assert "--paper chooses the rule" in message
    more = plan("--labels", 3, "--memory", "1MB", "--max-labels", 50)["settings"]
    assert more["max_labels"] == 50


def test_only_the_first_documents_are_looked_at(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_bytes(jsonl(records(30)) + b"no JSON\n")
    assert plan(path, "--labels", 3, "--memory", "1MB", "--limit", 20)["sample"]["documents"] == 20
    text = jsonl(records(2100))
    found = json.loads(
        run("plan", "-", "--labels", 3, "--memory", "1MB", "--json", "-", stdin=text).stdout
    )
    assert found["sample"]["documents"] == 2000


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--memory", "2XB"], "is not a size of memory; write a number above 0 and a unit"),
        (["--memory", "0GB"], "is not a size of memory"),
        (["--memory", "-1GB"], "is not a size of memory"),
        (["--memory", "1kB"], "--memory must be an integer from 65536"),
        ([], "one of --memory SIZE, --error X and --dimensions N"),
        (["--memory", "1MB", "--dimensions", 8], "one of --memory SIZE"),
        (["--error", 2], "'error' parameter of a plan must be a number between"),
        (["--error", "nan"], "'error' parameter of a plan"),
        (["--error", "0.1", "--confidence", 0.5], "must be a number between 0.7 and 1"),
        (["--dimensions", 1], "--dimensions must be"),
        (["--memory", "1MB", "--max-labels", 2], "is more than --max-labels 2"),
        (["missing.jsonl", "--memory", "1MB"], "missing.jsonl"),
    ],
)
def test_errors_end_in_one_line(args, message):
    assert message in one_line(run("plan", "--labels", 3, *args, code=2))


def test_one_document_is_no_sample(tmp_path):
    message = one_line(run("plan", stream(tmp_path, 1), "--labels", 3, "--memory", "1MB", code=2))
    assert "at least two documents" in message


def test_the_stream_is_not_overwritten(tmp_path):
    path = stream(tmp_path)
    content = Path(path).read_bytes()
    one_line(run("plan", path, "--labels", 3, "--memory", "1MB", "--json", path, code=2))
    assert Path(path).read_bytes() == content


@pytest.mark.parametrize(
    ("text", "count"),
    [("1", 1), ("1B", 1), ("1 kB", 1000), ("1KiB", 1024), (".5MB", 500_000), ("1TiB", 2**40)],
)
def test_sizes(text, count):
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "GB", "1e3", "1,5GB", "١GB", "0.1", "1iB x", "9" * 30])
def test_invalid_sizes(text):
    with pytest.raises(SettingError, match="is not a size of memory"):
        size(text)
