"""The model file: safetensors with a JSON header, written whole or not at all.

The header's only metadata entry, ``clasher``, is a JSON object with ``format`` (the version of
this layout), ``version`` (of the library that wrote it), ``settings``, ``labels``, ``alarms`` (if
a change detector raised any) and ``checksum`` (BLAKE2b over all else). Arrays are cut to the labels
in use, so that a file depends on what was learnt only; one without elements may be missing, so that
files stay readable when a setting that they do not use brings new arrays. Nothing in a file is ever
executed.

Models as bytes, for libraries that send objects around or keep them, and for ``pickle``.

They are the bytes of the file that ``save`` writes: nothing of ours is pickled, and a checksum
tells that what arrives is what was sent.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors
from safetensors.numpy import save_file

from clasher.durable import replaced
from clasher.errors import ModelFileError, SettingError
from clasher.kernels.state import DOCUMENTS, FADED, LABELS, State
from clasher.learning import late_labels, memory
from clasher.learning.drift import Alarm
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer, check_tokenizer
from clasher.version import __version__

T = TypeVar("T")


class Saving(Protocol):
    """A model, or what else has a file."""

    def save(self, path: Path, *, durable: bool) -> object:
        """Write it to a file."""


def packed(model: Saving) -> bytes:
    """A model as the content of its file."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        model.save(path, durable=False)
        return path.read_bytes()


def unpacked(content: bytes, load: Callable[..., T], **given: Any) -> T:
    """What ``load`` makes of a file with such a content.

    >>> from clasher import Clasher
    >>> unpacked(packed(Clasher(1024)), Clasher.load).settings.dimensions
    1024
    """
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        return load(path, **given)


class Copied:
    """Something with a file that can be copied and pickled; copies share nothing.

    ``copy.copy`` copies as deeply as ``copy.deepcopy``: what one of two models learns into shared
    arrays, the other would predict with.
    """

    settings: Settings

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), packed(self), self._beside_the_file())  # type: ignore[arg-type]

    def _beside_the_file(self) -> dict[str, Any]:
        """Return what ``load`` is to be given beside the file."""
        tokenizer = self.settings.analyzer.tokenizer
        _check_function(tokenizer, type(self).__name__)
        return {"tokenizer": tokenizer}


def _restored(kind: Any, content: bytes, given: dict[str, Any]) -> Any:
    return unpacked(content, kind.load, **given)


def _check_function(function: Any, owner: str) -> None:
    """Refuse a function that its name does not lead to: only the name is pickled."""
    if function is None:
        return
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not function:
        raise SettingError(
            f"this {owner} cannot be pickled: its tokenizer {function.__qualname__} is not found "
            f"under that name in {function.__module__}; define it as a function at the top of a "
            f"module, or save the model and read it with {owner}.load(…, tokenizer=…)"
        )


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
        with replaced(path, flushed=durable) as scratch:
            save_file(tensors, scratch, header)
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        raise ModelFileError(f"{path!s}: the model could not be written: {error}") from error


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
    if not late_labels.is_sound(state):
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
