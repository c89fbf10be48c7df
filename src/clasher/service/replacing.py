"""A model that comes from elsewhere: looked at, and put where a start finds it."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from clasher.analyzer import Tokenizer
from clasher.model import Clasher
from clasher.service import durable

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
