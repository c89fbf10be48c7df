import json
from pathlib import Path

import pytest

from clasher import Clusters, Similar
from tests.cli.command import jsonl, one_line, records, run, stream

# ── clusters ─────────────────────────────────────────────────────────────────────────────────────


SMALL = ("--dimensions", "256", "--k", "4")


def test_clusters_are_shown(tmp_path):
    result = run("clusters", stream(tmp_path), *SMALL)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "news.jsonl, 40 documents in 4 clusters" in result.stdout
    assert "wheat" in result.stdout


def test_clusters_as_json(tmp_path):
    path = stream(tmp_path)
    written = json.loads(run("clusters", path, *SMALL, "--json", "-", "--words", 2).stdout)
    clusters = Clusters(4, 256)
    clusters.learn_many([row["text"] for row in records(40)])
    assert written["documents"] == 40
    assert written["settings"] == clusters.settings.to_dict()
    sizes = [cluster["size"] for cluster in written["clusters"]]
    assert sizes == sorted(clusters.sizes.tolist(), reverse=True)
    texts = {row["id"]: row["text"] for row in records(40)}
    for cluster in written["clusters"]:
        assert 1 <= len(cluster["words"]) <= 2
        example = cluster["example"]
        assert texts[example["id"]] == example["text"]
        assert clusters.predict(example["text"]) == cluster["cluster"]
    table = run("clusters", path, *SMALL, "--json", tmp_path / "c.json").stdout
    assert "4 clusters" in table
    assert json.loads((tmp_path / "c.json").read_text())["documents"] == 40


def test_every_document_gets_a_line(tmp_path):
    output = tmp_path / "out.jsonl"
    run("clusters", stream(tmp_path), *SMALL, "--output", output, "--recycle")
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    expected = Clusters(4, 256, recycle=True).learn_many([row["text"] for row in records(40)])
    assert [line["id"] for line in lines] == [row["id"] for row in records(40)]
    assert [line["cluster"] for line in lines] == expected.clusters.tolist()
    assert [line["similarity"] for line in lines] == pytest.approx(
        expected.similarities.tolist(), abs=1e-6
    )
    piped = run("clusters", stream(tmp_path), *SMALL, "--recycle", "--output", "-").stdout
    assert piped == output.read_text()


def test_clusters_are_kept(tmp_path):
    saved = tmp_path / "news.clusters"
    run("clusters", stream(tmp_path), *SMALL, "--threshold", 0.3, "--save", saved)
    back = Clusters.load(saved)
    assert (back.documents, back.k, back.settings.threshold) == (40, 4, 0.3)


def test_the_settings_are_those_of_other_commands(tmp_path):
    saved = tmp_path / "news.clusters"
    given = ("--half-life", 50, "--tf", "count", "--seed", 3, "--min-length", 4)
    run("clusters", stream(tmp_path), *SMALL, *given, "--save", saved)
    settings = Clusters.load(saved).settings
    assert (settings.half_life, settings.tf, settings.seed) == (50, "count", 3)
    assert settings.analyzer.min_length == 4


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--k", 0], "--k must be an integer from 1 to 4096"),
        (["--threshold", 2], "--threshold must be a number between 0 and 1"),
        (["--threshold", "nan"], "--threshold must be"),
        (["--dimensions", 1], "--dimensions must be"),
        (["--output", "-", "--json", "-"], "cannot both use standard output"),
        (["--save", "missing/clusters"], "there is no directory"),
    ],
)
def test_errors_end_in_one_line(args, message, tmp_path):
    assert message in one_line(run("clusters", stream(tmp_path), *args, code=2))


def test_the_stream_is_not_overwritten(tmp_path):
    path = stream(tmp_path)
    content = Path(path).read_bytes()
    for option in ("--output", "--json", "--save"):
        one_line(run("clusters", path, *SMALL, option, path, code=2))
        assert Path(path).read_bytes() == content


def test_ctrl_c_ends_the_stream(tmp_path, interrupting):
    stdin = interrupting(jsonl(records(20)), "learn_many", Clusters)
    output = tmp_path / "out.jsonl"
    result = run("clusters", "-", *SMALL, "--output", output, stdin=stdin, code=130)
    assert "interrupted after 20 documents" in result.stderr
    assert "standard input, 20 documents in" in result.stdout
    assert len(output.read_text().splitlines()) == 20


# ── similar ──────────────────────────────────────────────────────────────────────────────────────


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
def test_errors_of_similar_end_in_one_line(args, message, tmp_path):
    assert message in one_line(run("similar", stream(tmp_path), *args, code=2))


def test_similar_does_not_overwrite_the_stream(tmp_path):
    path = stream(tmp_path)
    content = Path(path).read_bytes()
    one_line(run("similar", path, "--output", path, code=2))
    assert Path(path).read_bytes() == content
