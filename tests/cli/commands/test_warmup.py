from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.cli.command import run

pytestmark = pytest.mark.compiled


def warm_up(folder, *options):
    """Run the command in a new process; return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "clasher", "warmup", *options],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == ""
    return [line for line in done.stderr.splitlines() if "compiling" not in line]


@pytest.mark.trial  # compiles
def test_a_second_run_has_nothing_left_to_compile(tmp_path):
    settings = ("--rule", "perceptron", "--weighting", "tf")
    (said,) = warm_up(tmp_path, *settings)
    compiled = re.fullmatch(
        rf"compiled (\d+) kernels in \d+\.\d s of CPU time, kept in {tmp_path}/.+", said
    )
    assert int(compiled[1]) > 10
    (said,) = warm_up(tmp_path, *settings)
    assert said.startswith(f"nothing left to compile: {compiled[1]} kernels in {tmp_path}/")


def test_all_rules_leave_no_rule_to_choose():
    for option in (("--rule", "centroid"), ("--paper", "1")):
        done = run("warmup", "--all-rules", *option, code=2)
        assert "leave it out" in done.output


def test_without_the_compiler_there_is_nothing_to_do(monkeypatch):
    from numba import config

    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    assert "NUMBA_DISABLE_JIT" in run("warmup", code=2).output
