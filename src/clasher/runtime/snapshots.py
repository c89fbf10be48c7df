"""Data folders and their snapshots: the model and its state as of one version.

A snapshot is a folder. It is written under another name, flushed and renamed, so it exists whole or
not at all. Two are kept: if one is damaged, the other is used. A *prepared* snapshot is on disk but
does not count until another party (a broker) has agreed to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clasher import durable
from clasher.errors import ClasherError, FolderError, SettingError
from clasher.model import Clasher
from clasher.runtime.judged import Judged
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer

KEPT = 2
MODEL, STATE, INITIAL = "model.clasher", "state.json", "begun.json"
DAMAGED, PREPARED = ".damaged", ".prepared"

T = TypeVar("T")

logger = logging.getLogger("clasher.service")


class DamagedSnapshotError(ClasherError):
    """A snapshot is not what was written."""


class Snapshots:
    """The snapshots of a data folder."""

    def __init__(self, folder: Path, tokenizer: Tokenizer | None = None) -> None:
        self.folder = folder
        self._tokenizer = tokenizer
        for scratch in folder.glob("*.tmp"):
            shutil.rmtree(scratch)

    def versions(self) -> list[int]:
        """Return the versions that have a snapshot, newest first."""
        return sorted((int(path.name) for path in self.folder.glob("[0-9]" * 16)), reverse=True)

    def damaged(self) -> list[Path]:
        return sorted(self.folder.glob(f"*{DAMAGED}"))

    def write(self, state: Judged) -> int:
        """Write a snapshot; return the version up to which the log is no longer needed."""
        target = self._path(state.seq)
        if not target.exists():
            self._make(state, target)
        return self._delete_old()

    def prepare(self, state: Judged) -> None:
        """Write a snapshot that does not count yet: ``confirm`` or ``discard`` it later."""
        self._make(state, self._path(state.seq).with_suffix(PREPARED))

    def prepared(self) -> int | None:
        return next((int(path.stem) for path in self.folder.glob(f"*{PREPARED}")), None)

    def confirm(self, version: int) -> None:
        durable.rename(self._path(version).with_suffix(PREPARED), self._path(version))
        self._delete_old()

    def discard(self) -> None:
        """Delete the prepared snapshot, if there is one."""
        for path in self.folder.glob(f"*{PREPARED}"):
            durable.delete_folder(path)
            durable.flush_folder(self.folder)

    def load(self, revive: Callable[[dict[str, Any], Clasher], T]) -> tuple[T | None, list[str]]:
        """Load the newest intact snapshot; return it with notes about damaged ones."""
        notes: list[str] = []
        for version in self.versions():
            try:
                return self._read(version, revive), notes
            except FolderError as error:  # intact, but written by a later version of clasher
                raise FolderError(f"{self.folder.parent}: {error}") from error
            except (ClasherError, OSError) as error:
                notes.append(f"snapshot {version} is damaged and was put aside: {error}")
                logger.critical(notes[-1])
                aside = self._path(version).with_suffix(DAMAGED)  # the last one, to look at
                if aside.exists():
                    shutil.rmtree(aside)
                durable.rename(self._path(version), aside)
        return None, notes

    def model_file(self, version: int) -> Path:
        return self._path(version) / MODEL

    def link_model(self, version: int, path: Path) -> None:
        """Give a snapshot's model another name; replacing that file leaves the snapshot intact."""
        durable.link(self.model_file(version), path)

    def _make(self, state: Judged, target: Path) -> None:
        scratch = target.with_suffix(".tmp")
        scratch.mkdir()
        state.model.save(scratch / MODEL)
        digest = file_digest(scratch / MODEL)
        content = msgspec.json.encode({"state": state.to_plain(), "model": digest})
        durable.write(scratch / STATE, _digest(content) + b"\n" + content)
        durable.flush_folder(scratch)
        durable.rename(scratch, target)

    def _delete_old(self) -> int:
        versions = self.versions()
        for damaged in self.damaged()[:-1]:
            shutil.rmtree(damaged)
        for version in versions[KEPT:]:
            durable.delete_folder(self._path(version))
        durable.flush_folder(self.folder)
        return versions[KEPT - 1] if len(versions) >= KEPT else 0

    def _read(self, version: int, revive: Callable[[dict[str, Any], Clasher], T]) -> T:
        path = self._path(version)
        content = _unsealed((path / STATE).read_bytes())
        if content["state"]["seq"] != version:
            raise DamagedSnapshotError(f"{path}: holds another version")
        if file_digest(path / MODEL) != content["model"]:
            raise DamagedSnapshotError(f"{path / MODEL}: is not the file that was written")
        return revive(content["state"], Clasher.load(path / MODEL, tokenizer=self._tokenizer))

    def _path(self, version: int) -> Path:
        return self.folder / f"{version:016d}"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=32).hexdigest().encode()


def _unsealed(raw: bytes) -> dict[str, Any]:
    claimed, _, content = raw.partition(b"\n")
    if _digest(content) != claimed:
        raise DamagedSnapshotError(f"{STATE}: is not the file that was written")
    decoded: dict[str, Any] = msgspec.json.decode(content)
    return decoded


def file_digest(path: Path, size: int = 32) -> str:
    """Return the BLAKE2b digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.blake2b, digest_size=size)).hexdigest()


class LockedFolder:
    """A folder that one process uses at a time, with snapshots in it.

    The operating system locks an open file: the lock ends when the process ends, and not before.
    """

    def __init__(self, path: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> None:
        self.path = Path(path).absolute()
        try:
            durable.make_folder(self.path)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise FolderError(f"{path}: cannot be a data folder: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            raise FolderError(
                f"{path}: in use by process {holder or '(unknown)'}; stop that process first, or "
                f"name another folder"
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        durable.make_folder(self.path / "snapshots")
        self.snapshots = Snapshots(self.path / "snapshots", tokenizer)

    def close(self) -> None:
        os.close(self._lock)


def new_model(settings: Settings) -> Clasher:
    """Make an empty model with these settings."""
    return Clasher(**{name: getattr(settings, name) for name in settings.__dataclass_fields__})


def check_settings(
    folder: Path, model: Clasher, settings: Settings | None, remedy: str = "name another folder"
) -> None:
    """Refuse settings that differ from those of the folder's model."""
    if settings is not None and (names := model.settings.differences(settings)):
        raise SettingError(
            f"{folder}: its model was made with other settings ({', '.join(names)}); leave them "
            f"out to go on with it, or {remedy}"
        )


class InitialModel(msgspec.Struct, frozen=True):
    """The model file that a folder began with: the same command can start there again."""

    path: str
    digest: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> InitialModel:
        return cls(os.path.abspath(path), file_digest(Path(path)))

    def keep(self, folder: Path) -> None:
        durable.replace_bytes(folder / INITIAL, msgspec.json.encode(self))


def check_initial_model(
    folder: str | os.PathLike[str], path: str, warn: Callable[[str], object]
) -> None:
    """Refuse another model file than the one that a folder began with; warn if it has changed."""
    origin = "did not begin with a file"
    if Path(folder, INITIAL).exists():
        initial = msgspec.json.decode(Path(folder, INITIAL).read_bytes(), type=InitialModel)
        if os.path.exists(path) and file_digest(Path(path)) == initial.digest:
            return
        if os.path.abspath(path) == initial.path:
            warn(f"--initial-model {path}: has changed since; {folder} goes on with its own model")
            return
        origin = f"began with {initial.path}"
    raise SettingError(
        f"--initial-model {path}: {folder} already has a model, which {origin}; leave the option "
        f"out, or name another folder"
    )
