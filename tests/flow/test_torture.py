"""Flows that are killed at random moments learn each document once.

``python -m tests.flow.torture`` makes the trials, by the thousand if asked to.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from support.environment import missing
from support.servers import nats as nats_server
from support.servers import redis as redis_server
from tests.flow.torture.bugs import BUGS, HUNTS
from tests.flow.torture.trials import KINDS

pytestmark = pytest.mark.compiled

TRIALS = 9  # of each kind


def torture(*args, folder):
    if lacking := redis_server.needs() + nats_server.needs():
        missing(f"no crashes without {', '.join(lacking)}")
    command = [sys.executable, "-m", "tests.flow.torture", *map(str, args), "--dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=900)


def test_a_few_killed_flows_learn_each_document_once(tmp_path):
    run = torture("--trials", 1, folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    for kind in KINDS:
        assert f"{kind}: 1 trials, 0 failures" in run.stdout


@pytest.mark.trial
def test_each_document_is_learnt_once(tmp_path):
    run = torture("--trials", TRIALS, folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    for kind in KINDS:
        assert f"{kind}: {TRIALS} trials, 0 failures" in run.stdout
    deaths = map(int, re.findall(r" (\d+) deaths", run.stdout))
    assert sum(deaths) >= 50


@pytest.mark.trial
def test_bugs_are_caught(tmp_path):
    run = torture("--hunt", "--trials", 150, folder=tmp_path)
    assert run.returncode == 0, run.stdout
    for kind, bug in HUNTS:
        assert f"{kind}: {bug} was found" in run.stdout
    assert {bug for _, bug in HUNTS} == BUGS.keys()
