"""Flows and brokers that are killed at random moments: each document is learnt, and written, once.

``python -m tests.io.connectors.kafka.torture`` runs the same trials by the thousand.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.io.connectors.kafka.torture.bugs import HUNTS

pytestmark = pytest.mark.compiled


def torture(*args, at=None):
    known = {} if at is None else {"CLASHER_KAFKA_AT": at.servers}
    command = [sys.executable, "-m", "tests.io.connectors.kafka.torture", *map(str, args)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **known}, timeout=900
    )


def survives(run, **trials):
    """Whether all went well, and there was something to survive."""
    assert run.returncode == 0, run.stdout + run.stderr
    for kind, count in trials.items():
        deaths = re.search(
            rf"^{kind}: {count} trials, 0 failures, .* (\d+) deaths", run.stdout, re.M
        )
        assert int(deaths[1]) >= count // 2, run.stdout


def finds_all(run, kind):
    assert run.returncode == 0, run.stdout + run.stderr
    for one, bug in HUNTS:
        assert one != kind or f"{kind}: {bug} was found" in run.stdout


@pytest.mark.mock
def test_each_document_is_learnt_once():
    survives(torture("mock", "--trials", 10), mock=10)


@pytest.mark.trial
@pytest.mark.mock
def test_bugs_are_caught():
    finds_all(torture("mock", "--hunt", "--trials", 60), "mock")


def test_each_document_is_learnt_and_written_once(server):
    survives(torture("once", "--trials", 20, at=server), once=20)


def test_each_document_is_learnt_by_one_of_two_who_come_and_go(server):
    survives(torture("rebalances", "--trials", 3, at=server), rebalances=3)


def test_a_broker_may_be_killed_and_restarted_too(server):
    survives(torture("broker", "--trials", 4), broker=4)


def test_bugs_of_transactions_are_caught(server):
    finds_all(torture("once", "--hunt", "--trials", 60, at=server), "once")
