"""Models as bytes, for libraries that send objects around or keep them.

They are the bytes of the file that ``save`` writes: nothing of ours is pickled, and a checksum
tells that what arrives is what was sent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

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
