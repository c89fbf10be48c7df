"""The folder of a flow: the lock, who it is to others, its snapshots, and which of them counts.

lock              held by the process, for its whole life
begun.json        the model file that it began with, where there was one
runner            its name, under which consumers and transactions are known to brokers
snapshots/        the model and the positions of its streams, the last two
model.clasher     the model of the newest snapshot
dead-letters.jsonl   what was no record, unless that goes elsewhere

Recognise a stream, whatever its address is spelt like.

A snapshot keeps a position for each address, and beside it what the stream says of itself
(``Source.identity``). A stream that is given under another address is found again by that, so that
nothing is learnt twice. A stream that a folder does not know must be allowed by the user.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clasher import durable
from clasher.errors import FolderError, SettingError, StreamError
from clasher.flow.state import State
from clasher.io.protocol import Caller, Party, Source
from clasher.model import Clasher
from clasher.runtime.folder import LockedFolder
from clasher.runtime.snapshots import MODEL, Beginning, Snapshots
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer

OPTION = "--new-stream"


def recognise(
    state: State, role: str, source: Source, tell: Callable[[str], object], *, new: bool
) -> None:
    """Let a state know a source: under its address, an earlier one, or as a new stream.

    Parameters
    ----------
    state
        What is changed: the positions and identities of its streams.
    role
        ``documents`` or ``labels``.
    source
        The stream that will be read, not open yet.
    tell
        Told of another address, or of a new stream.
    new
        Whether a stream that the folder does not know is welcome.
    """
    identity, kept = source.identity(), state.streams[role]
    if source.name in state.positions:
        before = kept.get(source.name)
        if before is not None and identity is not None and not source.same(before):
            _welcome_other(state, source, tell, new=new)
    else:
        known = [name for name in kept if name in state.positions]
        earlier = None if identity is None else _earlier(source, kept, known)
        if earlier is not None:
            _move(state, role, earlier, source.name)
            tell(f"{source.name}: is the stream that was read as {earlier}; goes on where it was")
        elif known:
            _welcome_new(state, role, source, known, tell, new=new)
    kept[source.name] = kept.get(source.name) if identity is None else identity


def _earlier(source: Source, kept: dict[str, str | None], known: list[str]) -> str | None:
    """The address under which a stream was read before."""
    for name in known:
        identity = kept[name]
        if identity is not None and source.same(identity):
            return name
    return None


def _move(state: State, role: str, earlier: str, name: str) -> None:
    """Go on under another address; the party may be the source itself, and is named like it."""
    state.positions[name] = state.positions.pop(earlier)
    state.streams[role][name] = state.streams[role].pop(earlier)
    if earlier in state.agreed:
        state.agreed[name] = state.agreed.pop(earlier)


def _welcome_other(
    state: State, source: Source, tell: Callable[[str], object], *, new: bool
) -> None:
    if not new:
        raise StreamError(
            f"{source.name}: is not the stream that was read before: it was set back, replaced or "
            f"made again. Restore it, or learn it from its beginning as a new one: {OPTION}"
        )
    tell(f"{source.name}: is not the stream that was read before; begins with it as a new one")
    del state.positions[source.name]
    if source.party is not None:
        state.agreed.pop(source.party.name, None)


def _welcome_new(
    state: State, role: str, source: Source, known: list[str], tell: Callable[[str], object],
    *, new: bool,
) -> None:  # fmt: skip
    if not new:
        raise StreamError(
            f"{source.name}: this folder has learnt {role} of {', '.join(known)}, and does not "
            f"know this stream. To learn it as well, from its beginning: {OPTION}"
        )
    tell(f"{source.name}: begins with it as a new stream, after {', '.join(known)}")


class FlowFolder(LockedFolder):
    """Where a flow lives, and the two phases in which its snapshots come to count.

    Parameters
    ----------
    path
        The folder; made where there is none.
    remember
        How many documents a state remembers.
    tokenizer
        The function that cuts text, where the model has one.
    """

    def __init__(
        self, path: str | os.PathLike[str], remember: int, tokenizer: Tokenizer | None = None
    ) -> None:
        if Path(path, "log.sqlite").exists():
            raise FolderError(f"{path}: is the folder of a service; name another one")
        super().__init__(path)
        self._remember = remember
        self._snapshots = Snapshots(self.snapshots, tokenizer)
        self.told: list[str] = []
        """What was found amiss: damaged snapshots."""

    @property
    def is_new(self) -> bool:
        """Whether no snapshot was ever written here."""
        return not self._snapshots.versions() and not list(self.snapshots.glob("*.damaged"))

    @property
    def dead_letters(self) -> Path:
        """Where dead letters go that nobody wants elsewhere."""
        return self.path / "dead-letters.jsonl"

    def runner(self) -> str:
        """The name of whoever uses this folder, made up once."""
        path = self.path / "runner"
        if not path.exists():
            scratch = path.with_suffix(".tmp")
            scratch.unlink(missing_ok=True)
            durable.write(scratch, f"clasher-{secrets.token_hex(8)}\n".encode())
            durable.rename(scratch, path)
        return path.read_text(encoding="ascii").strip()

    def begin(self, model: Clasher, begun: Beginning | None = None) -> State:
        """The state of a new folder, kept as snapshot 0, and the file that it begins with."""
        if begun is not None:
            begun.keep(self.path)
        state = State(model, self._remember)
        self._snapshots.write(state)
        self._show_model(0)
        return state

    def recover(
        self,
        party: Party | None,
        caller: Caller,
        recognise: Callable[[State], object] = lambda state: None,
    ) -> State:
        """The state of the snapshot that counts; ``recognise`` finds the streams in it.

        Raises
        ------
        FolderError
            No snapshot is whole, or those that are do not fit what the other party says.
        """
        prepared = self._snapshots.prepared()
        said = None if party is None else party.committed(caller)
        if prepared is not None:
            self._decide(prepared, party, said)
        state, self.told = self._snapshots.load(self._revive)
        if state is None:
            raise FolderError(
                f"{self.path}: no snapshot is whole: {'; '.join(self.told)}. Restore the folder "
                f"from a backup, or begin a new one."
            )
        recognise(state)
        if party is not None and said is not None:
            self._compare(state, party, said)
        self._show_model(state.seq)
        return state

    def keep(self, state: State, party: Party | None) -> None:
        """The first phase: have the next snapshot on disk; without a party it counts at once."""
        state.seq += 1
        if party is None:
            self._snapshots.write(state)
            self._show_model(state.seq)
        else:
            state.agreed[party.name] = state.seq
            self._snapshots.prepare(state)

    def confirm(self, state: State) -> None:
        """The second phase: the other party agreed, the snapshot that was prepared counts."""
        self._snapshots.confirm(state.seq)
        self._show_model(state.seq)

    def discard(self) -> None:
        """The other party refused: the snapshot that was prepared never counts."""
        prepared = self._snapshots.prepared()
        if prepared is not None:
            self._snapshots.discard(prepared)

    def _decide(self, prepared: int, party: Party | None, said: int | None) -> None:
        """Whether a snapshot that was prepared before a crash counts."""
        if party is None:
            raise FolderError(
                f"{self.path}: a broker has not said yet whether snapshot {prepared} counts; go on "
                f"with the streams of the last run first"
            )
        if said == prepared:
            self._snapshots.confirm(prepared)
        else:
            self._snapshots.discard(prepared)

    def _compare(self, state: State, party: Party, said: int) -> None:
        """Refuse to go on where the other party remembers something else."""
        expected = state.agreed.get(party.name, 0)
        if said == expected:
            return
        if said < expected:
            what = f"{party.name} was set back: it remembers snapshot {said} of this model, which "
            what += f"has gone on to {expected}; entries may be missing or come twice"
        else:
            what = f"{self.path} is older than what {party.name} knows of it: snapshot {expected}, "
            what += f"where {said} was agreed to"
        raise StreamError(
            f"{what}. Restore the other side of the two, or begin a new folder, and a new group, "
            f"with this model: --begin-with {self.path / MODEL}"
        )

    def _revive(self, plain: dict[str, Any], model: Clasher) -> State:
        try:
            return State.of(plain, model, self._remember)
        except FolderError as error:
            raise FolderError(f"{self.path}: {error}") from error

    def _show_model(self, number: int) -> None:
        """Let the newest model be found under one name."""
        self._snapshots.link_model(number, self.path / MODEL)


def check_settings(state: State, wanted: Settings | None, folder: Path) -> None:
    """Refuse settings that are not those of the model that is there."""
    if wanted is not None and wanted != state.model.settings:
        names = ", ".join(state.model.settings.differences(wanted))
        raise SettingError(
            f"{folder}: its model was made with other settings ({names}); leave them out to go on "
            f"with it, or name another folder"
        )


def model_of(settings: Settings) -> Clasher:
    """A model that has learnt nothing."""
    return Clasher(**{name: getattr(settings, name) for name in settings.__dataclass_fields__})
