"""Models as bytes, for libraries that send objects around or keep them.

They are the bytes of the model file that ``save`` writes: nothing of ours is pickled, and a
checksum tells that what arrives is what was sent.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from clasher.analyzer import Tokenizer
from clasher.model import Clasher


def packed(model: Clasher) -> bytes:
    """A model as the content of its file.

    >>> unpacked(packed(Clasher(1024))).settings.dimensions
    1024
    """
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        model.save(path, durable=False)
        return path.read_bytes()


def unpacked(content: bytes, tokenizer: Tokenizer | None = None) -> Clasher:
    """The model of such a content."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        path.write_bytes(content)
        return Clasher.load(path, tokenizer=tokenizer)
