"""A Redis stream, read as one of a group: what was learnt and what is acknowledged are one.

Entries are acknowledged when the snapshot that knows them is prepared, in one step with the number
of that snapshot, and only if all of them are still ours: a script on the server does that
(``redis_scripts.COMMIT``). The numbers are in a hash beside the stream, a field for each model.
What was delivered and not acknowledged is delivered again to whoever starts with the same folder;
what others have left pending for long is taken over.
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
from clasher.io.connectors.redis import stream as scripts
from clasher.io.connectors.redis.stream import (
    OPTIONS,
    READING,
    ZERO,
    Entries,
    Entry,
    Group,
    Server,
    Stand,
    entries_of,
    has_no_group,
    identity_of,
    is_same,
    order,
)
from clasher.io.protocol import (
    TRIMMED,
    TRIMMED_PENDING,
    Caller,
    Chunk,
    Party,
    Poison,
    Position,
    Source,
    lost,
    set_back,
)
from clasher.io.records import Fields
from clasher.io.registry import Address

CLAIM: Final = 600.0  # seconds after which what another has left pending is taken over


class GroupSource(Source, Party):
    """Entries as one consumer of a group; each model folder is a consumer.

    Options: ``group=`` its name; ``claim=SECONDS`` after which entries that others have left
    pending are taken over (600); ``start=end`` and ``on_loss=skip`` as in ``redis_stream``;
    ``field=`` and those of ``redis_server``.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["group", "claim", *READING, *OPTIONS])
        self._server = Server(address)
        self._key, self._group = self._server.key, address.options["group"]
        self.name = f"{self._server.name}, group {self._group}"
        self.fields, self.party = fields, self
        self._claim = address.number("claim", CLAIM)
        self._begins_at_end = address.choice("start", ["beginning", "end"]) == "end"
        self._skips = address.choice("on_loss", ["stop", "skip"]) == "skip"
        self._entries = Entries(self.name, fields, address)
        self._markers = f"clasher:{{{self._key}}}:{self._group}"
        self._lock = threading.Lock()  # what is pending is not read while it is acknowledged
        self._lag: int | None = None
        self._end = ZERO
        self._begin(None, "")

    def _begin(self, position: Position, consumer: str) -> None:
        at = position or {"last": ZERO, "read": None, "through": 0}
        self._consumer = consumer
        self._last, self._read, self._through = at["last"], at["read"], at["through"]
        self._acknowledged: int = at["through"]
        self._unacknowledged: deque[bytes] = deque()  # in the order in which they were delivered
        self._in_order = True  # as they are delivered: what was claimed is not
        self._pending_after: str | None = ZERO  # None: what was pending is all delivered
        self._claimed_at = 0.0

    # ── who must agree ───────────────────────────────────────────────────────────────────────

    def committed(self, caller: Caller) -> int:
        """The number that the server remembers."""
        with self._server.answering() as client:
            return int(client.hget(self._markers, caller.id) or 0)

    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        """Acknowledge what was learnt, if it is still ours."""
        through = self._acknowledged if position is None else position["through"]
        with self._lock, self._server.answering():
            mine = list(islice(self._unacknowledged, through - self._acknowledged))
            ids = b" ".join(mine if self._in_order else _ascending(mine))
            arguments = [self._group, caller.id, number, after, ids]
            try:
                said, what = self._server.run(scripts.COMMIT, [self._key, self._markers], arguments)
            except redis.ResponseError as error:
                raise self._without_group(error) from error
            self._judge(said, what, after)
            for _ in mine:
                self._unacknowledged.popleft()
            self._acknowledged = through
            self._in_order = self._in_order or not self._unacknowledged
            if what > len(self._unacknowledged):
                # A process that is gone may have had a word on its way that delivered something.
                self._pending_after = ZERO

    def _judge(self, said: bytes, what: Any, after: int) -> None:
        if said == b"lost":
            raise CommitRefusedError(
                f"{self.name}: entry {what.decode()} was given to another consumer"
            )
        if said == b"set back":
            raise StreamError(
                f"{self.name}: was set back: it remembers snapshot {int(what)} of this model, not "
                f"{after}. Restore the server, or begin a new folder and a new group with this "
                f"model: --begin-with"
            )

    # ── opening ──────────────────────────────────────────────────────────────────────────────

    def open(self, position: Position, caller: Caller) -> None:
        """Go on with what was delivered and not acknowledged, then with what is new."""
        self._begin(position, caller.id)
        with self._server.answering() as client:
            about, groups = self._server.together(
                ["XINFO STREAM", self._key], ["XINFO GROUPS", self._key]
            )
            stand, group = Stand.of(about, self.name), Group.of(groups, self._group)
            if group is None:
                if not self._create(stand or Stand(), position):
                    self.open(position, caller)
                    return
            else:
                if order(group.last) < order(self._last):
                    raise set_back(self.name, self._last, group.last)
                self._accept((stand or Stand()).trimmed_from(group), TRIMMED)
            client.xgroup_createconsumer(self._key, self._group, self._consumer)

    def _create(self, stand: Stand, position: Position) -> bool:
        """Make the group; one that was deleted, from the position that is kept with the model.

        False where somebody else was faster.
        """
        if position is None:
            last = stand.last if self._begins_at_end else ZERO
            read = stand.added if self._begins_at_end else stand.added - stand.length
        else:
            last, read = self._last, self._read
            self._check_alone()
            if order(stand.last) < order(last):
                raise set_back(self.name, last, stand.last)
            if read is not None and (gone := stand.trimmed(last, read)):
                raise lost(self.name, gone)
        counted = [] if read is None else ["ENTRIESREAD", read]
        try:
            self._server.client.execute_command(
                "XGROUP CREATE", self._key, self._group, last, "MKSTREAM", *counted
            )
        except redis.ResponseError as error:
            if str(error).startswith("BUSYGROUP"):
                return False
            raise
        return True

    def _check_alone(self) -> None:
        others = set(self._server.client.hkeys(self._markers)) - {self._consumer.encode()}
        if others:
            raise StreamError(
                f"{self.name}: the group was deleted, and {len(others)} more have read with it: "
                f"nobody knows what was left for them. Create it again where they all were: "
                f"XGROUP CREATE {self._key} {self._group} ID"
            )

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def read(self, most: int, seconds: float) -> Chunk | None:
        """What is pending, what others have left, what is new."""
        try:
            with self._server.answering() as client:
                chunk = self._next(most)
                if chunk is None and seconds:
                    milliseconds = max(1, int(seconds * 1000))
                    client.xread({self._key: self._end}, count=1, block=milliseconds)
                    chunk = self._next(most)
                return chunk
        except UnreachableError:
            # An answer that got lost may have delivered something: it is pending now.
            self._pending_after = ZERO
            raise

    def _next(self, most: int) -> Chunk | None:
        with self._lock:
            try:
                return self._pending(most) or self._left_by_others(most) or self._new(most)
            except redis.ResponseError as error:
                raise self._without_group(error) from error

    def _pending(self, most: int) -> Chunk | None:
        """What was delivered to us before, and is not in hand."""
        while self._pending_after is not None:
            page = entries_of(
                self._server.run(
                    scripts.READ, [self._key],
                    [most, self._pending_after, self._group, self._consumer],
                )
            )  # fmt: skip
            self._pending_after = page[-1][0].decode() if page else None
            in_hand = set(self._unacknowledged)
            found = [entry for entry in page if entry[0] not in in_hand]
            gone = [own for own, flat in found if not flat]
            self._accept(len(gone), TRIMMED_PENDING)
            if found:
                entries = [entry for entry in found if entry[1]]
                return self._delivered(entries, gone, self._trimmed_letters(gone))
        return None

    def _left_by_others(self, most: int) -> Chunk | None:
        """What others were given long ago, and have not acknowledged."""
        now = time.monotonic()
        if now - self._claimed_at < self._claim / 4:
            return None
        self._claimed_at = now
        taken, gone = self._server.run(
            scripts.CLAIM, [self._key],
            [self._group, self._consumer, int(self._claim * 1000), most],
        )  # fmt: skip
        self._accept(len(gone), TRIMMED_PENDING)
        if gone:
            self._server.client.xack(self._key, self._group, *gone)
        # What was taken from us and comes back is in hand already: nobody else can commit it.
        in_hand = set(self._unacknowledged)
        entries = [(own, flat) for own, flat in taken if own not in in_hand]
        if not entries and not gone:
            return None
        return self._delivered(entries, [], self._trimmed_letters(gone))

    def _new(self, most: int) -> Chunk | None:
        """What nobody was given yet, read in one step with a look whether any of it was trimmed."""
        about, groups, answer = self._server.together(
            ["XINFO STREAM", self._key], ["XINFO GROUPS", self._key],
            ["EVAL", scripts.READ, 1, self._key, most, ">", self._group, self._consumer],
        )  # fmt: skip
        entries = entries_of(answer)
        stand, group = Stand.of(about, self.name), Group.of(groups, self._group)
        assert stand is not None  # there is a group of it
        assert group is not None
        gone = stand.trimmed_from(group)
        self._accept(gone, TRIMMED)
        if gone:
            self._server.run(scripts.REBASE, [self._key], [self._group, gone])
        self._end = stand.last
        self._lag = None if group.lag is None else max(0, group.lag - len(entries))
        self._read = None if group.read is None else group.read + gone + len(entries)
        if not entries and not gone:
            return None
        letters = [Poison(self.name, group.last, f"{gone:,} entries after it {TRIMMED}")]
        return self._delivered(entries, [], letters if gone else [])

    def _delivered(
        self, entries: Sequence[Entry], gone: Sequence[bytes], letters: Sequence[Poison]
    ) -> Chunk:
        """Note what is delivered; also what is gone is to be acknowledged."""
        ids = [*gone, *(own for own, _ in entries)]
        self._unacknowledged.extend(ids)
        self._through += len(ids)
        if ids:
            newest = max(ids[-1], gone[-1] if gone else ids[-1], key=order).decode()
            self._in_order = self._in_order and not gone and order(ids[0]) > order(self._last)
            self._last = max(self._last, newest, key=order)
        position = {"last": self._last, "read": self._read, "through": self._through}
        return self._entries.chunk(entries, position, letters)

    def lag(self) -> int | None:
        """How many entries nobody was given yet."""
        return self._lag

    def close(self) -> None:
        """Let go of the connections."""
        self._server.close()

    def identity(self) -> str | None:
        """Return some entries of the stream, and the group."""
        return identity_of(self._server, self._group)

    def same(self, identity: str) -> bool:
        """Tell whether the stream has the entries that were kept, and the group is the same."""
        return is_same(self._server, identity, self._group)

    # ── what is amiss ────────────────────────────────────────────────────────────────────────

    def _accept(self, gone: int, what: str) -> None:
        if gone and not self._skips:
            raise lost(self.name, gone, what)

    def _trimmed_letters(self, gone: Sequence[bytes]) -> list[Poison]:
        return [
            Poison(self.name, own.decode(), "it was trimmed before it was learnt") for own in gone
        ]

    def _without_group(self, error: redis.ResponseError) -> Exception:
        """What a missing group means; other errors stay what they are."""
        if not has_no_group(error):
            return error
        return CommitRefusedError(f"{self.name}: the group was deleted")


def _ascending(ids: list[bytes]) -> list[bytes]:
    return sorted(ids, key=order)
