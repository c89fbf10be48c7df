"""A start: the newest snapshot that is whole, and what the log says since.

A model that comes from elsewhere: looked at, and put where a start finds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO, NamedTuple

from clasher import durable
from clasher.errors import FolderError, ModelFileError, SettingError, StoppedError
from clasher.model import Clasher
from clasher.runtime.folder import DataFolder
from clasher.runtime.snapshots import Snapshots
from clasher.service.log import ACCEPT, RESTORE, Log, Replace
from clasher.service.options import default_settings
from clasher.service.state import Refusals, State
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer

PIECE = 2**20
DIGEST = 16  # bytes


def digest_of(path: Path) -> str:
    """Compute the digest of a model file, which is its name."""
    digest = hashlib.blake2b(digest_size=DIGEST)
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def receive(
    source: BinaryIO, folder: Path, tokenizer: Tokenizer | None, arrives: Callable[[str], None]
) -> str:
    """Write a model file into a folder, flushed; its digest, which is its name.

    ``arrives`` is told of it before it is there. Raises ``ModelFileError`` where it is not an
    intact model.
    """
    scratch = folder / f"{secrets.token_hex(8)}.tmp"
    digest = hashlib.blake2b(digest_size=DIGEST)
    try:
        with scratch.open("xb") as file:
            while piece := source.read(PIECE):
                digest.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        Clasher.load(scratch, tokenizer=tokenizer)
        arrives(digest.hexdigest())
        durable.rename(scratch, folder / f"{digest.hexdigest()}.clasher")
    finally:
        scratch.unlink(missing_ok=True)
    return digest.hexdigest()


class Recovered(NamedTuple):
    """What a start found: the state, what it had to tell, and how many entries it did again."""

    state: State
    told: list[str]
    replayed: int


def recover(
    folder: DataFolder,
    log: Log,
    snapshots: Snapshots,
    settings: Settings | None,
    tokenizer: Tokenizer | None = None,
    is_stopping: Callable[[], bool] = bool,
    accept_loss: bool = False,
) -> Recovered:
    """Bring back exactly what was acknowledged; ``settings`` are for a folder that is new.

    Raises ``StoppedError`` where ``is_stopping`` says so on the way: nothing is lost, the next
    start begins anew.
    """

    def models(digest: str) -> Clasher:
        return _put_in_place(folder.models / f"{digest}.clasher", tokenizer)

    state, told = snapshots.load(lambda plain, model: State.of(plain, model, models))
    if state is None:
        state = State(_first_model(log, settings, tokenizer, told), models)
    if settings is not None and settings != state.model.settings:
        names = ", ".join(state.model.settings.differences(settings))
        raise SettingError(
            f"{folder.path}: its model was made with other settings ({names}); leave them out to "
            f"go on with it, or rebuild it with them: clasher replay"
        )
    if accept_loss and log.next_seq <= state.seq:
        told.append(
            f"{log.path}: entries {log.next_seq} to {state.seq} are lost; the model has learnt them"
        )
        log.skip_to(state.seq)
    replayed = _replay(log, state, is_stopping)
    for scratch in folder.models.glob("*.tmp"):
        scratch.unlink()
    drop_models(folder, log, min(snapshots.versions(), default=0))
    return Recovered(state, told, replayed)


def check_log_exists(folder: DataFolder) -> None:
    """Refuse a folder with snapshots whose log is gone, before a new one is made."""
    if not folder.log.exists() and any(folder.snapshots.glob("[0-9]" * 16)):
        raise FolderError(f"{folder.log}: missing, although there are snapshots; {ACCEPT}")


def _put_in_place(path: Path, tokenizer: Tokenizer | None) -> Clasher:
    """Load a model that was put in the place of another: its name is its digest."""
    try:
        if digest_of(path) == path.stem:
            return Clasher.load(path, tokenizer=tokenizer)
        why = "it is not the file that was sent"
    except (ModelFileError, OSError) as error:
        why = str(error)
    raise FolderError(f"{path}: the log needs this model, which is damaged: {why}; {RESTORE}")


def _first_model(
    log: Log, settings: Settings | None, tokenizer: Tokenizer | None, told: list[str]
) -> Clasher:
    """The model before the first entry, where nothing of the log is gone."""
    written = log.asked("settings")
    if written is None and not told and log.next_seq == 1:
        chosen = default_settings() if settings is None else settings
        with log.transaction():
            log.tell("settings", json.dumps(chosen.to_dict(), sort_keys=True))
    elif written is None or log.dropped_through:
        why = "; ".join(told) or "there is no snapshot"
        raise FolderError(
            f"{log.path.parent}: no snapshot is whole, and the log no longer reaches back to the "
            f"beginning: {why}. Restore the folder from a backup."
        )
    else:
        chosen = Settings.of(json.loads(written), tokenizer)
    return Clasher(**{name: getattr(chosen, name) for name in chosen.__dataclass_fields__})


def _replay(log: Log, state: State, is_stopping: Callable[[], bool]) -> int:
    """Do again what the log says after the snapshot."""
    first = state.seq
    refusals: Refusals = {}
    while rows := log.rows(after=state.seq):
        if is_stopping():
            raise StoppedError(f"{log.path.parent}: told to stop before it had recovered")
        entries = [row.entry for row in rows]
        if [entry.seq for entry in entries] != list(
            range(state.seq + 1, state.seq + 1 + len(entries))
        ):
            raise FolderError(
                f"{log.path}: entries after {state.seq} are missing; restore the folder from a "
                f"backup"
            )
        refusals |= state.apply(entries)
    if state.seq != log.next_seq - 1:
        raise FolderError(
            f"{log.path}: ends at entry {log.next_seq - 1}, and the snapshot at {state.seq}; the "
            f"log is not the one of this folder; {ACCEPT}"
        )
    if refusals:
        with log.transaction():
            log.mark_refused(refusals)
    return state.seq - first


def drop_models(folder: DataFolder, log: Log, after: int, kept: Collection[str] = ()) -> None:
    """Delete the files of models that no entry after a version asks for, but for those ``kept``."""
    needed = set(kept)
    while rows := log.rows(after):
        needed |= {row.entry.body.digest for row in rows if isinstance(row.entry.body, Replace)}
        after = rows[-1].entry.seq
    for path in folder.models.glob("*.clasher"):
        if path.stem not in needed:
            path.unlink()
