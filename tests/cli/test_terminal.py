import io
import os
import pty
import shlex
import subprocess
import sys

import numba
import pytest

from clasher.cli import terminal
from clasher.kernels import compile_notice


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    """Nothing was message yet, and something is to be message at once."""
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
    with terminal.compiling(quiet=True):
        compile_something()
    assert capsys.readouterr().err == ""


def test_all_kernels_are_ready_after_preparing(capsys):
    from clasher import Clasher

    terminal.prepare(quiet=True)
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
        assert terminal.shows_progress(quiet=False)
        assert not terminal.shows_progress(quiet=True)
        monkeypatch.setenv("TERM", "dumb")
        assert not terminal.shows_progress(quiet=False)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        assert not terminal.shows_progress(quiet=False)


def test_no_progress_where_output_is_piped(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Screen())
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert not terminal.shows_progress(quiet=False)
    for gone in (None, io.StringIO()):
        monkeypatch.setattr(sys, "stdout", gone)
        assert not terminal.shows_progress(quiet=False)


def test_on_terminal(monkeypatch):
    master, slave = pty.openpty()
    with os.fdopen(master, "rb", 0), os.fdopen(slave, "w") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        assert terminal.on_terminal()
    monkeypatch.setattr(sys, "stdout", None)
    assert not terminal.on_terminal()


AFTER_WARM_UP = """
from numba.core import event
from clasher import Clasher
from clasher.cli.terminal import warm_up
from clasher.evaluate import evaluate

warm_up()
with event.install_recorder("numba:compile") as compiled:
    for rule in ("margin", "centroid", "mistake", "perceptron"):
        model = Clasher(dimensions=64, rule=rule)
        labels = [{f"label {number}"} for number in range(100)]
        evaluate(model, [(["some words"] * 100, labels)])
        model.explain("some words")
        model.probabilities("some words")
print(sorted({entry.data["dispatcher"].py_func.__name__ for _, entry in compiled.buffer}))
"""


@pytest.mark.trial  # compiles everything; the test above is the quick one
@pytest.mark.compiled
def test_nothing_is_left_to_compile_after_the_warm_up(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", AFTER_WARM_UP],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


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
