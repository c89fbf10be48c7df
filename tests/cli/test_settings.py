"""The options of text analysis on the command line."""

import json

import pytest

from clasher import Analyzer, Clasher
from tests.cli.command import SMALL, jsonl, one_line, run, stream

OWN = """
def halves(text):
    for word in text.split():
        yield word[: len(word) // 2]
        yield word[len(word) // 2 :]
"""


@pytest.fixture
def news(tmp_path):
    return stream(tmp_path)


def learnt(news, tmp_path, *options, code=0):
    path = tmp_path / "model.clasher"
    run("learn", news, "--model", path, *SMALL, "--quiet", *options, code=code)
    return path


def test_options_become_settings(news, tmp_path, stemmers, stop_lists):
    path = learnt(
        news, tmp_path, "--stop-words", "english", "--stem", "english", "--ngrams", "2",
        "--char-ngrams", "3-5", "--strip-html", "--strip-urls", "--fold-numbers",
        "--min-length", "3", "--no-marks", "--pairs", "0",
    )  # fmt: skip
    assert Clasher.load(path).settings.analyzer == Analyzer(
        3, "english", "english", 2, (3, 5), strip_html=True, strip_urls=True, fold_numbers=True
    )
    shown = run("inspect", path).stdout
    assert "min_length 3, stop_words (" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--ngrams", "2-3"], {"ngrams": (2, 3)}),
        (["--char-ngrams", "4", "--ngrams", "0"], {"char_ngrams": (4, 4), "ngrams": 0}),
        ([], {}),
    ],
)
def test_sizes_of_n_grams(news, tmp_path, options, expected):
    path = learnt(news, tmp_path, *options)
    assert Clasher.load(path).settings.analyzer == Analyzer.rich(**expected)


def test_stop_words_of_a_file(news, tmp_path):
    (tmp_path / "mine.txt").write_text("wheat corn\nöl\n", encoding="utf-8")
    path = learnt(news, tmp_path, "--stop-words", f"@{tmp_path / 'mine.txt'}")
    assert Clasher.load(path).settings.analyzer.stopped == ("corn", "wheat", "öl")
    (tmp_path / "broken.txt").write_bytes(b"\xff")
    options = ("--stop-words", f"@{tmp_path / 'broken.txt'}")
    assert "not UTF-8 text" in run("evaluate", news, *options, code=2).stderr
    options = ("--stop-words", f"@{tmp_path / 'missing.txt'}")
    assert "missing.txt" in one_line(run("evaluate", news, *options, code=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stop-words", "klingon"], "must be one of arabic, "),
        (["--stem", "klingon"], "must be one of arabic, "),
        (["--ngrams", "11"], "must be an integer from 1 to 10"),
        (["--ngrams", "0"], "must be an integer from 1 to 10"),
        (["--char-ngrams", "5-3"], "two integers from 2 to 10 in order"),
        (["--min-length", "0"], "must be an integer from 1 to 1000"),
    ],
)
def test_bad_settings_are_one_line(news, stemmers, stop_lists, options, message):
    assert message in one_line(run("evaluate", news, *options, code=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ngrams", "two"], "'two' is neither a number nor two with a dash"),
        (["--tokenizer", "json"], "'json' is not of the form module:function"),
        (["--tokenizer", "json:nothing"], "'json:nothing' cannot be imported: module 'json' has"),
        (["--tokenizer", "no_such:f"], "'no_such:f' cannot be imported: No module named 'no_such'"),
    ],
)
def test_bad_options_are_explained(news, options, message):
    output = " ".join(run("evaluate", news, *options, code=2).stderr.split())
    assert message in output


def test_a_model_keeps_its_analysis(news, tmp_path):
    path = learnt(news, tmp_path, "--ngrams", "2")
    run("learn", news, "--model", path, "--ngrams", "2", "--quiet")
    run("learn", news, "--model", path, "--quiet")
    for options, message in [
        (["--ngrams", "3"], "--ngrams contradicts {}, whose ngrams is (1, 2); leave it out"),
        (["--fold-numbers"], "--fold-numbers contradicts {}, whose --fold-numbers is False;"),
    ]:
        output = one_line(run("learn", news, "--model", path, *options, "--quiet", code=2))
        assert message.format(path) in output
    assert Clasher.load(path).documents == 120


def test_markup_is_left_out(tmp_path):
    rows = [
        {"text": "<b class=wheat>gold</b> &amp; http://corn.org", "labels": ["metal"]},
        {"text": "<i>wheat</i>", "labels": ["grain"]},
    ]
    (tmp_path / "pages.jsonl").write_bytes(jsonl(rows * 5))
    path = learnt(tmp_path / "pages.jsonl", tmp_path, "--strip-html", "--strip-urls")
    shown = run(
        "explain", "--model", path, "<p class=wheat>gold www.corn.org", "-l", "metal"
    ).stdout
    assert "gold" in shown
    assert "wheat" not in shown
    assert "corn" not in shown


def test_a_tokenizer(news, tmp_path, monkeypatch):
    (tmp_path / "mine_to_cut.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    own = ("--tokenizer", "mine_to_cut:halves")
    path = learnt(news, tmp_path, *own)
    learnt(news, tmp_path, *own)
    assert json.loads(run("inspect", path, *own, "--json", "-").stdout)["documents"] == 80
    shown = run("explain", "--model", path, *own, "wheat").stdout
    assert " wh " in shown
    assert " eat " in shown
    assert run("predict", news, "--model", path, *own, "-q").stdout.count("\n") == 40
    run("labels", path, "rename", "grain", "crops", *own, "-q")
    run("merge", path, path, "-o", tmp_path / "both.clasher", *own, "-q")
    commands = [
        ["inspect", path], ["explain", "-m", path, "wheat"], ["predict", news, "-m", path, "-q"],
        ["learn", news, "-m", path, "-q"], ["late-labels", news, "-m", path, "-q"],
        ["unlearn", news, "-m", path, "-q"], ["labels", path, "list"],
        ["merge", path, path, "-o", tmp_path / "both.clasher"],
    ]  # fmt: skip
    for command in commands:
        output = one_line(run(*command, code=2))
        assert "is cut into words by the function mine_to_cut:halves; give it" in output
        assert "--tokenizer mine_to_cut:halves" in output
