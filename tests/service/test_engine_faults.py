"""A service that is killed, or whose disk fails, comes back with all that it acknowledged.

``python -m tests.service.torture`` makes the trials, by the thousand if asked to.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.environment import missing
from tests.service.torture import disks

pytestmark = pytest.mark.compiled

FEW = 3  # trials of each kind
TRIALS = {"kill": 200, "power": 100, "errors": 45, "full": 12, "spoilt": 40}
BUGS = [
    ("kill", "acknowledge-first"),
    ("kill", "replay-too-much"),
    ("power", "no-flush"),
    ("power", "no-flush-of-snapshots"),
    ("power", "delete-first"),
    ("errors", "swallow-errors"),
    ("full", "swallow-errors"),
    ("spoilt", "no-digest"),
]


def torture(*args, folder):
    if lacking := disks.needs():
        missing(f"no faults without {', '.join(lacking)}")
    command = [sys.executable, "-m", "tests.service.torture", *map(str, args), "--dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=600)


def test_a_few_crashes_lose_nothing(tmp_path):
    run = torture("--trials", FEW, folder=tmp_path)
    assert run.returncode == 0, run.stdout
    for kind in TRIALS:
        assert f"{kind}: {FEW} trials, 0 failures" in run.stdout
    assert run.stdout.count(", 0 acknowledged") < len(TRIALS)


@pytest.mark.trial
@pytest.mark.parametrize("kind", TRIALS)
def test_nothing_that_was_acknowledged_is_lost(kind, tmp_path):
    run = torture(kind, "--trials", TRIALS[kind], folder=tmp_path)
    assert run.returncode == 0, run.stdout
    assert f"{kind}: {TRIALS[kind]} trials, 0 failures" in run.stdout
    assert ", 0 acknowledged" not in run.stdout


@pytest.mark.trial
@pytest.mark.parametrize(("kind", "bug"), BUGS)
def test_bugs_are_caught(kind, bug, tmp_path):
    run = torture(kind, "--trials", 120, "--stop", "--bug", bug, folder=tmp_path)
    assert run.returncode == 1, run.stdout
    assert ", 1 failures" in run.stdout
