"""Snapshots: the model and all beside it as of one entry of the log, in a folder of its own.

Whatever is learnt in numbered steps can be kept here: the entries of a log, the batches of a query.

A snapshot is written under another name, flushed, and renamed: it is there as a whole or not at
all. Two are kept, so that one that was torn or altered has another behind it.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from clasher.analyzer import Tokenizer
from clasher.errors import ClasherError
from clasher.model import Clasher
from clasher.service import durable

KEPT = 2
MODEL, BESIDE = "model.clasher", "state.json"
DAMAGED = ".damaged"
PIECE = 2**20

logger = logging.getLogger("clasher.service")

T = TypeVar("T")


class Stands(Protocol):
    """What can be kept: a model that stands at a number, and plain values beside it.

    The values repeat the number as ``seq``.
    """

    @property
    def seq(self) -> int:
        """The number."""

    @property
    def model(self) -> Clasher:
        """The model as of that number."""

    def to_plain(self) -> dict[str, Any]:
        """All but the model, ready for JSON."""


class Damaged(ClasherError):  # noqa: N818
    """A snapshot is not what was written."""


Restore: TypeAlias = Callable[[dict[str, Any], Clasher], T]
"""Makes again what was kept, of its plain values and its model."""


class Snapshots:
    """The snapshots of a data folder."""

    def __init__(self, folder: Path, tokenizer: Tokenizer | None = None) -> None:
        self.folder = folder
        self._tokenizer = tokenizer
        for scratch in folder.glob("*.tmp"):
            shutil.rmtree(scratch)

    def versions(self) -> list[int]:
        """The entries of which there are snapshots, the newest first."""
        return sorted((int(path.name) for path in self.folder.glob("[0-9]" * 16)), reverse=True)

    def write(self, state: Stands) -> int:
        """Write a snapshot, then delete those it replaces.

        Returns the version whose log is not needed any more: there is none before there are two
        snapshots.
        """
        target = self._path(state.seq)
        if not target.exists():
            scratch = target.with_suffix(".tmp")
            scratch.mkdir()
            state.model.save(scratch / MODEL)
            durable.write(scratch / BESIDE, _sealed(state, scratch / MODEL))
            durable.flush_folder(scratch)
            durable.rename(scratch, target)
        kept = self.versions()
        for damaged in sorted(self.folder.glob(f"*{DAMAGED}"))[:-1]:
            shutil.rmtree(damaged)
        for version in kept[KEPT:]:
            gone = self._path(version).with_suffix(".tmp")  # half of one must not look like one
            self._path(version).rename(gone)
            shutil.rmtree(gone)
        durable.flush_folder(self.folder)
        return kept[KEPT - 1] if len(kept) >= KEPT else 0

    def load(self, restore: Restore[T]) -> tuple[T | None, list[str]]:
        """The newest snapshot that is whole, and what there is to tell of others."""
        told: list[str] = []
        for version in self.versions():
            try:
                return restore(*self._read(version)), told
            except (ClasherError, OSError) as error:
                told.append(f"snapshot {version} is damaged and was put aside: {error}")
                logger.critical(told[-1])
                self._put_aside(version)
        return None, told

    def model_file(self, version: int) -> Path:
        """Where the model of a snapshot is."""
        return self._path(version) / MODEL

    def _read(self, version: int) -> tuple[dict[str, Any], Clasher]:
        path = self._path(version)
        beside = _unsealed((path / BESIDE).read_bytes())
        if beside["state"]["seq"] != version:
            raise Damaged(f"{path}: holds another version")
        if _digest(path / MODEL) != beside["model"]:
            raise Damaged(f"{path / MODEL}: is not the file that was written")
        return beside["state"], Clasher.load(path / MODEL, tokenizer=self._tokenizer)

    def _put_aside(self, version: int) -> None:
        """Keep a damaged snapshot for whoever wants to look at it, until there are others."""
        aside = self._path(version).with_suffix(DAMAGED)
        if aside.exists():
            shutil.rmtree(aside)
        durable.rename(self._path(version), aside)

    def _path(self, version: int) -> Path:
        return self.folder / f"{version:016d}"


def _sealed(state: Stands, model: Path) -> bytes:
    """All but the model, with digests of it and of itself."""
    content = msgspec.json.encode({"state": state.to_plain(), "model": _digest(model)})
    return hashlib.blake2b(content, digest_size=32).hexdigest().encode() + b"\n" + content


def _unsealed(raw: bytes) -> dict[str, Any]:
    claimed, _, content = raw.partition(b"\n")
    if hashlib.blake2b(content, digest_size=32).hexdigest().encode() != claimed:
        raise Damaged(f"{BESIDE}: is not the file that was written")
    beside: dict[str, Any] = msgspec.json.decode(content)
    return beside


def _digest(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=32)
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()
