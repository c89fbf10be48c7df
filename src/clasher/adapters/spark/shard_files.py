"""Shards of a model in a folder that all executors can read: one file each, and what they are.

The folder may be of any file system that Arrow knows (``s3://``, ``gs://``, ``hdfs://``), or a path
that is the same everywhere.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import safetensors.numpy
from pyarrow import ArrowException, fs
from safetensors import SafetensorError

from clasher import memory
from clasher.analyzer import Tokenizer
from clasher.errors import ModelFileError
from clasher.kernels.clash import VECTOR
from clasher.kernels.state import State
from clasher.model import Clasher
from clasher.settings import Settings
from clasher.shards import Shard, split

FORMAT = 1
ABOUT = "shards.json"
BESIDE = ("shard_together", "shard_counts", "shard_gains")
"""What stands in a file beside the arrays of a state."""


@dataclass(frozen=True)
class Shards:
    """What a folder of shards holds.

    Parameters
    ----------
    folder
        Where it is.
    settings
        Those of the model, as plain values.
    labels
        All labels of the model.
    firsts
        The number of the first label of each shard.
    digests
        Of the files.
    tokenizer
        The function that cuts text, where the model has one.
    """

    folder: str
    settings: dict[str, Any]
    labels: list[str]
    firsts: list[int]
    digests: list[str]
    tokenizer: Tokenizer | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def model_settings(self) -> Settings:
        """The settings of the model."""
        return Settings.of(self.settings, self.tokenizer)

    def read(self, number: int) -> Shard:
        """One of the shards; checked before anything of it is used."""
        where = f"{self.folder}/{_name(number)}"
        content = _content(self.folder, _name(number))
        if _digest(content) != self.digests[number]:
            raise ModelFileError(
                f"{where}: is not the file that was written; write the shards anew"
            )
        stop = [*self.firsts, len(self.labels)][number + 1]
        arrays = safetensors.numpy.load(content)
        return _shard(self, number, stop - self.firsts[number], arrays, where)


def write_shards(model: Clasher, folder: str | os.PathLike[str], shards: int) -> Shards:
    """Split a model by its labels into a folder.

    >>> import tempfile
    >>> model = Clasher(1024)
    >>> model.learn_many(["wheat", "gold", "oil"] * 5, [{"grain"}, {"metal"}, {"energy"}] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(write_shards(model, folder, 2)), read_shards(folder).firsts
    (2, [0, 1])
    """
    system, place = _place(os.fspath(folder))
    system.create_dir(place, recursive=True)
    firsts, digests = [], []
    for number, shard in enumerate(split(model, shards)):
        beside = (shard.together, shard.counts, shard.gains)
        arrays: dict[str, Any] = shard.state._asdict() | dict(zip(BESIDE, beside, strict=True))
        filled = {name: array for name, array in arrays.items() if array.size}
        content = safetensors.numpy.save(filled)
        _write(system, f"{place}/{_name(number)}", content)
        firsts.append(shard.first)
        digests.append(_digest(content))
    settings, labels = model.settings.to_dict(), model.labels
    about = {
        "format": FORMAT, "settings": settings, "labels": labels, "firsts": firsts,
        "digests": digests,
    }  # fmt: skip
    _write(system, f"{place}/{ABOUT}", msgspec.json.encode(about))  # last: now it counts
    tokenizer = model.settings.analyzer.tokenizer
    return Shards(os.fspath(folder), settings, labels, firsts, digests, tokenizer)


def read_shards(folder: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Shards:
    """What ``write_shards`` wrote into a folder."""
    name = os.fspath(folder)
    try:
        about = msgspec.json.decode(_content(name, ABOUT))
        if about.pop("format") != FORMAT:
            raise ModelFileError(f"{name}: its shards have another format; write them anew")
        return Shards(name, **about, tokenizer=tokenizer)
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{name}/{ABOUT}: is not the index of shards: {error}") from error


def _shard(shards: Shards, number: int, labels: int, arrays: dict[str, Any], where: str) -> Shard:
    settings, total = shards.model_settings(), len(shards.labels)
    room = -(-labels // VECTOR) * VECTOR
    kinds = memory.shapes(settings, room)
    together = (total, labels) if settings.rule == "margin" else (labels, total)
    if settings.rule == "perceptron":
        together = (0, 0)
    for name in ("together", "classes", "blocks", "all_blocks"):
        kinds[name] = ((0,) * len(kinds[name][0]), kinds[name][1])
    kinds |= zip(BESIDE, ((together, np.float32), *[((total,), np.float64)] * 2), strict=True)
    for name, (shape, kind) in kinds.items():
        found = arrays.setdefault(name, np.zeros(shape, kind) if 0 in shape else None)
        if found is None or found.shape != shape or found.dtype != kind:
            raise ModelFileError(f"{where}: array {name!r} is not what the settings ask for")
    beside = [arrays.pop(name) for name in BESIDE]
    return Shard(settings, shards.firsts[number], labels, State(**arrays), *beside)


def _name(number: int) -> str:
    return f"shard-{number:05}.safetensors"


def _place(folder: str) -> tuple[fs.FileSystem, str]:
    if "://" in folder:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(folder)
        return found
    return fs.LocalFileSystem(), os.path.abspath(folder)


def _write(system: fs.FileSystem, path: str, content: bytes) -> None:
    with system.open_output_stream(path) as file:
        file.write(content)


def _content(folder: str, name: str) -> bytes:
    try:
        system, place = _place(folder)
        with system.open_input_stream(f"{place}/{name}") as file:
            content: bytes = file.read()
    except (OSError, ArrowException, SafetensorError) as error:
        raise ModelFileError(
            f"{folder}/{name}: cannot be read; the folder of the shards must be one that every "
            f"executor can read: {error}"
        ) from error
    return content


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()
