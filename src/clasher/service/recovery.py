"""The data folder of a service, and its start: load the newest snapshot, replay the later log."""

import json
import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from clasher import durable
from clasher.errors import FolderError, ModelFileError, StoppedError
from clasher.model import Clasher
from clasher.runtime.snapshots import LockedFolder, check_settings, file_digest, new_model
from clasher.service import default_settings
from clasher.service.log import ACCEPT, RESTORE, Log, Replace
from clasher.service.state import Refusals, ServiceState
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer

DIGEST = 16  # bytes of the digest that names a replacing model


class ServiceFolder(LockedFolder):
    """The data folder of a service: the log, snapshots, and models that replaced others."""

    def __init__(self, path: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> None:
        if Path(path, "runner").exists():
            raise FolderError(f"{path}: is the folder of clasher run; name another one")
        super().__init__(path, tokenizer)
        self.tokenizer = tokenizer
        self.log = self.path / "log.sqlite"
        self.models = self.path / "models"  # those that replaced others
        self.arriving: list[str] = []  # models that no entry names yet
        durable.make_folder(self.models)

    def check_log_exists(self) -> None:
        if not self.log.exists() and self.snapshots.versions():
            raise FolderError(f"{self.log}: missing, although there are snapshots; {ACCEPT}")

    def receive_model(self, source: BinaryIO) -> str:
        """Save an intact model file under its digest; it stays as long as it is ``arriving``."""
        scratch = self.models / f"{secrets.token_hex(8)}.tmp"
        try:
            with durable.new_file(scratch) as file:
                shutil.copyfileobj(source, file)
            Clasher.load(scratch, tokenizer=self.tokenizer)
            digest = file_digest(scratch, DIGEST)
            self.arriving.append(digest)
            durable.rename(scratch, self.models / f"{digest}.clasher")
        finally:
            scratch.unlink(missing_ok=True)
        return digest

    def load_model(self, digest: str) -> Clasher:
        path = self.models / f"{digest}.clasher"
        try:
            if file_digest(path, DIGEST) == digest:
                return Clasher.load(path, tokenizer=self.tokenizer)
            why = "it is not the file that was sent"
        except (ModelFileError, OSError) as error:
            why = str(error)
        raise FolderError(f"{path}: the log needs this model, which is damaged: {why}; {RESTORE}")

    def drop_models(self, log: Log, after: int) -> None:
        """Delete model files that no entry after a version needs, except those that arrive."""
        needed = set(self.arriving)
        while rows := log.rows(after):
            needed |= {row.body.digest for row in rows if isinstance(row.body, Replace)}
            after = rows[-1].seq
        for path in self.models.glob("*.clasher"):
            if path.stem not in needed:
                path.unlink()


def recover(
    folder: ServiceFolder,
    log: Log,
    settings: Settings | None,
    is_stopping: Callable[[], bool] = bool,
    accept_loss: bool = False,
) -> tuple[ServiceState, list[str], int]:
    """Restore exactly what was acknowledged; ``settings`` are for a new folder.

    Return the state, notes for people, and the number of replayed entries. Raises ``StoppedError``
    if ``is_stopping`` returns true meanwhile: nothing is lost, and the next start begins again.
    """
    models = folder.load_model
    state, notes = folder.snapshots.load(lambda plain, model: ServiceState.of(plain, model, models))
    if state is None:
        written = log.value("settings")
        if written is None and not notes and log.next_seq == 1:
            first = default_settings() if settings is None else settings
            with log.transaction():
                log.put_value("settings", json.dumps(first.to_dict(), sort_keys=True))
        elif written is None or log.dropped_through:
            raise FolderError(
                f"{folder.path}: no snapshot is intact, and the log no longer reaches back to the "
                f"beginning: {'; '.join(notes) or 'there is no snapshot'}. Restore the folder from "
                f"a backup."
            )
        else:
            first = Settings.of(json.loads(written), folder.tokenizer)
        state = ServiceState(new_model(first), models)
    remedy = "rebuild the model with them: clasher replay"
    check_settings(folder.path, state.model, settings, remedy)
    if accept_loss and log.next_seq <= state.seq:
        notes.append(
            f"{log.path}: entries {log.next_seq} to {state.seq} are lost; the model has learnt them"
        )
        log.skip_to(state.seq)
    replayed = _replay(log, state, is_stopping)
    for scratch in folder.models.glob("*.tmp"):
        scratch.unlink()
    folder.drop_models(log, min(folder.snapshots.versions(), default=0))
    return state, notes, replayed


def _replay(log: Log, state: ServiceState, is_stopping: Callable[[], bool]) -> int:
    first = state.seq
    refusals: Refusals = {}
    while entries := log.rows(after=state.seq):
        if is_stopping():
            raise StoppedError(f"{log.path.parent}: stopped before it had recovered")
        expected = range(state.seq + 1, state.seq + 1 + len(entries))
        if [entry.seq for entry in entries] != list(expected):
            raise FolderError(f"{log.path}: entries after {state.seq} are missing; {RESTORE}")
        refusals |= state.apply(entries)
    if state.seq != log.next_seq - 1:
        raise FolderError(
            f"{log.path}: ends at entry {log.next_seq - 1}, but the snapshot at {state.seq}; the "
            f"log does not belong to this folder; {ACCEPT}"
        )
    if refusals:
        log.mark_refused(refusals)
    return state.seq - first
