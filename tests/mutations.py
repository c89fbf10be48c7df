"""Damage model files, and check that loading them does no harm.

    python -m tests.mutations MODEL COUNT SEED

tries ``COUNT`` mutations of a model file in little memory, and prints the harmful ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import resource
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from clasher import Clasher
from clasher.errors import ClasherError, ModelFileError

SPARE = 256 * 2**20  # bytes that loading a small file may take
TEXT = "crude oil, wheat and gold"


# ── the format, from its documentation ───────────────────────────────────────────────────────────


def parse(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a safetensors file into header and arrays."""
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def build(header: dict[str, Any], body: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def about(header: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the header that clasher writes."""
    return json.loads(header["__metadata__"]["clasher"])


def signed(header: dict[str, Any], body: bytes, content: dict[str, Any]) -> dict[str, Any]:
    """Return the header with other content, and the right checksum."""
    content = {key: value for key, value in content.items() if key != "checksum"}
    digest = hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=32)
    for name in header:
        if name == "__metadata__":
            continue
        start, stop = header[name]["data_offsets"]
        digest.update(body[start:stop])
    content["checksum"] = digest.hexdigest()
    return {**header, "__metadata__": {"clasher": json.dumps(content, sort_keys=True)}}


# ── mutations of bytes: the checksum finds them ──────────────────────────────────────────────────


def damage(draw: random.Random, data: bytes) -> bytes:
    """Change a few bytes somewhere; half of the time in the header."""
    changed = bytearray(data)
    end = len(data) if draw.random() < 0.5 else 8 + struct.unpack("<Q", data[:8])[0]
    at, other = draw.randrange(end), draw.randrange(end)
    size = draw.choice([1, 2, 8, 100])
    match draw.randrange(8):
        case 0:
            changed[at] ^= 1 << draw.randrange(8)
        case 1:
            changed[at] = draw.randrange(256)
        case 2:
            changed[at : at + size] = draw.randbytes(size)
        case 3:
            changed[at : at + size] = data[other : other + size]
        case 4:
            del changed[at : at + size]
        case 5:
            changed[at:at] = data[other : other + size]
        case 6:
            del changed[at:]
        case 7:
            length = draw.choice([0, 1, 7, 2**31, 2**63, 2**64 - 1, end - 1, end, end + 8])
            changed[:8] = struct.pack("<Q", length)
    return bytes(changed)


# ── mutations of meaning: the checksum is right ──────────────────────────────────────────────────

VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 0.3, 2**24, 2**30, 2**63, 10**30, -0.0, 1e300, "", "margin",
    "centroid", "euclidean", "evict", [], [1], {}, {"min_length": 0}, {"min_length": 3}, {"x": 1},
]  # fmt: skip


def forge(draw: random.Random, data: bytes) -> bytes:
    """Change the content of a file, with the right checksum."""
    header, body = parse(data)
    content = about(header)
    name = draw.choice([key for key in header if key != "__metadata__"])
    match draw.randrange(9):
        case 0 | 1:
            content["settings"][draw.choice(list(content["settings"]))] = draw.choice(VALUES)
        case 2:
            content[draw.choice(list(content))] = draw.choice(VALUES)
        case 3:
            names = content["labels"]
            content["labels"] = draw.choice(
                [names[1:], [*names, "x"], ["x"] * 4, list("abcd"), [1, 2, 3, 4]]
            )
        case 4:
            shape = header[name]["shape"]
            shape[draw.randrange(len(shape))] = draw.choice([0, 1, 2**31, 2**40, 2**63 - 1])
        case 5:
            header[name]["dtype"] = draw.choice(["F16", "F32", "F64", "I64", "U8", "BOOL"])
        case 6:
            header[draw.choice(["x", "rows", "cut", "scales"])] = header.pop(name)
        case 7:
            start, stop = header[name]["data_offsets"]
            value = draw.choice([b"\xff", b"\0", b"\x7f"]) * (stop - start)
            body = body[:start] + value + body[stop:]
        case 8:
            del content[draw.choice(list(content))]
    return build(signed(header, body, content), body)


# ── the trial ────────────────────────────────────────────────────────────────────────────────────


def use(model: Clasher) -> None:
    """Use a loaded model, which must work whatever its content."""
    if numba.config.DISABLE_JIT:  # interpreted arithmetic raises errors that compiled code does not
        return
    model.predict(TEXT)
    model.probabilities(TEXT)
    with contextlib.suppress(ClasherError):  # a setting may forbid it
        model.learn(TEXT, {"oil", "new"})
    model.predict_many([TEXT])


def harm(path: Path, original: bytes, mutate: Callable[..., bytes], seed: int) -> str | None:
    """Return the harm that one mutation did, or None."""
    path.write_bytes(mutate(random.Random(seed), original))
    try:
        model = Clasher.load(path)
    except ModelFileError:
        return None
    except BaseException as error:
        return f"{mutate.__name__} {seed}: {type(error).__name__}: {error}"
    try:
        if mutate is forge:
            use(model)
        else:
            model.save(path)
            if path.read_bytes() != original:
                return f"{mutate.__name__} {seed}: loaded another model"
    except BaseException as error:
        return f"{mutate.__name__} {seed}: in use: {type(error).__name__}: {error}"
    return None


def main(path: str, count: str, seed: str) -> None:
    original = Path(path).read_bytes()
    scratch = Path(path + ".mutated")
    use(Clasher.load(path))
    use(Clasher(half_life=1000.0))  # compile the loops that a forged setting may ask for
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    seeds = range(int(seed), int(seed) + int(count))
    found = [harm(scratch, original, damage if s % 3 else forge, s) for s in seeds]
    print(json.dumps([what for what in found if what]))


if __name__ == "__main__":
    main(*sys.argv[1:])
