"""A Redis stream, read as a consumer of a group: learning and acknowledging are one step.

When the snapshot that knows them is prepared, a script on the server (``scripts.COMMIT``)
acknowledges entries and stores the number of the snapshot, only if all of them are still ours. The
numbers are in a hash beside the stream, a field for each model. A restart with the same folder gets
entries again that were not acknowledged; entries that others left pending for long are claimed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import redis

from clasher.errors import CommitRefusedError, StreamError, UnreachableError
from clasher.io import protocol
from clasher.io.connectors.redis import scripts
from clasher.io.connectors.redis.stream import ZERO, Entry, StreamSource, StreamState, order
from clasher.io.protocol import Caller, Chunk, Party, Poison, Position, set_back
from clasher.io.records import Fields
from clasher.io.registry import Address

CLAIM: Final = 600.0  # seconds after which entries left pending by others are claimed


class RedisGroupSource(StreamSource, Party):
    """Entries of a group; each model folder is a consumer.

    Options: ``group=`` its name; ``claim=SECONDS`` after which entries that others left pending
    are claimed (600); and those of ``StreamSource``.
    """

    options = (*StreamSource.options, "group", "claim")
    _group: str

    def __init__(self, address: Address, fields: Fields) -> None:
        super().__init__(address, fields)
        self.party, self._lag = self, None
        self._claim = address.number("claim", CLAIM)
        self._markers = f"clasher:{{{self._key}}}:{self._group}"
        self._lock = threading.Lock()  # pending entries are not read while they are acknowledged
        self._begin(None, "")

    def _begin(self, position: Position, consumer: str) -> None:
        at = position or {"last": ZERO, "read": None, "through": 0}
        self._consumer = consumer
        self._last, self._read, self._through = at["last"], at["read"], at["through"]
        self._acknowledged: int = at["through"]
        self._unacknowledged: deque[bytes] = deque()  # in the order of delivery
        self._in_order = True  # claimed entries are not
        self._pending_after: str | None = ZERO  # None: nothing is pending any more
        self._claimed_at = 0.0

    def committed(self, caller: Caller) -> int:
        with self._server.answering() as client:
            return int(client.hget(self._markers, caller.id) or 0)

    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        through = self._acknowledged if position is None else position["through"]
        with self._lock, self._server.answering():
            mine = list(islice(self._unacknowledged, through - self._acknowledged))
            ascending = mine if self._in_order else sorted(mine, key=order)
            arguments = [self._group, caller.id, number, after, b" ".join(ascending)]
            try:
                keys = [self._key, self._markers]
                outcome, detail = self._server.run(scripts.COMMIT, keys, arguments)
            except redis.ResponseError as error:
                raise self._without_group(error) from error
            if outcome == b"lost":
                raise CommitRefusedError(
                    f"{self.name}: entry {detail.decode()} was given to another consumer"
                )
            if outcome == b"set back":
                raise StreamError(
                    f"{self.name}: was set back: it knows snapshot {int(detail)} of this model, "
                    f"not {after}. Restore the server, or begin a new folder and a new group with "
                    f"this model: --initial-model"
                )
            for _ in mine:
                self._unacknowledged.popleft()
            self._acknowledged = through
            self._in_order = self._in_order or not self._unacknowledged
            if detail > len(self._unacknowledged):
                # A late command of a dead process delivered something.
                self._pending_after = ZERO

    def open(self, position: Position, caller: Caller) -> None:
        self._begin(position, caller.id)
        with self._server.answering() as client:
            about, groups = self._server.together(
                ["XINFO STREAM", self._key], ["XINFO GROUPS", self._key]
            )
            state, group, gone = self._states(about, groups)
            if group is not None:
                last = group["last-delivered-id"].decode()
                if order(last) < order(self._last):
                    raise set_back(self.name, self._last, last)
                self._accept(gone)
            elif not self._create(state, position):
                self.open(position, caller)
                return
            client.xgroup_createconsumer(self._key, self._group, self._consumer)

    def _states(self, about: Any, groups: Any) -> tuple[StreamState, dict[str, Any] | None, int]:
        """Return the stream, the group if it exists, and how many entries it lost unread."""
        state = StreamState.of(about, self.name) or StreamState()
        for group in [] if isinstance(groups, redis.ResponseError) else groups:
            if group["name"] == self._group.encode():
                read = group.get("entries-read")
                last = group["last-delivered-id"].decode()
                return state, group, 0 if read is None else state.trimmed(last, read)
        return state, None, 0

    def _create(self, state: StreamState, position: Position) -> bool:
        """Create the group, or recreate a deleted one; False if somebody else was faster."""
        if position is None:
            last, read = state.start(at_end=self._begins_at_end)
        else:
            last, read = self._last, self._read
            others = set(self._server.client.hkeys(self._markers)) - {self._consumer.encode()}
            if others:
                raise StreamError(
                    f"{self.name}: the group was deleted, and {len(others)} more have read with "
                    f"it: nobody knows what they had not read. Create it again at the entry that "
                    f"all had reached: XGROUP CREATE {self._key} {self._group} ID"
                )
            if order(state.last) < order(last):
                raise set_back(self.name, last, state.last)
            if read is not None and (gone := state.trimmed(last, read)):
                raise protocol.lost(self.name, gone)
        counted = [] if read is None else ["ENTRIESREAD", read]
        try:
            self._server.client.execute_command(
                "XGROUP CREATE", self._key, self._group, last, "MKSTREAM", *counted
            )
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise
            return False
        return True

    def read(self, most: int, seconds: float) -> Chunk | None:
        try:
            return super().read(most, seconds)
        except UnreachableError:
            # A lost answer may have delivered something, which is pending now.
            self._pending_after = ZERO
            raise

    def _next(self, most: int) -> Chunk | None:
        with self._lock:
            try:
                return self._pending(most) or self._left_by_others(most) or self._new(most)
            except redis.ResponseError as error:
                raise self._without_group(error) from error

    def _pending(self, most: int) -> Chunk | None:
        """Read entries that were delivered before, and that we do not hold."""
        while self._pending_after is not None:
            arguments = [most, self._pending_after, self._group, self._consumer]
            page = self._entries(self._server.run(scripts.READ, [self._key], arguments))
            self._pending_after = page[-1][0].decode() if page else None
            in_hand = set(self._unacknowledged)
            found = [entry for entry in page if entry[0] not in in_hand]
            gone = [own for own, flat in found if not flat]
            self._accept(len(gone), protocol.TRIMMED_PENDING)
            if found:
                entries = [entry for entry in found if entry[1]]
                return self._delivered(entries, gone, self._trimmed_letters(gone))
        return None

    def _left_by_others(self, most: int) -> Chunk | None:
        """Claim entries that others got long ago and have not acknowledged."""
        now = time.monotonic()
        if now - self._claimed_at < self._claim / 4:
            return None
        self._claimed_at = now
        arguments = [self._group, self._consumer, int(self._claim * 1000), most]
        taken, gone = self._server.run(scripts.CLAIM, [self._key], arguments)
        self._accept(len(gone), protocol.TRIMMED_PENDING)
        if gone:
            self._server.client.xack(self._key, self._group, *gone)
        # We hold what was taken from us and comes back: nobody else can commit it.
        in_hand = set(self._unacknowledged)
        entries = [(own, flat) for own, flat in taken if own not in in_hand]
        if not entries and not gone:
            return None
        return self._delivered(entries, [], self._trimmed_letters(gone))

    def _new(self, most: int) -> Chunk | None:
        """Read new entries, and count in the same step how many before them were trimmed."""
        about, groups, answer = self._server.together(
            ["XINFO STREAM", self._key], ["XINFO GROUPS", self._key],
            ["EVAL", scripts.READ, 1, self._key, most, ">", self._group, self._consumer],
        )  # fmt: skip
        entries = self._entries(answer)
        state, group, gone = self._states(about, groups)
        assert group is not None
        self._accept(gone)
        if gone:
            self._server.run(scripts.REBASE, [self._key], [self._group, gone])
        lag, read, last = group.get("lag"), group.get("entries-read"), group["last-delivered-id"]
        self._end = state.last
        self._lag = None if lag is None else max(0, lag - len(entries))
        self._read = None if read is None else read + gone + len(entries)
        if not entries and not gone:
            return None
        letters = [protocol.lost_letter(self.name, last.decode(), gone)] if gone else []
        return self._delivered(entries, [], letters)

    def _delivered(
        self, entries: Sequence[Entry], gone: Sequence[bytes], letters: Sequence[Poison]
    ) -> Chunk:
        """Note the ids to acknowledge, also those of entries that are gone."""
        ids = [*gone, *(own for own, _ in entries)]
        self._unacknowledged.extend(ids)
        self._through += len(ids)
        if ids:
            newest = max([*gone[-1:], ids[-1]], key=order).decode()
            self._in_order = self._in_order and not gone and order(ids[0]) > order(self._last)
            self._last = max(self._last, newest, key=order)
        return self._chunk(entries, letters)

    def _position(self) -> Position:
        return super()._position() | {"through": self._through}

    def _trimmed_letters(self, gone: Sequence[bytes]) -> list[Poison]:
        return [
            Poison(self.name, own.decode(), "it was trimmed before it was learnt") for own in gone
        ]

    def _without_group(self, error: redis.ResponseError) -> Exception:
        if not str(error).startswith("NOGROUP"):
            return error
        return CommitRefusedError(f"{self.name}: the group was deleted")
