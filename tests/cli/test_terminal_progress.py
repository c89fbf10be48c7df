import os
import pty
import re
import subprocess

import pytest

from clasher.cli.commands.evaluate import show_progress
from clasher.cli.terminal import Bar
from clasher.evaluate import Progress
from tests.cli.command import SMALL, start, stream

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal of 80 columns in the place of standard error."""

    def __init__(self, monkeypatch):
        self.master, slave = pty.openpty()
        self.screen = os.fdopen(slave, "w")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr("sys.stderr", self.screen)

    def shown(self):
        """What it was sent; ends it."""
        with self.screen:
            self.screen.write("@@@")
            self.screen.flush()
            text = b""
            while not text.endswith(b"@@@"):
                text += os.read(self.master, 65536)
        os.close(self.master)
        return CONTROL.sub("", text.decode()[:-3])


def reached(**figures):
    return Progress(
        documents=figures.get("documents", 50),
        judged=50,
        labels=3,
        seconds=1.0,
        documents_per_second=1234.5,
        state_bytes=1000,
        memory_bytes=312_000_000,
        macro_f1=0.4123,
        micro_f1=0.5678,
        alarms=figures.get("alarms", 0),
    )


def test_an_evaluation_shows_rate_figures_and_memory(monkeypatch):
    terminal = Terminal(monkeypatch)
    with Bar(100, shown=True) as bar:
        show_progress(bar, reached())
    assert "50 docs  1,234/s  macro .412  micro .568  312 MB" in terminal.shown()


def test_alarms_are_shown(monkeypatch):
    terminal = Terminal(monkeypatch)
    with Bar(100, shown=True) as bar:
        show_progress(bar, reached(alarms=3))
    assert "micro .568  3 alarms" in terminal.shown()


@pytest.mark.parametrize("total", [None, 10, 1_000_000_000])
def test_the_line_stays_short_of_the_edge(total, monkeypatch):
    """At the edge, the terminal's own ^C would break the line."""
    terminal = Terminal(monkeypatch)
    with Bar(total, shown=True) as bar:
        show_progress(bar, reached(documents=123_456_789))
    lines = re.split(r"[\r\n]+", terminal.shown())
    assert 60 < max(len(line.rstrip()) for line in lines) <= 77


def test_facts_are_shown_between_rate_and_memory(monkeypatch):
    terminal = Terminal(monkeypatch)
    with Bar(10, shown=True) as bar:
        bar.advance(3, lambda: ["1 label"])
        bar.advance(4, lambda: ["1 label"])
    assert bar.documents == 7
    assert bar.rate == 7 / bar.seconds
    assert re.search(r"7 docs  [\d,]+/s  1 label  [\d.]+ [MG]B", terminal.shown())


def test_predicting_shows_rate_and_memory(monkeypatch):
    terminal = Terminal(monkeypatch)
    with Bar(10, shown=True) as bar:
        bar.advance(5)
    assert re.search(r"5 docs  [\d,]+/s  [\d.]+ [MG]B", terminal.shown())


def test_a_bar_nobody_sees_counts_all_the_same(monkeypatch):
    terminal = Terminal(monkeypatch)
    with Bar(10, shown=False) as bar:
        bar.advance(5)
    assert bar.documents == 5
    assert bar.rate > 0
    assert Bar(10, shown=False).rate == 0
    assert terminal.shown() == ""


def on_a_terminal(*args, **streams):
    """Run a command whose standard error is a terminal; what is shown there."""
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", 0) as screen:
        child = start(*args, stdin=subprocess.DEVNULL, stderr=slave, **streams)
        os.close(slave)
        text = b""
        try:
            while block := screen.read(65536):
                text += block
        except OSError:  # how Linux says that the other end is closed
            pass
        child.communicate()
    assert child.returncode == 0
    return text.decode()


def test_progress_is_on_the_terminal_unless_output_is_piped_or_it_is_to_be_quiet(tmp_path):
    args = ("evaluate", stream(tmp_path), *SMALL)
    with open(tmp_path / "table.txt", "wb") as table:
        assert "docs" in on_a_terminal(*args, stdout=table)
        assert "docs" not in on_a_terminal(*args, "--quiet", stdout=table)
    assert "docs" not in on_a_terminal(*args, stdout=subprocess.PIPE)
    assert "docs" not in (tmp_path / "table.txt").read_text()
