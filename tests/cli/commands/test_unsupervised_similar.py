import json
from pathlib import Path

import pytest

from clasher import Similar
from tests.cli.command import jsonl, one_line, records, run, stream

TEXTS = {"a": "first of all", "b": "oil prices rise", "c": "wheat falls", "d": "Oil prices: rise!"}


def write(folder):
    path = folder / "news.jsonl"
    path.write_bytes(jsonl([{"id": id_, "text": text} for id_, text in TEXTS.items()]))
    return path


def test_near_duplicates_are_reported(tmp_path):
    result = run("similar", write(tmp_path), "--dimensions", 1024)
    (line,) = map(json.loads, result.stdout.splitlines())
    assert (line["id"], line["of"]) == ("d", "b")
    assert line["similarity"] == pytest.approx(1.0, abs=1e-5)
    assert "1 near-duplicate in 4 documents" in result.stderr


def test_the_threshold_and_the_window(tmp_path):
    path = stream(tmp_path)
    args = ("--dimensions", 256, "--threshold", 0.4, "--window", 7, "--quiet")
    result = run("similar", path, *args, "--output", tmp_path / "out.jsonl")
    assert result.output == ""
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    texts, ids = ([row[name] for row in records(40)] for name in ("text", "id"))
    expected = Similar(7, 256).near_duplicates(texts, ids, 0.4)
    assert [(line["id"], line["of"]) for line in lines] == [(c.id, c.of) for c in expected]
    assert 0 < len(lines) < 40


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--threshold", 0], "--threshold must be"),
        (["--window", 0], "--window must be an integer from 1"),
        (["--tf", "log", "--dimensions", 0], "--dimensions must be"),
    ],
)
def test_errors_end_in_one_line(args, message, tmp_path):
    assert message in one_line(run("similar", stream(tmp_path), *args, code=2))


def test_the_stream_is_not_overwritten(tmp_path):
    path = stream(tmp_path)
    content = Path(path).read_bytes()
    one_line(run("similar", path, "--output", path, code=2))
    assert Path(path).read_bytes() == content
