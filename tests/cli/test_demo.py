from __future__ import annotations

import functools
import re
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clasher.cli import demo, demo_corpus
from clasher.cli.demo import RULES, run_demo
from clasher.cli.report.examples import Sample
from clasher.errors import SettingError, StreamError
from clasher.io import Batch
from tests.cli.command import one_line, run

LIMIT = 40
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


def table(out: str) -> list[list[str]]:
    """The rows of the comparison: rule, documents, speed, macro and micro F1, memory, curve."""
    rows = [line.split() for line in out.splitlines() if line.startswith(RULES)]
    return [row for row in rows if row[1].isdigit()]


@functools.cache
def _collect(limit: int, seed: int) -> demo_corpus.Collection:
    """Collect once for all tests: finding all files of an installation takes long."""
    return demo_corpus.collect(limit, seed=seed)


@pytest.fixture(autouse=True)
def small_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "DIMENSIONS", 256)
    monkeypatch.setattr(demo, "EVERY", 10)
    monkeypatch.setattr(demo, "collect", _collect)


def test_piped_it_prints_plain_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "demo.html"
    run_demo(report, limit=LIMIT)
    out = capsys.readouterr().out
    assert not CONTROLS.search(out)
    rows = table(out)
    assert [row[0] for row in rows] == list(RULES)
    assert all(row[1] == str(LIMIT) for row in rows)
    assert out.count("nearest region") == 2
    assert f"The report is in {report}\n" in out
    assert "clasher evaluate news.jsonl --report" in out
    page = report.read_text(encoding="utf-8")
    assert all(f"<bdi>{rule}</bdi>" in page for rule in RULES)


@pytest.mark.parametrize("columns", ["20", "80"])
def test_commands_to_copy_are_whole_wherever_python_lies(
    columns: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python = f"/home/Zoë/{'long and ' * 20}deep/python"
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.setenv("COLUMNS", columns)
    report = tmp_path / ("a long name, " * 10 + "with spaces.html")
    run_demo(report, limit=LIMIT)
    lines = capsys.readouterr().out.splitlines()
    assert f"The report is in {report}" in lines
    commands = [shlex.split(line) for line in lines if line.startswith("  '/home/")]
    assert [command[:3] for command in commands] == [[python, "-m", "clasher"]] * 4
    assert commands[1][3:] == ["evaluate", "news.jsonl", "--report", "news.html"]


def test_same_seed_same_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def figures(seed: int) -> list[list[str]]:
        run_demo(tmp_path / "demo.html", limit=LIMIT, seed=seed)
        rows = table(capsys.readouterr().out)
        return [row[:2] + row[3:5] for row in rows]  # without the speed

    assert figures(1) == figures(1) != figures(2)


def test_on_a_terminal_it_is_live_and_in_colour(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    run_demo(tmp_path / "demo.html", limit=LIMIT)
    out = capsys.readouterr().out
    assert "\x1b[32m" in out  # green
    assert "\x1b[?25l" in out  # a cursor hidden while it moves
    assert "\x1b[?25h" in out  # and shown again


def test_picture(tmp_path: Path) -> None:
    svg = tmp_path / "demo.svg"
    run_demo(tmp_path / "demo.html", limit=LIMIT, svg=svg)
    picture = svg.read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert picture.count("perceptron</text>") == 1  # the last frame only
    assert "@font-face" not in picture
    assert "url(http" not in picture


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of what it hits
def test_ctrl_c_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Sample.watch

    def press(sample: Sample, batches: Iterable[Batch]) -> Iterator[Any]:
        for pair in watch(sample, batches):
            yield pair
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Sample, "watch", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_demo(tmp_path / "demo.html", limit=LIMIT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not (tmp_path / "demo.html").exists()


def test_a_python_without_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> Iterator[demo_corpus.Module]:
        return iter(())

    monkeypatch.setattr(demo, "collect", demo_corpus.collect)
    monkeypatch.setattr(demo_corpus, "standard_library", nothing)
    monkeypatch.setattr(demo_corpus, "installed_packages", nothing)
    with pytest.raises(StreamError, match="without its sources"):
        run_demo(tmp_path / "demo.html")


def test_a_report_that_cannot_be_written_stops_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no directory"):
        run_demo(tmp_path / "nowhere" / "demo.html")


def test_the_demo_learns_compares_and_reports(tmp_path: Path) -> None:
    target = tmp_path / "demo.html"
    text = run("demo", "--report", target, "--limit", 40, "--seed", 1).stdout
    for rule in ("margin", "centroid", "mistake", "perceptron"):
        assert rule in text
    assert str(target) in text.replace("\n", "")
    assert target.read_text().lower().startswith("<!doctype html>")


def test_the_demo_looks_at_its_target_first(tmp_path: Path) -> None:
    assert "is a directory" in one_line(run("demo", "--report", tmp_path, code=2))
