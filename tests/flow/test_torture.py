"""Flows that are killed at random moments learn each document once.

Each trial is made by ``python -m tests.flow.torture``, which runs them by the thousand.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import missing
from tests.flow import nats_server, redis_server

pytestmark = pytest.mark.compiled

TRIALS = {
    "files": 12,
    "folders": 8,
    "redis": 16,
    "broker": 10,
    "joining": 8,
    "claims": 6,
    "nats": 8,
}
BUGS = [
    ("files", "forget-positions"),
    ("files", "run-ahead"),
    ("files", "write-on"),
    ("folders", "forget-positions"),
    ("redis", "newest-snapshot"),
    ("redis", "oldest-snapshot"),
    ("redis", "commit-first"),
    ("redis", "forget-pending"),
    ("broker", "acknowledge-on-delivery"),
    ("joining", "run-ahead"),
    ("claims", "own-whatever"),
    ("nats", "forget-positions"),
]


def torture(*args, folder):
    if lacking := redis_server.needs() + nats_server.needs():
        missing(f"no crashes without {', '.join(lacking)}")
    command = [sys.executable, "-m", "tests.flow.torture", *map(str, args), "--dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=600)


@pytest.mark.parametrize("kind", TRIALS)
def test_each_document_is_learnt_once(kind, tmp_path):
    run = torture(kind, "--trials", TRIALS[kind], folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{kind}: {TRIALS[kind]} trials, 0 failures" in run.stdout
    assert ", 0 deaths" not in run.stdout


@pytest.mark.parametrize(("kind", "bug"), BUGS)
def test_bugs_are_caught(kind, bug, tmp_path):
    run = torture(kind, "--trials", 100, "--stop", "--bug", bug, folder=tmp_path)
    assert run.returncode == 1, run.stdout
    assert ", 1 failures" in run.stdout
