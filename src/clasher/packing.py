"""What would be saved to a file, as bytes: for ways on which there are no files.

They are the file's own bytes: nothing of ours is pickled, and its checksum tells that what arrives
is what was sent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def packed(save: Callable[[Path], object]) -> bytes:
    """What ``save`` writes to a path."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        save(path)
        return path.read_bytes()


def unpacked(content: bytes, load: Callable[[Path], T]) -> T:
    """What ``load`` reads from a path with this content.

    >>> unpacked(packed(lambda path: path.write_text("wheat")), Path.read_text)
    'wheat'
    """
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        return load(path)
