"""The notice about compiling comes once, and only if it takes long."""

import logging
import os
import subprocess
import sys

import pytest

from clasher.kernels import compile_notice

ONE_KERNEL = """
import logging, sys
from clasher.kernels import compile_notice
compile_notice.PATIENCE = float(sys.argv[1])
for level in sys.argv[2:]:
    logging.getLogger("clasher").setLevel(level)
from clasher.kernels.margin import sigmoid
assert sigmoid(0.0) == 0.5
assert sigmoid(0) == 0.5  # compiled once more, for integers
"""


@pytest.fixture
def stderr_of(tmp_path):
    """Run a kernel in a new process, with warnings as errors; return its standard error."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", ONE_KERNEL, *arguments],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == ""
        return done.stderr

    return run


@pytest.mark.compiled
def test_the_notice_comes_once_and_not_for_cached_kernels(stderr_of):
    assert stderr_of("0") == f"{compile_notice.TEXT}\n"
    assert stderr_of("0") == ""


@pytest.mark.compiled
def test_a_higher_log_level_hides_the_notice(stderr_of):
    assert stderr_of("0", "ERROR") == ""


@pytest.mark.compiled
def test_a_short_wait_gives_no_notice(stderr_of):
    assert stderr_of("600") == ""


def test_the_notice_comes_while_compiling(monkeypatch, caplog):
    monkeypatch.setattr(compile_notice, "PATIENCE", 0.01)
    notice = compile_notice.Notice()
    notice.started()
    notice.started()  # a kernel that it calls
    notice._timer.join(60)
    notice.ended()
    notice.ended()
    notice.started()
    notice.ended()
    assert caplog.record_tuples == [
        ("clasher.kernels.compile_notice", logging.WARNING, compile_notice.TEXT)
    ]


def test_short_compilations_add_up(monkeypatch, caplog):
    now = iter([0.0, 1.5, 10.0, 11.0, 20.0])
    monkeypatch.setattr(compile_notice, "PATIENCE", 2.0)
    monkeypatch.setattr(compile_notice, "monotonic", lambda: next(now))
    notice = compile_notice.Notice()
    for _ in range(2):
        notice.started()
        notice.ended()
        assert caplog.messages == []
    notice.started()
    assert caplog.messages == [compile_notice.TEXT]


def test_kernels_of_other_packages_give_no_notice(monkeypatch, caplog):
    import numba

    monkeypatch.setattr(compile_notice, "notice", compile_notice.Notice())
    monkeypatch.setattr(compile_notice, "PATIENCE", 0.0)
    compile_notice.watch()
    numba.njit(lambda x: x + 1)(1)
    assert caplog.messages == []
