"""Snapshots: the model and all beside it as of one version, in a folder of its own.

A snapshot is written under another name, flushed, and renamed: it is there as a whole or not at
all. Two are kept, so that one that was torn or altered has another behind it. One that somebody
else must agree to first is *prepared*: it is on disk, and not among the versions until then.

Which model file a folder was begun with, so that the same command can be started again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from clasher import durable
from clasher.errors import ClasherError, FolderError, SettingError
from clasher.model import Clasher
from clasher.text.analyzer import Tokenizer

NAME = "begun.json"


class Beginning(msgspec.Struct, frozen=True):
    """A model file: where it was, and the digest of its content."""

    path: str
    digest: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Beginning:
        """Describe a model file."""
        return cls(os.path.abspath(path), digest_of(Path(path)))

    def keep(self, folder: Path) -> None:
        """Note in a new folder what it begins with, before it has its first snapshot."""
        scratch = folder / f"{NAME}.tmp"
        scratch.unlink(missing_ok=True)
        durable.write(scratch, msgspec.json.encode(self))
        durable.rename(scratch, folder / NAME)


def check_beginning(
    folder: str | os.PathLike[str], path: str, tell: Callable[[str], object]
) -> None:
    """Refuse a model file that is not what a folder was begun with.

    The same content is fine wherever it is now. So is a file that was there and has changed, or is
    gone, since: the folder goes on with its own model, and ``tell`` says so.
    """
    try:
        begun = msgspec.json.decode(Path(folder, NAME).read_bytes(), type=Beginning)
    except FileNotFoundError:
        raise SettingError(
            f"--begin-with {path}: {folder} has a model already, which did not begin with a file; "
            f"leave it out, or name another folder"
        ) from None
    if os.path.exists(path) and digest_of(Path(path)) == begun.digest:
        return
    if os.path.abspath(path) != begun.path:
        raise SettingError(
            f"--begin-with {path}: {folder} has a model already, which began with {begun.path}; "
            f"leave it out, or name another folder"
        )
    tell(f"--begin-with {path}: has changed since; {folder} goes on with its own model")


KEPT = 2
MODEL, BESIDE = "model.clasher", "state.json"
DAMAGED, PREPARED = ".damaged", ".prepared"
PIECE = 2**20

T = TypeVar("T")

logger = logging.getLogger("clasher.service")


class Kept(Protocol):
    """What a snapshot is made of."""

    @property
    def seq(self) -> int:
        """The version."""

    @property
    def model(self) -> Clasher:
        """The model."""

    def to_plain(self) -> dict[str, Any]:
        """All but the model as plain values, its version as ``seq`` among them."""


class Damaged(ClasherError):  # noqa: N818
    """A snapshot is not what was written."""


class Snapshots:
    """The snapshots of a data folder."""

    def __init__(self, folder: Path, tokenizer: Tokenizer | None = None) -> None:
        self.folder = folder
        self._tokenizer = tokenizer
        for scratch in folder.glob("*.tmp"):
            shutil.rmtree(scratch)

    def versions(self) -> list[int]:
        """The versions of which there are snapshots, the newest first."""
        return sorted((int(path.name) for path in self.folder.glob("[0-9]" * 16)), reverse=True)

    def write(self, state: Kept) -> int:
        """Write a snapshot, then delete those it replaces.

        Returns the version whose log is not needed any more: there is none before there are two
        snapshots.
        """
        target = self._path(state.seq)
        if not target.exists():
            self._make(state, target)
        return self._tidy_up()

    def prepare(self, state: Kept) -> None:
        """Write a snapshot that does not count yet: ``confirm`` it, or ``discard`` it."""
        self._make(state, self._path(state.seq).with_suffix(PREPARED))

    def prepared(self) -> int | None:
        """The version that is prepared."""
        return next((int(path.stem) for path in self.folder.glob(f"*{PREPARED}")), None)

    def confirm(self, version: int) -> None:
        """Let the snapshot that was prepared count, and delete those it replaces."""
        durable.rename(self._path(version).with_suffix(PREPARED), self._path(version))
        self._tidy_up()

    def discard(self, version: int) -> None:
        """Throw away the snapshot that was prepared."""
        self._delete(self._path(version).with_suffix(PREPARED))
        durable.flush_folder(self.folder)

    def _make(self, state: Kept, target: Path) -> None:
        scratch = target.with_suffix(".tmp")
        scratch.mkdir()
        state.model.save(scratch / MODEL)
        durable.write(scratch / BESIDE, _sealed(state, scratch / MODEL))
        durable.flush_folder(scratch)
        durable.rename(scratch, target)

    def _tidy_up(self) -> int:
        kept = self.versions()
        for damaged in sorted(self.folder.glob(f"*{DAMAGED}"))[:-1]:
            shutil.rmtree(damaged)
        for version in kept[KEPT:]:
            self._delete(self._path(version))
        durable.flush_folder(self.folder)
        return kept[KEPT - 1] if len(kept) >= KEPT else 0

    def load(self, revive: Callable[[dict[str, Any], Clasher], T]) -> tuple[T | None, list[str]]:
        """The newest snapshot that is whole, and what there is to tell of others.

        ``revive`` makes what was kept of plain values and a model.
        """
        told: list[str] = []
        for version in self.versions():
            try:
                return self._read(version, revive), told
            except FolderError:  # it is whole, and for another version
                raise
            except (ClasherError, OSError) as error:
                told.append(f"snapshot {version} is damaged and was put aside: {error}")
                logger.critical(told[-1])
                self._put_aside(version)
        return None, told

    def model_file(self, version: int) -> Path:
        """Where the model of a snapshot is."""
        return self._path(version) / MODEL

    def link_model(self, version: int, path: Path) -> None:
        """Let a model be found under another name; whoever replaces that spoils no snapshot."""
        scratch = path.with_name(f"{path.name}.tmp")
        scratch.unlink(missing_ok=True)
        os.link(self.model_file(version), scratch)
        scratch.replace(path)

    def _read(self, version: int, revive: Callable[[dict[str, Any], Clasher], T]) -> T:
        path = self._path(version)
        beside = _unsealed((path / BESIDE).read_bytes())
        if beside["state"]["seq"] != version:
            raise Damaged(f"{path}: holds another version")
        if digest_of(path / MODEL) != beside["model"]:
            raise Damaged(f"{path / MODEL}: is not the file that was written")
        model = Clasher.load(path / MODEL, tokenizer=self._tokenizer)
        return revive(beside["state"], model)

    def _put_aside(self, version: int) -> None:
        """Keep a damaged snapshot for whoever wants to look at it, until there are others."""
        aside = self._path(version).with_suffix(DAMAGED)
        if aside.exists():
            shutil.rmtree(aside)
        durable.rename(self._path(version), aside)

    @staticmethod
    def _delete(path: Path) -> None:
        gone = path.with_suffix(".tmp")  # half of one must not look like one
        path.rename(gone)
        shutil.rmtree(gone)

    def _path(self, version: int) -> Path:
        return self.folder / f"{version:016d}"


def _sealed(state: Kept, model: Path) -> bytes:
    """All but the model, with digests of it and of itself."""
    content = msgspec.json.encode({"state": state.to_plain(), "model": digest_of(model)})
    return hashlib.blake2b(content, digest_size=32).hexdigest().encode() + b"\n" + content


def _unsealed(raw: bytes) -> dict[str, Any]:
    claimed, _, content = raw.partition(b"\n")
    if hashlib.blake2b(content, digest_size=32).hexdigest().encode() != claimed:
        raise Damaged(f"{BESIDE}: is not the file that was written")
    beside: dict[str, Any] = msgspec.json.decode(content)
    return beside


def digest_of(path: Path) -> str:
    """The digest of a file's content."""
    digest = hashlib.blake2b(digest_size=32)
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
