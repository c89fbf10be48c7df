"""The model file: safetensors with a JSON header, written whole or not at all.

The header's only metadata entry, ``clasher``, is a JSON object with ``format`` (the version of
this layout), ``version`` (of the library that wrote it), ``settings``, ``labels``, ``alarms`` (if
a change detector raised any) and ``checksum`` (BLAKE2b over all else). Arrays are cut to the labels
in use, so that a file depends on what was learnt only; one without elements may be missing, so that
files stay readable when a setting that they do not use brings new arrays. Nothing in a file is ever
executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import safetensors
from safetensors.numpy import save_file

from clasher import memory, pending
from clasher.alarms import Alarm
from clasher.analyzer import Tokenizer, check_tokenizer
from clasher.errors import ModelFileError, SettingError
from clasher.kernels.state import DOCUMENTS, FADED, LABELS, State
from clasher.settings import Settings
from clasher.version import __version__

FORMAT = 3
KEY = "clasher"
DERIVED = "scales"  # follows from the norms
LATER = {"clock", "gains", "bests", "floor"}  # files of older versions lack some of them
PIECE = 16 * 2**20  # bytes read at a time

Shapes: TypeAlias = dict[str, tuple[tuple[int, ...], type]]

_DTYPES = {
    "U8": np.uint8, "I32": np.int32, "I64": np.int64, "U64": np.uint64, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip


def save(
    path: str | os.PathLike[str],
    settings: Settings,
    labels: list[str],
    state: State,
    alarms: Sequence[Alarm] = (),
    durable: bool = True,
) -> None:
    """Write a model: to a temporary file beside ``path``, flushed, renamed, folder flushed."""
    used = {
        name: np.ascontiguousarray(array[_inside(name, array, len(labels))])
        for name, array in state._asdict().items()
        if name != DERIVED
    }
    tensors = {name: array for name, array in used.items() if array.size}
    about: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "settings": settings.to_dict(),
        "labels": labels,
    }
    if alarms:
        about["alarms"] = [alarm.to_dict() for alarm in alarms]
    about["checksum"] = _checksum(about, (tensors[name] for name in sorted(tensors)))
    header = {KEY: json.dumps(about, sort_keys=True)}
    try:
        target = os.path.realpath(os.fsdecode(path))
        _replace(target, lambda scratch: save_file(tensors, scratch, header), durable)
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise ModelFileError(f"{path!s}: the model could not be written: {error}") from error


def _replace(target: str, write: Callable[[str], None], durable: bool) -> None:
    """Put what ``write`` writes in the place of a file, whole or not at all."""
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError("it is not an ordinary file")
    scratch = f"{target}.{secrets.token_hex(4)}.tmp"
    try:
        with open(scratch, "xb"):  # learns the permissions of a new file
            mode = os.stat(target if os.path.exists(target) else scratch).st_mode
        write(scratch)
        with open(scratch, "rb+") as file:
            os.chmod(scratch, stat.S_IMODE(mode))
            if durable:
                os.fsync(file.fileno())
        os.replace(scratch, target)
    finally:
        if os.path.exists(scratch):
            os.unlink(scratch)
    if durable:
        _flush_folder(os.path.dirname(target))


class Loaded(NamedTuple):
    """What a model file holds."""

    settings: Settings
    labels: list[str]
    state: State
    alarms: list[Alarm]


def load(path: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Loaded:
    """Read a model, checking every size before anything is allocated."""
    _check_readable(path)
    try:
        with safetensors.safe_open(os.fsdecode(path), framework="numpy") as file:
            return _read(file, str(path), tokenizer)
    except (OSError, safetensors.SafetensorError) as error:
        raise ModelFileError(f"{path}: not an intact model file: {error}") from error
    except MemoryError as error:
        raise ModelFileError(f"{path}: the model does not fit into memory") from error


def _check_readable(path: str | os.PathLike[str]) -> None:
    """Tell what is wrong with a path, which the library does not."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited for
            raise ModelFileError(f"{path!s}: not an ordinary file")
        open(path, "rb").close()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # a NUL names no file
        raise ModelFileError(f"{path!s}: there is no such model file") from error
    except OSError as error:
        raise ModelFileError(f"{path!s}: the model cannot be read: {error.strerror}") from error


def _read(file: Any, path: str, tokenizer: Tokenizer | None) -> Loaded:
    about = _about(file, path)
    _check_tokenizer(about["settings"], tokenizer, path)
    try:
        settings = Settings.of(about["settings"], tokenizer)
    except (SettingError, TypeError) as error:
        raise ModelFileError(f"{path}: its settings are not valid: {error}") from error
    labels: list[str] = about["labels"]
    if len(set(labels)) < len(labels) or len(labels) > settings.max_labels:
        raise ModelFileError(f"{path}: its list of labels contradicts its settings")
    alarms = _alarms(about.get("alarms", []), path)
    wanted = _wanted(file, settings, len(labels), path)
    _check_shapes(file, wanted, path)
    wanted = {name: kind for name, kind in wanted.items() if 0 not in kind[0]}
    claimed = about.pop("checksum")
    pieces = (piece for name in sorted(wanted) for piece in _pieces(file, name))
    if _checksum(about, pieces) != claimed:
        raise ModelFileError(f"{path}: the file was altered: its checksum does not match")
    state = memory.allocate(settings, len(labels))
    for name in wanted:
        _fill(getattr(state, name)[_inside(name, getattr(state, name), len(labels))], file, name)
    if state.totals[LABELS] != len(labels):
        raise ModelFileError(f"{path}: its list of labels contradicts its arrays")
    if not pending.is_sound(state):
        raise ModelFileError(f"{path}: its documents that wait for labels contradict each other")
    if np.any((state.recent_buckets < -1) | (state.recent_buckets >= settings.dimensions)):
        raise ModelFileError(f"{path}: its latest documents contradict its settings")
    if "clock" not in wanted:
        state.clock[FADED] = state.totals[DOCUMENTS]
    with np.errstate(divide="ignore", invalid="ignore"):
        state.scales[:] = np.where(state.norms > 0, 1.0 / np.sqrt(state.norms), 0.0)
    return Loaded(settings, labels, state, alarms)


def _alarms(given: list[Any], path: str) -> list[Alarm]:
    try:
        return [Alarm.of(alarm) for alarm in given]
    except (TypeError, ValueError, KeyError) as error:
        raise ModelFileError(f"{path}: its alarms are not valid: {error}") from error


def _wanted(file: Any, settings: Settings, labels: int, path: str) -> Shapes:
    """The arrays that the settings ask for, without those that a file may lack."""
    wanted = memory.shapes(settings, labels)
    del wanted[DERIVED]
    found = set(file.keys())
    dispensable = LATER | {name for name, (shape, _) in wanted.items() if 0 in shape}
    if not wanted.keys() - dispensable <= found <= wanted.keys():
        raise ModelFileError(f"{path}: it does not hold the arrays its settings ask for")
    return {name: kind for name, kind in wanted.items() if name in found}


def _about(file: Any, path: str) -> dict[str, Any]:
    """The JSON object of the header, its types checked."""
    metadata = file.metadata() or {}
    if KEY not in metadata:
        raise ModelFileError(f"{path}: a safetensors file, but not a clasher model")
    try:
        about = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: its header is not valid JSON: {error}") from error
    found = about.get("format") if isinstance(about, dict) else None
    if isinstance(found, int) and found != FORMAT:
        raise ModelFileError(
            f"{path}: has format {found}, and this version of clasher reads format {FORMAT}; "
            f"it was written by clasher {about.get('version')}"
        )
    kinds = {"format": int, "version": str, "settings": dict, "labels": list, "checksum": str}
    if isinstance(about, dict) and "alarms" in about:
        kinds["alarms"] = list
    if (
        not isinstance(about, dict)
        or about.keys() != kinds.keys()
        or not all(isinstance(about[key], kind) for key, kind in kinds.items())
        or not all(isinstance(label, str) and label for label in about["labels"])
    ):
        raise ModelFileError(f"{path}: its header is not that of a clasher model")
    return about


def _check_tokenizer(settings: dict[str, Any], given: Tokenizer | None, path: str) -> None:
    analyzer = settings.get("analyzer")
    wanted = analyzer.get("tokenizer") if isinstance(analyzer, dict) else None
    if wanted is not None and not isinstance(wanted, str):
        raise ModelFileError(f"{path}: its settings are not valid: its tokenizer has no name")
    try:
        check_tokenizer(wanted, given)
    except SettingError as error:
        raise SettingError(f"{path}: {error}") from error


def _check_shapes(file: Any, wanted: Shapes, path: str) -> None:
    for name, (shape, kind) in wanted.items():
        part = file.get_slice(name)
        if tuple(part.get_shape()) != shape or _DTYPES.get(part.get_dtype()) is not kind:
            raise ModelFileError(
                f"{path}: array {name!r} should be {np.dtype(kind)}{list(shape)}, "
                f"and is {part.get_dtype()}{part.get_shape()}"
            )


def _pieces(file: Any, name: str) -> Iterator[npt.NDArray[Any]]:
    """The rows of an array, a bounded piece at a time."""
    part = file.get_slice(name)
    shape = part.get_shape()
    row = 8 * max(1, int(np.prod(shape[1:], dtype=np.int64)))
    step = max(1, PIECE // row)
    for start in range(0, shape[0] if 0 not in shape else 0, step):
        yield part[start : min(start + step, shape[0])]


def _fill(target: npt.NDArray[Any], file: Any, name: str) -> None:
    start = 0
    for piece in _pieces(file, name):
        target[start : start + len(piece)] = piece
        start += len(piece)


def _checksum(about: dict[str, Any], pieces: Iterable[npt.NDArray[Any]]) -> str:
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=32)
    for piece in pieces:
        digest.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _inside(name: str, array: npt.NDArray[Any], labels: int) -> tuple[slice, ...]:
    """The part of an array that belongs to labels in use."""
    if name == "squares" and not labels:  # what labels have taught
        return (slice(0, 0),)
    axis = memory.LABEL_AXIS.get(name)
    if axis is None or not array.size:
        return (slice(None),) * array.ndim
    used = [slice(None)] * array.ndim
    used[axis] = slice(0, labels)
    if name == "together":
        used[0] = slice(0, labels)
    return tuple(used)


def _flush_folder(folder: str) -> None:
    """Make a rename durable, where the system lets folders be flushed."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
