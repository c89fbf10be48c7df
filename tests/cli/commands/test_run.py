"""``clasher run``, as it is used."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import sys
import threading
import urllib.request

import pytest

from clasher import Clasher
from clasher.cli.commands.run import calm_collector, show_progress
from clasher.cli.terminal import Bar
from clasher.flow import Figures
from support.environment import optional
from tests.cli.command import SMALL, jsonl, one_line, records, run, start, stream
from tests.cli.test_terminal import Terminal

PATIENCE = 60  # seconds; a loaded machine is no bug
SOON = 5  # seconds that a stop may take


@pytest.fixture
def model(tmp_path):
    return tmp_path / "model"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_file_is_learnt_and_labelled_and_gone_on_with(tmp_path, model):
    news, out = stream(tmp_path, 60), tmp_path / "out.jsonl"
    first = run("run", "--from", news, "--to", out, "--model", model, *SMALL)
    assert first.stdout == ""
    summary = r": 60 documents, 60 labelled, micro F1 (\.\d{3}|1\.000) of the last 60; snapshot \d+"
    assert re.fullmatch(re.escape(str(model)) + summary, first.stderr.splitlines()[-1])
    assert [line["id"] for line in lines(out)] == [f"d{number}" for number in range(60)]
    again = run("run", "--from", news, "--to", out, "--model", model)
    assert ": 60 documents" in again.stderr
    assert len(lines(out)) == 60


def test_the_model_is_that_of_learn(tmp_path, model):
    news = stream(tmp_path, 60)
    run("run", "--from", news, "--model", model, *SMALL)
    run("learn", news, "--model", tmp_path / "learnt.clasher", *SMALL)
    assert (model / "model.clasher").read_bytes() == (tmp_path / "learnt.clasher").read_bytes()
    run("predict", news, "--model", model / "model.clasher")


def test_standard_input_and_output_are_the_usual_streams(model, tmp_path):
    process = start("run", "--from", "-", "--model", model, *SMALL)
    out, err = process.communicate(jsonl(records(30)), timeout=PATIENCE)
    assert process.returncode == 0, err
    assert len(out.splitlines()) == 30
    assert b": 30 documents" in err


def test_routes_alone_write_nothing_else(tmp_path, model):
    news, grain = stream(tmp_path, 60), tmp_path / "grain.jsonl"
    route = ("--route", f"grain={grain}", "--include-text")
    result = run("run", "--from", news, "--model", model, *route, *SMALL)
    assert result.stdout == ""
    assert lines(grain)
    assert all("grain" in line["labels"] and line["text"] for line in lines(grain))


def test_late_labels_make_room_by_themselves(tmp_path, model):
    rows = records(40)
    (tmp_path / "news.jsonl").write_bytes(jsonl([row | {"labels": None} for row in rows]))
    (tmp_path / "late.jsonl").write_bytes(jsonl(rows))
    result = run(
        "run", "--from", tmp_path / "news.jsonl", "--late-labels", tmp_path / "late.jsonl",
        "--model", model, "--to", tmp_path / "out.jsonl", *SMALL,
    )  # fmt: skip
    assert "40 documents, 40 labelled" in result.stderr
    assert Clasher.load(model / "model.clasher").settings.pending == 10_000


def test_dead_letters_are_reported(tmp_path, model):
    news, letters = tmp_path / "news.jsonl", tmp_path / "letters.jsonl"
    news.write_text("no\n" + jsonl(records(3)).decode())
    result = run("run", "--from", news, "--model", model, "--dead-letters", letters, *SMALL)
    assert "1 dead letter;" in result.stderr
    assert lines(letters)[0]["raw"] == "no"


def test_a_run_may_begin_with_a_model_file(tmp_path, model):
    news = stream(tmp_path, 40)
    run("learn", news, "--model", tmp_path / "old.clasher", *SMALL)
    more = stream(tmp_path, 40, seed=1, name="more.jsonl")
    run("run", "--from", more, "--model", model, "--initial-model", tmp_path / "old.clasher")
    assert Clasher.load(model / "model.clasher").documents == 80
    other = run("run", "--from", more, "--model", model, "--dimensions", "64", code=2)
    assert "--dimensions 64 contradicts" in one_line(other)


def test_the_same_command_may_be_started_again(tmp_path, model):
    news, initial = stream(tmp_path, 40), tmp_path / "old.clasher"
    run("learn", news, "--model", initial, *SMALL)
    more = stream(tmp_path, 40, seed=1, name="more.jsonl")
    command = ("run", "--from", more, "--model", model, "--initial-model", initial, *SMALL)
    for _ in range(2):
        run(*command)
        assert Clasher.load(model / "model.clasher").documents == 80
    moved = initial.rename(tmp_path / "moved.clasher")
    assert "has changed since" in run(*command).stderr
    run("run", "--from", more, "--model", model, "--initial-model", moved)
    run("learn", more, "--model", moved)
    other = run("run", "--from", more, "--model", model, "--initial-model", moved, code=2)
    assert f"already has a model, which began with {initial}" in one_line(other)


def test_a_model_that_did_not_begin_with_a_file_keeps_to_itself(tmp_path, model):
    news = stream(tmp_path, 40)
    run("learn", news, "--model", tmp_path / "old.clasher", *SMALL)
    run("run", "--from", news, "--model", model, *SMALL)
    options = ("--model", model, "--initial-model", tmp_path / "old.clasher")
    output = one_line(run("run", "--from", news, *options, code=2))
    assert "already has a model, which did not begin with a file" in output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "mqtt://host/x"], "nothing reads from 'mqtt'; known are a path, -, feeds:"),
        (["--from", "x.jsonl", "--to", "https://host/x"], "nothing writes to 'https'; known are"),
        (["--from", "nowhere.jsonl"], "cannot be read: No such file"),
        (["--from", "news.doc"], "the extension of news.doc is unknown"),
        (["--from", "file:x.jsonl?a=b"], "there is no option 'a'; known are delimiter"),
        (["--from", "file:x.jsonl?a"], "options are written ?name=value"),
        (["--from", "file:x.jsonl?a=1&a=2"], "an option is given twice"),
        (["--from", "x.jsonl", "--route", "oil"], "write RULE=ADDRESS"),
        (["--from", ""], "must not be empty"),
        (["--from", "redis://host:port/x"], "is no address"),
    ],
)
def test_impossible_options_end_in_one_line(model, options, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert message in one_line(run("run", *options, "--model", model, "--quiet", code=2))


@pytest.mark.parametrize(
    ("url", "library", "extra"),
    [("redis://h/x", "redis", "redis"), ("https://h/x", "feedparser", "feeds")],
)
def test_a_missing_library_says_what_to_install(model, url, library, extra, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("clasher.io.connectors")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    result = run("run", "--from", url, "--model", model, code=2)
    assert f"pip install 'clasher[{extra}]'" in one_line(result)
    assert not model.exists()


# ── processes ────────────────────────────────────────────────────────────────────────────────────


def waiting(model, *options):
    """A run that waits for more, after some documents, and its output until then."""
    outputs = ("--to", f"{model}.out", "--model", model)
    process = start("run", "--from", "-", *outputs, *SMALL, *options)
    process.stdin.write(jsonl(records(30)))
    process.stdin.flush()
    return process


def wait_for(path, count):
    """Until so many lines were written."""
    done = threading.Event()
    for _ in range(PATIENCE * 20):
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        done.wait(0.05)
    raise AssertionError(f"{path} did not get {count} lines")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_stops_it_soon_and_nothing_is_lost(model, tmp_path, number, code):
    process = waiting(model)
    wait_for(tmp_path / "model.out", 30)
    process.send_signal(number)
    _, err = process.communicate(timeout=SOON)
    assert process.returncode == code, err
    assert b": 30 documents" in err
    assert Clasher.load(model / "model.clasher").documents == 30


def test_prometheus_is_shown_the_figures(model, tmp_path):
    optional("prometheus_client", "metrics")
    process = waiting(model, "--metrics", "0")
    output = b""
    while b"metrics: " not in output:
        output = process.stderr.readline()
    wait_for(tmp_path / "model.out", 30)
    url = output.split()[-1].decode()
    assert url.startswith("http://127.0.0.1:")
    text = ""
    for _ in range(PATIENCE * 10):
        text = urllib.request.urlopen(url, timeout=PATIENCE).read().decode()
        if "clasher_run_documents_total 30.0" in text:
            break
        threading.Event().wait(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert "clasher_run_documents_total 30.0" in text
    assert "clasher_run_micro_f1" in text
    assert "clasher_run_lag" not in text  # nobody knows how much waits in a pipe


def test_a_port_in_use_is_reported(model, tmp_path):
    optional("prometheus_client", "metrics")
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("run", "--from", stream(tmp_path), "--model", model, "--metrics", port, code=2)
        assert f"--metrics {port}: Address already in use" in result.stderr


def test_a_reader_that_goes_away_ends_it_quietly(model, tmp_path):
    process = start("run", "--from", stream(tmp_path, 5000), "--model", model, *SMALL)
    process.stdout.close()
    process.stdout = None
    assert process.wait(PATIENCE) == 141
    assert b"Traceback" not in process.stderr.read()
    process.stdin.close()
    process.stderr.close()


def test_figures_are_shown_as_they_come(monkeypatch):
    terminal = Terminal(monkeypatch)
    quality = {"judged": 5, "micro_f1": 0.868, "poison": 2}
    with Bar(None, shown=True) as bar:
        show_progress(bar, Figures(documents=1234, documents_per_second=567.8, lag=9, **quality))
    assert "1,234 docs  568/s  lag 9  micro .868  2 dead letters" in terminal.shown()


def test_a_bar_that_is_not_shown_shows_nothing(capfd):
    with Bar(None, shown=False) as bar:
        show_progress(bar, Figures(documents=1))
    assert capfd.readouterr().err == ""


def test_documents_are_labelled_as_they_arrive(model):
    process = start("run", "--from", "-", "--model", model, *SMALL)
    try:
        for row in records(3):
            process.stdin.write(jsonl([row]))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == row["id"]
    finally:
        process.stdin.close()
        process.stdin = None
        process.communicate(timeout=PATIENCE)
    assert os.path.exists(model / "model.clasher")


def test_the_collector_is_as_before_when_it_is_over():
    before = gc.get_threshold(), gc.get_freeze_count()
    with calm_collector():
        assert gc.get_threshold() != before[0]
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
