"""Planted bugs, to show that the trials find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clasher.flow.flow import Flow
from clasher.flow.folder import FlowFolder
from clasher.flow.state import FlowState
from clasher.io.connectors.files import FileSink
from clasher.io.connectors.redis import scripts
from clasher.io.connectors.redis.stream import RedisGroupSource
from clasher.runtime.snapshots import Snapshots


def forget_positions() -> None:
    """Leave the positions out of snapshots."""
    to_plain = FlowState.to_plain
    FlowState.to_plain = lambda self: to_plain(self) | {"positions": {}}  # type: ignore[method-assign]


def run_ahead() -> None:
    """Save the position that was read, not the one that was learnt."""
    newest: dict[str, Any] = {}
    prepare, learn = Flow._prepare, FlowState.learn

    def noting(self: Flow, chunk: Any) -> Any:
        newest[self._documents.name] = chunk.position
        return prepare(self, chunk)

    def early(state: FlowState, documents: Any, source: str, **more: Any) -> Any:
        predicted = learn(state, documents, source, **more)
        state.positions[source] = newest[source]
        return predicted

    Flow._prepare, FlowState.learn = noting, early  # type: ignore[method-assign]


def write_on() -> None:
    """Keep outputs after the position of the snapshot, which are written again."""
    opened = FileSink.open
    FileSink.open = lambda self, position, caller: opened(self, None, caller)  # type: ignore[method-assign]


def newest_snapshot() -> None:
    """Use the newest snapshot, even if the broker has not agreed to it."""

    def believing(self: Snapshots) -> None:
        if (prepared := self.prepared()) is not None:
            self.confirm(prepared)

    Snapshots.discard = believing  # type: ignore[method-assign]
    FlowFolder._compare = lambda *given: None  # type: ignore[method-assign]


def oldest_snapshot() -> None:
    """Discard a prepared snapshot, even if the broker has agreed to it."""
    recover = FlowFolder.recover

    def forgetful(self: FlowFolder, *given: Any) -> FlowState:
        self.snapshots.discard()
        return recover(self, *given)

    FlowFolder.recover = forgetful  # type: ignore[method-assign]
    FlowFolder._compare = lambda *given: None  # type: ignore[method-assign]


def commit_first() -> None:
    """Acknowledge entries before their snapshot is on disk."""
    commit = Flow._commit

    def hasty(self: Flow, **given: Any) -> bool:
        party = self._party
        if party is not None and self._news:
            after = self._state.agreed.get(party.name, 0)
            position = self._state.positions.get(self._documents.name)
            party.commit(self._caller, self._state.seq + 1, after, position)
        return commit(self, **given)

    Flow._commit = hasty  # type: ignore[method-assign]
    FlowFolder._compare = lambda *given: None  # type: ignore[method-assign]


def acknowledge_on_delivery() -> None:
    """Acknowledge entries when they are read."""
    delivered = RedisGroupSource._delivered

    def eager(self: RedisGroupSource, entries: Any, gone: Any, letters: Any) -> Any:
        for own, _ in entries:
            self._server.client.xack(self._key, self._group, own)
        chunk = delivered(self, entries, gone, letters)
        self._unacknowledged.clear()
        self._acknowledged = self._through
        return chunk

    RedisGroupSource._delivered = eager  # type: ignore[method-assign]


def forget_pending() -> None:
    """Skip pending entries."""
    RedisGroupSource._pending = lambda self, most: None  # type: ignore[method-assign]


def own_whatever() -> None:
    """Acknowledge entries of other consumers, too."""
    scripts.COMMIT = scripts.COMMIT.replace("if at <= #ids then", "if false then")  # type: ignore[misc]


HUNTS = [
    ("files", "forget-positions"), ("files", "run-ahead"), ("files", "write-on"),
    ("folders", "forget-positions"), ("redis", "newest-snapshot"), ("redis", "oldest-snapshot"),
    ("redis", "commit-first"), ("redis", "forget-pending"), ("broker", "acknowledge-on-delivery"),
    ("joining", "run-ahead"), ("claims", "own-whatever"), ("nats", "forget-positions"),
]  # fmt: skip
"""Which trials find which bugs."""

BUGS: dict[str, Callable[[], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        forget_positions, run_ahead, write_on, newest_snapshot, oldest_snapshot, commit_first,
        acknowledge_on_delivery, forget_pending, own_whatever,
    )
}  # fmt: skip
"""The bugs by their names on the command line."""
