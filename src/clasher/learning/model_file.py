"""The model file: safetensors with a JSON header, written whole or not at all.

The only metadata entry, ``clasher``, is a JSON object with ``format`` (the version of this layout),
``version`` (of the library that wrote it), ``settings``, ``labels``, ``alarms`` (if a change
detector raised any) and ``checksum`` (BLAKE2b over all else, the arrays in the order of the file).
Arrays are cut to the labels in use, so that a file depends only on what was learnt. Empty arrays
may be missing, so that files stay readable when a new setting brings new arrays. Nothing in a file
is ever executed.

Copies and pickles of models are the bytes of their files: the checksum shows whether what arrives
is what was sent.
"""

import hashlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors

from clasher.durable import replaced
from clasher.errors import ModelFileError, SettingError
from clasher.kernels.margin import add_up_spent
from clasher.kernels.state import DOCUMENTS, FADED, LABELS, State
from clasher.learning import late_labels, memory
from clasher.learning.drift import Alarm
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer, check_tokenizer
from clasher.version import __version__

FORMAT = 4
DENSE_FORMAT = 3  # of 0.1 and 0.2: an array of buckets × labels instead of cells
KEY = "clasher"
DERIVED = "scales"  # follows from the norms
LATER = {"clock", "gains", "bests", "floor", "spent", "dropped"}  # missing in older files
PIECE = 16 * 2**20  # bytes read at a time

_DTYPES = {
    "U8": np.uint8, "I32": np.int32, "I64": np.int64, "U64": np.uint64, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _DTYPES.items()}
_HEADER = {"format": int, "version": str, "settings": dict, "labels": list, "checksum": str}


def save(
    path: str | os.PathLike[str], settings: Settings, labels: list[str], state: State,
    alarms: Sequence[Alarm] = (), durable: bool = True,
) -> None:  # fmt: skip
    """Write a model; replace ``path`` when all is written, and flushed if ``durable``."""
    tensors = {}
    for name in State._fields:
        if name in ("pool", DERIVED, *memory.HEADS):
            continue
        if (array := memory.in_use(state, name, len(labels))).size:
            tensors[name] = memory.Packed(array.shape, array.dtype, partial(list, [array]))
    tensors |= memory.packed_cells(state, len(labels))
    about: dict[str, Any] = {"format": FORMAT, "version": __version__}
    about |= {"settings": settings.to_dict(), "labels": labels}
    if alarms:
        about["alarms"] = [alarm.to_dict() for alarm in alarms]
    try:
        with replaced(path, flushed=durable) as scratch, open(scratch, "rb+") as file:
            _write(file, about, tensors)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path!s}: the model could not be written: {error}") from error


def _write(file: BinaryIO, about: dict[str, Any], tensors: dict[str, memory.Packed]) -> None:
    """Write a safetensors file: the length of the header, the header, the arrays.

    No array is copied as a whole, and other threads run meanwhile. The checksum is known at the
    end, and then takes the place that was kept for it.
    """
    header: dict[str, Any] = {KEY: ""}
    order, offset = _order({name: one.kind for name, one in tensors.items()}), 0
    for name in order:
        shape, kind, _ = tensors[name]
        end = offset + math.prod(shape) * np.dtype(kind).itemsize
        header[name] = {"dtype": _NAMES[np.dtype(kind)], "shape": shape}
        header[name]["data_offsets"] = [offset, end]
        offset = end
    digest = _digest(about)
    file.write(_header_bytes(header, about | {"checksum": digest.hexdigest()}))
    for name in order:
        for piece in tensors[name].pieces():
            content = np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data
            digest.update(content)
            file.write(content)
    file.seek(0)
    file.write(_header_bytes(header, about | {"checksum": digest.hexdigest()}))


def _header_bytes(header: dict[str, Any], about: dict[str, Any]) -> bytes:
    """Return length and header, padded to whole words."""
    arrays = {name: value for name, value in header.items() if name != KEY}
    metadata = {"__metadata__": {KEY: json.dumps(about, sort_keys=True)}}
    content = json.dumps(metadata | arrays, separators=(",", ":")).encode()
    content += b" " * (-len(content) % 8)
    return len(content).to_bytes(8, "little") + content


def _order(kinds: Mapping[str, npt.DTypeLike]) -> list[str]:
    """Sort arrays so that each lies at a multiple of the size of its values."""
    return sorted(kinds, key=lambda name: (-np.dtype(kinds[name]).itemsize, name))


def load(
    path: str | os.PathLike[str], tokenizer: Tokenizer | None = None
) -> tuple[Settings, list[str], State, list[Alarm]]:
    """Read a model; check every size before allocating anything."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # opening a pipe would block
            raise ModelFileError(f"{path!s}: not an ordinary file")
        open(path, "rb").close()  # safetensors does not explain why a path cannot be read
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:  # ValueError: a NUL
        raise ModelFileError(f"{path!s}: there is no such model file") from error
    except OSError as error:
        raise ModelFileError(f"{path!s}: the model cannot be read: {error.strerror}") from error
    try:
        with safetensors.safe_open(os.fsdecode(path), framework="numpy") as file:
            return _read(file, tokenizer)
    except (OSError, safetensors.SafetensorError) as error:
        raise ModelFileError(f"{path}: not an intact model file: {error}") from error
    except MemoryError as error:
        raise ModelFileError(f"{path}: the model does not fit into memory") from error
    except (ModelFileError, SettingError) as error:
        raise type(error)(f"{path}: {error}") from error.__cause__


def _read(file: Any, tokenizer: Tokenizer | None) -> tuple[Settings, list[str], State, list[Alarm]]:
    about = _header(file)
    analyzer = about["settings"].get("analyzer")
    name = analyzer.get("tokenizer") if isinstance(analyzer, dict) else None
    if name is not None and not isinstance(name, str):
        raise ModelFileError("its settings are not valid: its tokenizer has no name")
    check_tokenizer(name, tokenizer)
    labels: list[str] = about["labels"]
    try:
        part = "settings"
        settings = Settings.of(about["settings"], tokenizer)
        is_dense = about["format"] == DENSE_FORMAT
        if is_dense:  # without a bound on its bytes
            most = max(settings.max_bytes, memory.nbytes(settings, len(labels)) * 5 // 4)
            settings = replace(settings, max_bytes=most)
        most_labels = memory.most_labels(settings)
        part = "alarms"
        alarms = [Alarm.of(alarm) for alarm in about.get("alarms", [])]
    except (SettingError, TypeError, ValueError, KeyError) as error:
        raise ModelFileError(f"its {part} are not valid: {error}") from error
    if len(set(labels)) < len(labels) or len(labels) > most_labels:
        raise ModelFileError("its list of labels contradicts its settings")
    names, cells = _check_arrays(file, settings, len(labels), is_dense)
    expected = about.pop("checksum")
    kinds = {name: _DTYPES[file.get_slice(name).get_dtype()] for name in (*names, *cells)}
    digest = _digest(about)
    for name in sorted(kinds) if is_dense else _order(kinds):
        for piece in _pieces(file, name):
            digest.update(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    if digest.hexdigest() != expected:
        raise ModelFileError("the file was altered: its checksum does not match")
    state = memory.allocate(settings, len(labels))
    for name in names:
        start, target = 0, memory.in_use(state, name, len(labels))
        for piece in _pieces(file, name):
            target[start : start + len(piece)] = piece
            start += len(piece)
    if is_dense:
        for name in cells:
            start = 0
            for piece in _pieces(file, name):
                memory.take_dense(state, settings, name, start, piece, len(labels))
                start += len(piece)
    elif not memory.unpack_cells(
        state, len(labels), cells,
        read=lambda name, start, stop: file.get_slice(name)[start:stop],
        count=lambda name: file.get_slice(name).get_shape()[0],
    ):  # fmt: skip
        raise ModelFileError("its cells contradict each other")
    # refuse values that kernels would use as indices beyond their arrays
    if state.totals[LABELS] != len(labels):
        raise ModelFileError("its list of labels contradicts its arrays")
    if not late_labels.is_sound(state):
        raise ModelFileError("its documents that wait for labels contradict each other")
    if np.any((state.recent_buckets < -1) | (state.recent_buckets >= settings.dimensions)):
        raise ModelFileError("its latest documents contradict its settings")
    if "clock" not in names:
        state.clock[FADED] = state.totals[DOCUMENTS]
    if "spent" not in names:
        add_up_spent(state)
    memory.set_scales(state)
    return settings, labels, state, alarms


def _header(file: Any) -> dict[str, Any]:
    metadata = file.metadata() or {}
    if KEY not in metadata:
        raise ModelFileError("a safetensors file, but not a clasher model")
    try:
        about = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header is not valid JSON: {error}") from error
    found = about.get("format") if isinstance(about, dict) else None
    if isinstance(found, int) and found not in (FORMAT, DENSE_FORMAT):
        raise ModelFileError(
            f"has format {found}, and this version of clasher reads formats {DENSE_FORMAT} and "
            f"{FORMAT}; "
            f"it was written by clasher {about.get('version')}"
        )
    kinds = _HEADER | ({"alarms": list} if isinstance(about, dict) and "alarms" in about else {})
    if (
        not isinstance(about, dict)
        or about.keys() != kinds.keys()
        or not all(isinstance(about[key], kind) for key, kind in kinds.items())
        or not all(isinstance(label, str) and label for label in about["labels"])
    ):
        raise ModelFileError("its header is not that of a clasher model")
    return about


def _check_arrays(
    file: Any, settings: Settings, labels: int, is_dense: bool
) -> tuple[list[str], list[str]]:
    """Check shapes and types; return the names of arrays that are not empty, and those of cells."""
    shapes = memory.shapes(settings, labels)
    for name in (DERIVED, *memory.HEADS):
        del shapes[name]
    own = set(shapes)
    cells = memory.dense_shapes(settings, labels) if is_dense else dict(memory.PACKED)
    found = set(file.keys())
    shapes |= cells
    dispensable = LATER | {name for name, (shape, _) in shapes.items() if 0 in shape}
    if not shapes.keys() - dispensable <= found <= shapes.keys():
        raise ModelFileError("it does not hold the arrays its settings ask for")
    shapes = {name: kind for name, kind in shapes.items() if name in found}
    for name, (shape, kind) in shapes.items():
        part = file.get_slice(name)
        same = tuple(part.get_shape()) == shape
        if not is_dense and name in cells:
            same = len(part.get_shape()) == 1
        if not same or _DTYPES.get(part.get_dtype()) is not kind:
            raise ModelFileError(
                f"array {name!r} should be {np.dtype(kind)}{list(shape)}, "
                f"and is {part.get_dtype()}{part.get_shape()}"
            )
    there = [name for name, (shape, _) in shapes.items() if 0 not in shape or name in cells]
    return [name for name in there if name in own], [name for name in there if name in cells]


def _pieces(file: Any, name: str) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of an array, about ``PIECE`` bytes at a time."""
    part = file.get_slice(name)
    shape = part.get_shape()
    row = 8 * max(1, int(np.prod(shape[1:], dtype=np.int64)))
    step = max(1, PIECE // row)
    for start in range(0, shape[0] if 0 not in shape else 0, step):
        yield part[start : min(start + step, shape[0])]


def _digest(about: dict[str, Any]) -> hashlib.blake2b:
    """Begin the checksum, with the header."""
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=32)


T = TypeVar("T")


def packed(model: Any) -> bytes:
    """Return the content of the file that ``model.save`` writes."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        model.save(path, durable=False)
        return path.read_bytes()


def unpacked(content: bytes, load: Callable[..., T], **options: Any) -> T:
    """Call ``load`` on a file with this content."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        return load(path, **options)


def reduced(model: Any, **options: Any) -> tuple[Any, ...]:
    """Return what ``__reduce__`` returns: the file's bytes, and ``options`` of ``load``."""
    kind, tokenizer = type(model), model.settings.analyzer.tokenizer
    if tokenizer is not None:  # pickle stores the name of a function only
        name, owner = tokenizer.__qualname__, kind.__name__
        found: Any = sys.modules.get(tokenizer.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not tokenizer:
            raise SettingError(
                f"this {owner} cannot be pickled: its tokenizer {name} is not found under that "
                f"name in {tokenizer.__module__}; define it as a function at the top of a module, "
                f"or save the model and read it with {owner}.load(…, tokenizer=…)"
            )
    return partial(unpacked, tokenizer=tokenizer, **options), (packed(model), kind.load)
