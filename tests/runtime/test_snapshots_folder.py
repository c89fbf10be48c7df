"""A second process on the same folder is refused, however long the first was paused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

HOLDER = """
import sys
from clasher.runtime.snapshots import LockedFolder
folder = LockedFolder(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
INTRUDER = """
import sys
from clasher.errors import FolderError
if len(sys.argv) > 2:
    import fcntl
    fcntl.flock = lambda *given: None
from clasher.runtime.snapshots import LockedFolder
try:
    LockedFolder(sys.argv[1])
except FolderError as error:
    sys.exit(str(error))
"""


@pytest.fixture
def holder(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.communicate()


def intrude(folder, *args):
    command = [sys.executable, "-c", INTRUDER, str(folder), *args]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_second_process_is_refused_also_while_the_first_is_paused(holder, folder):
    for pause in (signal.SIGCONT, signal.SIGSTOP):
        os.kill(holder.pid, pause)
        refused = intrude(folder)
        assert refused.returncode == 1
        assert f"in use by process {holder.pid}; stop that process first" in refused.stderr


def test_the_folder_is_free_when_the_first_has_died(holder, folder):
    holder.kill()
    holder.wait()
    assert intrude(folder).returncode == 0


def test_a_lock_that_does_not_lock_fails_these_tests(holder, folder):
    assert intrude(folder, "without a lock").returncode == 0
