import io
import json
import os
import pty
import re
import shlex
import stat
import subprocess
import sys

import click
import numba
import pytest

from clasher.cli import terminal
from clasher.cli.commands.evaluate import show_progress
from clasher.cli.terminal import Bar, check_outputs, write_json
from clasher.durable import replace_text
from clasher.errors import SettingError
from clasher.evaluate import Progress
from clasher.kernels import compile_notice
from support.environment import nobody
from tests.cli.command import SMALL, start, stream


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    """Show the notice at the first compilation, at once."""
    monkeypatch.setattr(compile_notice, "notice", compile_notice.Notice())
    monkeypatch.setattr(compile_notice, "PATIENCE", 0.0)
    compile_notice.watch()


def compile_something():
    def a_kernel(x):
        return x + 1

    a_kernel.__module__ = "clasher.kernels.made_up"
    numba.njit(a_kernel)(1)


@pytest.mark.compiled
@pytest.mark.usefixtures("impatient")
def test_compiling_is_announced_once(capsys):
    with terminal.compiling():
        compile_something()
        compile_something()
    assert capsys.readouterr().err == f"{compile_notice.TEXT}\n"
    compile_something()
    assert capsys.readouterr().err == ""


def quiet():
    """Act as a command that was given --quiet."""
    context = click.Context(click.Command("learn"))
    context.meta[terminal.QUIET] = True
    return context.scope()


@pytest.mark.compiled
@pytest.mark.usefixtures("impatient")
def test_compiling_is_announced_by_a_spinner_on_a_terminal(monkeypatch, tmp_path):
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    with open(tmp_path / "out", "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        with terminal.compiling():
            compile_something()
    assert compile_notice.TEXT in screen.getvalue()


@pytest.mark.usefixtures("impatient")
def test_nothing_is_announced_when_nothing_is_compiled_or_quiet(capsys):
    with terminal.compiling():
        pass
    with quiet(), terminal.compiling():
        compile_something()
    assert capsys.readouterr().err == ""


def test_all_kernels_are_ready_after_preparing(capsys):
    from clasher import Clasher

    with quiet():
        terminal.prepare()
    with terminal.compiling():
        model = Clasher(dimensions=16, rule="centroid")
        model.step_many(["wheat"], [{"grain"}])
        model.predict_many(["wheat"])
    assert capsys.readouterr().err == ""


def test_progress_is_for_someone_who_looks(monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Screen())
    with open(tmp_path / "out", "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert terminal.shows_progress()
        with quiet():
            assert not terminal.shows_progress()
        monkeypatch.setenv("TERM", "dumb")
        assert not terminal.shows_progress()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        assert not terminal.shows_progress()


def test_no_progress_where_output_is_piped(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Screen())
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert not terminal.shows_progress()
    for gone in (None, io.StringIO()):
        monkeypatch.setattr(sys, "stdout", gone)
        assert not terminal.shows_progress()


def test_on_terminal(monkeypatch):
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", 0), os.fdopen(slave, "w") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        assert terminal.on_terminal()
    monkeypatch.setattr(sys, "stdout", None)
    assert not terminal.on_terminal()


def test_the_program_can_be_copied_into_a_shell_from_any_folder(tmp_path, monkeypatch):
    own = tmp_path / "my own" / "bin" / "clasher"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(own)])
    assert terminal.program() == "'my own/bin/clasher'"
    monkeypatch.setattr(sys, "argv", ["/somewhere/clasher/__main__.py"])
    monkeypatch.setattr(sys, "executable", "/my own/python")
    assert terminal.program() == "'/my own/python' -m clasher"


def test_the_program_is_called_as_it_can_be_called_again(tmp_path, monkeypatch):
    own = tmp_path / ".venv" / "bin" / "clasher"
    own.parent.mkdir(parents=True)
    own.write_text("")
    own.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(own)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert terminal.program() == ".venv/bin/clasher"
    monkeypatch.chdir("/")
    assert terminal.program() == str(own)[1:]
    monkeypatch.setenv("PATH", str(own.parent))
    assert terminal.program() == "clasher"
    monkeypatch.setattr(sys, "argv", ["/somewhere/clasher/__main__.py"])
    assert terminal.program() == f"{shlex.quote(sys.executable)} -m clasher"


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    target = tmp_path / "figures.json"
    write_json(str(target), {"label": "Öl", "f1": 0.5})
    assert json.loads(target.read_text()) == {"label": "Öl", "f1": 0.5}

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        write_json(str(target), {})
    assert json.loads(target.read_text()) == {"label": "Öl", "f1": 0.5}
    assert os.listdir(tmp_path) == ["figures.json"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    replace_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "text"


def test_a_device_stays_a_device():
    replace_text("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_labels_need_not_be_unicode_text(tmp_path):
    target = tmp_path / "figures.json"
    write_json(str(target), {"a\udcff": 1})
    assert json.loads(target.read_text()) == {"a\udcff": 1}


def test_permissions_are_looked_at(closed_folder):
    with nobody(), pytest.raises(SettingError, match="permission denied"):
        check_outputs({"--json": str(closed_folder / "figures.json")})


# ── progress ─────────────────────────────────────────────────────────────────────────────────────


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
        """Close the screen, and return what was written to it."""
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
