"""The folder of a flow: its lock, its name for brokers, its snapshots, and which of them counts.

lock                 held by the process as long as it lives
begun.json           the model file that it began with, if any
runner               its name, which brokers know its consumers and transactions by
snapshots/           the model and the positions of its streams, the last two
model.clasher        the model of the newest snapshot
dead-letters.jsonl   arrivals that are not records, unless they go elsewhere

A snapshot keeps a position for each address, and the identity of the stream (``Source.identity``),
which finds it under another address. The user must allow a stream that is new to the folder.
"""

import os
import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path

from clasher import durable
from clasher.errors import FolderError, StreamError
from clasher.flow.state import FlowState
from clasher.io.protocol import Caller, Party, Source
from clasher.model import Clasher
from clasher.runtime.snapshots import MODEL, InitialModel, LockedFolder
from clasher.text.analyzer import Tokenizer

OPTION = "--new-stream"


class FlowFolder(LockedFolder):
    """The folder of a flow, with snapshots that count after two phases."""

    def __init__(
        self, path: str | os.PathLike[str], remember: int, tokenizer: Tokenizer | None = None
    ) -> None:
        if Path(path, "log.sqlite").exists():
            raise FolderError(f"{path}: is the folder of a service; name another one")
        super().__init__(path, tokenizer)
        self._remember = remember
        self.dead_letters = self.path / "dead-letters.jsonl"
        self.notes: list[str] = []  # about damaged snapshots

    @property
    def is_new(self) -> bool:
        return not self.snapshots.versions() and not self.snapshots.damaged()

    def runner(self) -> str:
        """Return the name that brokers know this folder by, drawn at random once."""
        path = self.path / "runner"
        if not path.exists():
            durable.replace_bytes(path, f"clasher-{secrets.token_hex(8)}\n".encode())
        return path.read_text(encoding="ascii").strip()

    def begin(self, model: Clasher, origin: InitialModel | None = None) -> FlowState:
        if origin is not None:
            origin.keep(self.path)
        state = FlowState(model, self._remember)
        self.snapshots.write(state)
        self._link_model(0)
        return state

    def recover(
        self,
        party: Party | None,
        caller: Caller,
        recognise: Callable[[FlowState], object] = lambda state: None,
    ) -> FlowState:
        """Load the snapshot that counts; ``recognise`` finds the streams in it."""
        prepared = self.snapshots.prepared()
        committed = None if party is None else party.committed(caller)
        if prepared is not None and party is None:
            raise FolderError(
                f"{self.path}: the broker has not confirmed snapshot {prepared}; first run again "
                f"with the streams of the last run"
            )
        if prepared is not None and committed == prepared:
            self.snapshots.confirm(prepared)
        self.snapshots.discard()
        state, self.notes = self.snapshots.load(partial(FlowState.of, remember=self._remember))
        if state is None:
            raise FolderError(
                f"{self.path}: no snapshot is intact: {'; '.join(self.notes)}. Restore the folder "
                f"from a backup, or begin a new one."
            )
        recognise(state)
        if party is not None and committed is not None:
            self._compare(state, party, committed)
        self._link_model(state.seq)
        return state

    def keep(self, state: FlowState, party: Party | None) -> None:
        """Save the next snapshot (first phase); without a party it counts at once."""
        state.seq += 1
        if party is None:
            self.snapshots.write(state)
            self._link_model(state.seq)
        else:
            state.agreed[party.name] = state.seq
            self.snapshots.prepare(state)

    def confirm(self, state: FlowState) -> None:
        """Make the prepared snapshot count, because the other party agreed (second phase)."""
        self.snapshots.confirm(state.seq)
        self._link_model(state.seq)

    def _compare(self, state: FlowState, party: Party, committed: int) -> None:
        expected = state.agreed.get(party.name, 0)
        if committed == expected:
            return
        if committed < expected:
            what = (
                f"{party.name} was reset: it has snapshot {committed} of this model, which is at "
                f"{expected}; entries may be missing or repeated"
            )
        else:
            what = (
                f"{self.path} is older than {party.name} expects: it has snapshot {expected}, but "
                f"{committed} was committed"
            )
        raise StreamError(
            f"{what}. Restore both to the same snapshot, or begin a new folder and a new group "
            f"with this model: --initial-model {self.path / MODEL}"
        )

    def _link_model(self, number: int) -> None:
        self.snapshots.link_model(number, self.path / MODEL)


def recognise(
    state: FlowState, role: str, source: Source, warn: Callable[[str], object], *, new: bool
) -> None:
    """Find a source in a state by its address or identity; ``new`` accepts an unknown stream."""
    name, identity, kept = source.name, source.identity(), state.streams[role]
    if name in state.positions:
        before = kept.get(name)
        if before is not None and identity is not None and not source.same(before):
            if not new:
                raise StreamError(
                    f"{name}: this is not the stream read before: it was reset, replaced or "
                    f"recreated. Restore it, or add {OPTION} to learn it from the beginning"
                )
            warn(f"{name}: this is not the stream read before; reading it as a new one")
            del state.positions[name]
            if source.party is not None:
                state.agreed.pop(source.party.name, None)
    elif known := [one for one in kept if one in state.positions]:
        identities = ((one, kept[one]) for one in known if identity is not None)
        same = (one for one, its in identities if its is not None and source.same(its))
        if (earlier := next(same, None)) is not None:
            state.positions[name] = state.positions.pop(earlier)
            kept[name] = kept.pop(earlier)
            if earlier in state.agreed:  # the source itself may be the party
                state.agreed[name] = state.agreed.pop(earlier)
            warn(f"{name}: this is the stream read as {earlier}; continuing from its position")
        elif new:
            warn(f"{name}: reading a new stream; this folder has already read {', '.join(known)}")
        else:
            raise StreamError(
                f"{name}: this folder has learnt {role} from {', '.join(known)}, not from this "
                f"stream. To learn it too, from the beginning, add {OPTION}"
            )
    kept[name] = kept.get(name) if identity is None else identity
