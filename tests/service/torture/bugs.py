"""Planted bugs, to show that the trials find them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from clasher import Clasher, durable
from clasher.runtime import snapshots
from clasher.runtime.snapshots import Snapshots
from clasher.service import recovery
from clasher.service.log import DatabaseError, Log
from clasher.service.pipeline import Pipeline
from clasher.service.structs import Receipt


def acknowledge_first() -> None:
    """Acknowledge requests before they are on disk."""
    commit = Pipeline._commit

    def early(self: Pipeline, requests: Any) -> None:
        for request in requests:
            settled = request.future
            settled.set_result(Receipt(version=self._log.next_seq + requests.index(request)))
            request.future = type(settled)()
        commit(self, requests)

    Pipeline._commit = early  # type: ignore[method-assign]


def no_flush() -> None:
    """Commit without flushing."""
    set_up = Log._set_up

    def careless(self: Log, *given: Any) -> None:
        set_up(self, *given)
        self._db.pragma("synchronous", 0)

    Log._set_up = careless  # type: ignore[method-assign]


def no_flush_of_snapshots() -> None:
    """Rename a snapshot before it is flushed, then delete the one it replaces."""
    os.fsync = lambda descriptor: None


def delete_first() -> None:
    """Delete the existing snapshots, and their log, before the next one is durable."""
    write = Snapshots.write

    def hasty(self: Snapshots, state: Any) -> int:
        for version in self.versions():
            snapshots.shutil.rmtree(self._path(version))
        durable.flush_folder(self.folder)
        time.sleep(0.02)  # a larger model takes longer to write
        write(self, state)
        return int(state.seq)

    Snapshots.write = hasty  # type: ignore[method-assign]


def replay_too_much() -> None:
    """Replay the last entry of a snapshot again."""
    replay = recovery._replay

    def eager(log: Log, state: Any, *more: Any) -> int:
        state.seq = max(log.dropped_through, state.seq - 1, 0)
        return replay(log, state, *more)

    recovery._replay = eager


def swallow_errors() -> None:
    """Ignore errors of the log."""
    transaction = Log.transaction

    @contextmanager
    def forgiving(self: Log) -> Any:
        try:
            with transaction(self):
                yield
        except DatabaseError:
            return

    Log.transaction = forgiving  # type: ignore[method-assign, assignment]


def no_digest() -> None:
    """Load snapshots without checking their digests."""
    snapshots._unsealed = lambda raw: snapshots.msgspec.json.decode(raw.partition(b"\n")[2])
    Snapshots._read = _read_anything  # type: ignore[method-assign]


def _read_anything(self: Snapshots, version: int, revive: Any) -> Any:
    path = self._path(version)
    content = snapshots._unsealed((path / snapshots.STATE).read_bytes())
    return revive(content["state"], Clasher.load(path / snapshots.MODEL))


BUGS: dict[str, Callable[[], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        acknowledge_first, no_flush, no_flush_of_snapshots, delete_first, replay_too_much,
        swallow_errors, no_digest,
    )
}  # fmt: skip
"""The bugs by their names on the command line."""
