import json
import re
import sys
from pathlib import Path

import pytest

from clasher import Analyzer, Clasher
from clasher.evaluate import evaluate
from clasher.io import open_stream
from tests.cli.command import SMALL, jsonl, one_line, records, run, stream


def figures(path, model, **options):
    batches = ((batch.texts, batch.labels) for batch in open_stream(path))
    return evaluate(model, batches, **options)


def test_the_table_shows_the_figures_of_the_library(tmp_path):
    path = stream(tmp_path)
    result = figures(path, Clasher(dimensions=128, max_labels=8))
    text = run("evaluate", path, *SMALL).stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("news.jsonl, margin rule")
    macro, micro = (line.split() for line in lines if line.split()[:1] in (["macro"], ["micro"]))
    assert macro[1] == f"{result.macro_f1:.3f}".lstrip("0")
    assert micro[1] == f"{result.micro_f1:.3f}".lstrip("0")
    assert "last" not in text  # the window is the whole stream
    assert "▁" in text
    assert re.search(r"^documents +40 *$", text, re.M)
    assert re.search(r"^labels +3;", text, re.M)


def test_a_long_stream_has_a_window(tmp_path):
    text = run("evaluate", stream(tmp_path), *SMALL, "--every", 5, "--window", 2).stdout
    assert "last 10 macro" in text
    assert "last 10 micro" in text


def test_json_has_every_figure(tmp_path):
    path, target = stream(tmp_path), tmp_path / "figures.json"
    run("evaluate", path, *SMALL, "--every", 10, "--window", 2, "--json", target)
    written = json.loads(target.read_text())
    result = figures(path, Clasher(dimensions=128, max_labels=8), every=10, window=2).to_dict()
    assert written.keys() == result.keys()
    for name in ("documents", "labels", "macro_f1", "micro_f1", "state_bytes", "per_label"):
        assert written[name] == result[name]
    assert len(written["curve"]) == 4
    assert (written["every"], written["window"]) == (10, 2)


def test_labels_may_be_shown_with_a_probability(tmp_path):
    path = stream(tmp_path, 80)
    how = ("--label-probability", 0.25, "--seed", 3)
    model = Clasher(dimensions=128, max_labels=8, seed=3)
    result = figures(path, model, label_probability=0.25, seed=3)
    written = json.loads(run("evaluate", path, *SMALL, *how, "--json", "-").stdout)
    for name in ("macro_f1", "micro_f1", "taught", "label_probability", "judged"):
        assert written[name] == getattr(result, name)
    assert 0 < result.taught < result.judged == 80
    text = run("evaluate", path, *SMALL, *how).stdout
    assert f"80; the model saw the labels of {result.taught} (p = 0.25)" in " ".join(text.split())


def test_ranked_figures_are_shown_if_asked_for(tmp_path):
    path, report = stream(tmp_path), tmp_path / "report.html"
    result = figures(path, Clasher(dimensions=128, max_labels=8), ranked=True)
    written = json.loads(run("evaluate", path, *SMALL, "--ranked", "--json", "-", "-q").stdout)
    assert written["ranked"] == vars(result.ranked)
    lines = run("evaluate", path, *SMALL, "--ranked", "--report", report).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for name, key in {"precision": "precision", "propensity-scored": "psp"}.items():
        cells = [f"{getattr(result.ranked, f'{key}_at_{k}'):.3f}".lstrip("0") for k in (1, 3, 5)]
        assert [name, *cells] in [line.split() for line in lines]
    page = report.read_text()
    assert re.search(r"propensity-scored precision at 3</th><td>(\.\d{3}|1\.000)<", page)
    assert "propensity-scored" not in run("evaluate", path, *SMALL).stdout


@pytest.mark.parametrize("bad", ["-1", "1.5", "half"])
def test_an_impossible_probability_is_refused(tmp_path, bad):
    result = run("evaluate", stream(tmp_path), "--label-probability", bad, code=2)
    assert "--label-probability" in result.stderr


def test_partial_labels_work_from_a_file(tmp_path):
    """An object label → true or false leaves the other labels unknown, for learning and judging."""
    rows = [
        {**row, "labels": {"grain": "grain" in row["labels"]} if i % 3 else row["labels"]}
        for i, row in enumerate(records(40))
    ]
    path = tmp_path / "partial.jsonl"
    path.write_bytes(jsonl(rows))
    for rule in ("margin", "centroid", "mistake", "perceptron"):
        written = json.loads(
            run("evaluate", path, *SMALL, "--rule", rule, "--json", "-", "-q").stdout
        )
        model = Clasher(dimensions=128, max_labels=8, rule=rule)
        texts, labels = ([row[name] for row in rows] for name in ("text", "labels"))
        result = evaluate(model, [(texts, labels)])
        assert written["micro_f1"] == result.micro_f1
        assert written["per_label"] == [row._asdict() for row in result.per_label]
        stated = sum("grain" in row["labels"] for row in rows)
        assert {row["label"]: row["support"] for row in written["per_label"]}["grain"] <= stated


def test_json_on_standard_output_takes_the_place_of_the_table(tmp_path):
    result = run("evaluate", stream(tmp_path), *SMALL, "--json", "-", "--quiet")
    assert json.loads(result.stdout)["documents"] == 40
    assert result.stderr == ""


def test_the_report_is_a_page_of_its_own(tmp_path):
    target = tmp_path / "report.html"
    result = run("evaluate", stream(tmp_path), *SMALL, "--report", target)
    page = target.read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "news.jsonl" in page
    assert f"wrote {target}" in result.stderr
    assert not list(tmp_path.glob("*.tmp"))


def test_a_missing_library_for_the_report_shows_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "clasher.cli.report", raising=False)
    read = []
    monkeypatch.setattr("clasher.io.open_stream", read.append)
    message = one_line(run("evaluate", stream(tmp_path), "--report", tmp_path / "r.html", code=2))
    assert "pip install 'clasher[report]'" in message
    assert not read


def test_save_keeps_the_model(tmp_path):
    path, target = stream(tmp_path), tmp_path / "model.clasher"
    run("evaluate", path, *SMALL, "--save", target)
    model = Clasher(dimensions=128, max_labels=8)
    figures(path, model)
    model.save(tmp_path / "same.clasher")
    assert target.read_bytes() == (tmp_path / "same.clasher").read_bytes()


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


SETTINGS = {
    "--rule": ("rule", "perceptron"),
    "--dimensions": ("dimensions", 64),
    "--weighting": ("weighting", "tf"),
    "--similarity": ("similarity", "euclidean"),
    "--tf": ("tf", "count"),
    "--norm": ("norm", "none"),
    "--threshold": ("threshold", 0.25),
    "--max-labels": ("max_labels", 3),
    "--on-full": ("on_full", "evict"),
    "--seed": ("seed", 7),
    "--depth": ("depth", 2),
}


@pytest.mark.parametrize("option", SETTINGS)
def test_options_set_what_the_library_sets(option, tmp_path):
    name, value = SETTINGS[option]
    path = stream(tmp_path, 3)
    plain = json.loads(run("evaluate", path, "--json", "-").stdout)["settings"]
    given = json.loads(run("evaluate", path, option, value, "--json", "-").stdout)["settings"]
    if name == "rule":  # each reads text in its own way
        plain["analyzer"] = Analyzer().to_dict()
    assert given == plain | {name: value}


def test_a_sketch_may_be_conservative(tmp_path):
    args = ("evaluate", stream(tmp_path, 3), "--depth", 2, "--conservative", "--json", "-")
    given = json.loads(run(*args).stdout)["settings"]
    assert (given["depth"], given["conservative"]) == (2, True)
    args = ("evaluate", stream(tmp_path, 3), "--depth", 2, "--weighting", "ig")
    assert "must be 1 with weighting 'ig'" in one_line(run(*args, code=2))


@pytest.mark.parametrize("mode", [1, 2])
def test_paper_sets_the_papers_settings(mode, tmp_path):
    args = ("evaluate", stream(tmp_path, 3), "--paper", mode, "--dimensions", 64, "--json", "-")
    expected = Clasher.paper(mode, dimensions=64).settings.to_dict()
    assert json.loads(run(*args).stdout)["settings"] == expected
    assert "--paper chooses the rule" in one_line(run(*args, "--rule", "margin", code=2))


def test_allow_empty_predicts_nothing(tmp_path):
    args = ("evaluate", stream(tmp_path, 3), "--threshold", 0.99, "--json", "-")
    assert json.loads(run(*args).stdout)["micro_precision"] > 0
    assert json.loads(run(*args, "--allow-empty").stdout)["micro_precision"] == 0


def test_more_labels_than_allowed(tmp_path):
    args = ("evaluate", stream(tmp_path), "--dimensions", 64, "--max-labels", 2)
    assert "raise --max-labels" in one_line(run(*args, code=2))
    run(*args, "--on-full", "evict")


# ── the stream ───────────────────────────────────────────────────────────────────────────────────


def documents(*args, **options):
    return json.loads(run("evaluate", *args, *SMALL, "--json", "-", **options).stdout)["documents"]


def test_streams_are_files_one_after_the_other_and_standard_input(tmp_path):
    first, second = stream(tmp_path, 5), stream(tmp_path, 7, name="more.jsonl")
    assert documents(first, second) == 12
    assert documents(first, "-", stdin=jsonl(records(4))) == 9
    assert documents(first, second, "--limit", 6) == 6
    assert "news.jsonl and 1 more" in run("evaluate", first, second, *SMALL).stdout


def test_fields_separator_and_format_can_be_named(tmp_path):
    path = tmp_path / "news.txt"
    path.write_text("key\tbody\ttopics\n1\twheat corn\tgrain,farm\n2\tzinc\tmetal\n")
    args = ["--format", "tsv", "--text", "body", "--labels", "topics", "--id", "key"]
    written = run("evaluate", path, *args, "--label-separator", ",", *SMALL, "--json", "-").stdout
    labels = {row["label"] for row in json.loads(written)["per_label"]}
    assert labels == {"grain", "farm", "metal"}


def test_nested_fields_are_reached_by_dots():
    line = b'{"payload": {"body": "wheat", "tags": ["grain"]}}\n'
    assert documents("-", "--text", "payload.body", "--labels", "payload.tags", stdin=line) == 1


BROKEN = jsonl(records(3)) + b"rubbish\n" + jsonl(records(2)) + b"{}\n"


def test_bad_records_can_be_skipped_and_are_counted(tmp_path):
    args = ("evaluate", "-", *SMALL, "--json", "-", "--quiet", "--on-error", "skip")
    result = run(*args, stdin=BROKEN)
    assert json.loads(result.stdout)["documents"] == 5
    assert result.stderr.startswith("clasher: skipped 2 bad records; the first: -, record 4:")


@pytest.mark.parametrize(
    "form",
    [
        ["--on-error", "dead-letter", "{}"],
        ["--on-error=dead-letter", "{}"],
        ["--on-error", "dead-letter:{}"],
        ["--on-error=dead-letter:{}"],
    ],
)
def test_bad_records_can_be_set_aside(form, tmp_path):
    letters = tmp_path / "bad.jsonl"
    policy = [part.format(letters) for part in form]
    result = run("evaluate", *policy, "-", *SMALL, stdin=BROKEN)
    assert f"skipped 2 bad records (see {letters})" in result.stderr
    assert [json.loads(line)["record"] for line in letters.read_text().splitlines()] == [4, 7]


@pytest.mark.parametrize("policy", [["dead-letter"], ["dead-letter", "--quiet"], ["nonsense"]])
def test_a_policy_must_be_whole(policy, tmp_path):
    message = run("evaluate", stream(tmp_path), "--on-error", *policy, code=2).stderr
    assert "dead-letter FILE" in message


def test_words_after_two_dashes_are_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stream(tmp_path, 3, name="--on-error")
    stream(tmp_path, 3, name="dead-letter")
    args = (*SMALL, "--format", "jsonl", "--json", "-", "--", "--on-error", "dead-letter")
    assert json.loads(run("evaluate", *args).stdout)["documents"] == 6


def test_a_stream_of_bad_records_only(tmp_path):
    message = one_line(run("evaluate", "-", "--on-error", "skip", stdin=b"{}\n", code=2))
    assert "none of the 1 records" in message


# ── files that cannot be written ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("option", ["--json", "--report", "--save"])
def test_targets_are_looked_at_before_the_work(option, tmp_path, monkeypatch):
    path = stream(tmp_path)
    content = Path(path).read_bytes()
    monkeypatch.setattr("clasher.evaluate.evaluate", None)  # nothing gets as far as this
    for target, problem in (
        (tmp_path, "is a directory"),
        (tmp_path / "none" / "file", "there is no directory"),
        (path, "would overwrite a file of the stream"),
    ):
        assert problem in one_line(run("evaluate", path, option, target, code=2))
    assert Path(path).read_bytes() == content


def test_dead_letters_need_a_file_of_their_own(tmp_path):
    path = stream(tmp_path)
    content = Path(path).read_bytes()
    for target, problem in (
        (tmp_path, "Is a directory"),
        (tmp_path / "none" / "file", "No such file or directory"),
        (path, "would overwrite a file of the stream"),
    ):
        args = ("evaluate", path, *SMALL, "--on-error", "dead-letter", target)
        assert problem in one_line(run(*args, code=2))
    assert Path(path).read_bytes() == content


def test_figures_are_shown_even_if_a_file_cannot_be_written(tmp_path):
    target = tmp_path / ("x" * 300)
    result = run("evaluate", stream(tmp_path), *SMALL, "--json", target, "--quiet", code=2)
    assert "macro" in result.stdout
    assert result.stderr.startswith("clasher: ")
    assert "too long" in result.stderr


def test_a_model_never_takes_the_place_of_a_device(tmp_path):
    message = one_line(run("evaluate", stream(tmp_path), "--save", "/dev/null", code=2))
    assert "not an ordinary file" in message


# ── Ctrl-C ───────────────────────────────────────────────────────────────────────────────────────


def test_ctrl_c_gives_the_figures_so_far(tmp_path, interrupting):
    figures, model = tmp_path / "figures.json", tmp_path / "model.clasher"
    stdin = interrupting(jsonl(records(20)), "step_many")
    targets = ("--json", figures, "--save", model, "--report", tmp_path / "report.html")
    result = run("evaluate", "-", *SMALL, *targets, stdin=stdin, code=130)
    assert "standard input, margin rule" in result.stdout
    assert "interrupted after 20 documents" in result.stderr
    written = json.loads(figures.read_text())
    assert (written["documents"], written["interrupted"]) == (20, True)
    assert Clasher.load(model).documents == 20
    assert (tmp_path / "report.html").exists()


def test_ctrl_c_before_the_first_document_writes_nothing(tmp_path, interrupting):
    stdin = interrupting(b"", "step_many")
    stdin.used.set()
    target = tmp_path / "figures.json"
    result = run("evaluate", "-", *SMALL, "--json", target, stdin=stdin, code=130)
    assert result.stdout == ""
    assert "interrupted after 0 documents" in result.stderr
    assert not target.exists()


def test_changes_are_reported(tmp_path, monkeypatch):
    """The labels change places half-way."""
    monkeypatch.setattr("clasher.learning.drift.EVERY", 8)
    monkeypatch.setattr("clasher.learning.drift.BLOCK", 4)
    monkeypatch.setattr("clasher.learning.drift.SMALLEST", 4)
    monkeypatch.setattr("clasher.learning.drift.CONFIDENCE", 0.9)
    texts = ("wheat corn", "crude oil")
    rows = [{"text": texts[(n + (n > 60)) % 2], "labels": [f"label{n % 2}"]} for n in range(120)]
    path, target = tmp_path / "news.jsonl", tmp_path / "figures.json"
    path.write_bytes(jsonl(rows))
    args = (path, *SMALL, "--detector", "window")
    shown = run("evaluate", *args, "--json", target, "--save", tmp_path / "model").stdout
    alarms = json.loads(target.read_text())["alarms"]
    assert alarms
    assert [alarm.to_dict() for alarm in Clasher.load(tmp_path / "model").alarms] == alarms
    first = alarms[0]
    assert first["document"] > 60
    changed = f"{first['error_before']:.0%} → {first['error_after']:.0%}"
    assert re.search(rf"^ *{first['document']} .*{changed}", shown, re.M)
    assert max(map(len, shown.splitlines())) <= 80


FORMS = {";": ";".join, ",": ",".join, "lists": json.dumps}


@pytest.mark.parametrize("form", FORMS)
def test_labels_in_one_text_are_understood_and_told(tmp_path, form):
    rows = records(60)
    whole = run("evaluate", "-", *SMALL, "--json", "-", stdin=jsonl(rows))
    cells = [row | {"labels": FORMS[form](row["labels"])} for row in rows]
    result = run("evaluate", "-", *SMALL, "--json", "-", stdin=jsonl(cells))
    timed = {"seconds", "documents_per_second", "memory_bytes"}
    wanted, got = (
        {name: value for name, value in json.loads(each.stdout).items() if name not in timed}
        for each in (whole, result)
    )
    assert got["macro_f1"] == wanted["macro_f1"]
    assert not whole.stderr
    how = "written as lists" if form == "lists" else f"separated by '{form}'"
    assert re.search(rf"^labels: 3 in the first \d+ records, {how}; first record: '", result.stderr)
    assert not run("evaluate", "-", *SMALL, "--quiet", stdin=jsonl(cells)).stderr


def test_doubtful_labels_are_reported_with_the_option(tmp_path):
    rows = [row | {"labels": row["labels"][0]} for row in records(100)]
    rows[50]["labels"] = "Washington, D.C."
    result = run("evaluate", "-", *SMALL, "--quiet", stdin=jsonl(rows))
    assert "'Washington, D.C.' was taken for one label" in result.stderr
    assert "say --label-separator ','" in result.stderr
    silent = run("evaluate", "-", *SMALL, "-q", "--label-separator", "|", stdin=jsonl(rows))
    assert not silent.stderr


def test_labels_can_be_said_to_be_json(tmp_path):
    rows = jsonl([{"text": "oil", "labels": '["a"]'}, {"text": "gas", "labels": "b"}])
    result = run("evaluate", "-", *SMALL, "--labels-json", stdin=rows, code=2)
    assert "record 2: field 'labels': 'b' is not a JSON list of labels" in result.stderr
