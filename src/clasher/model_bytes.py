"""Models as bytes, for libraries that send objects around or keep them, and for ``pickle``.

They are the bytes of the file that ``save`` writes: nothing of ours is pickled, and a checksum
tells that what arrives is what was sent.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from clasher.errors import SettingError
from clasher.settings import Settings

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
