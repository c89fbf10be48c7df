"""Which model file a folder was begun with, so that the same command can be started again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from clasher.errors import SettingError
from clasher.service import durable
from clasher.service.snapshots import digest_of

NAME = "begun.json"


class Beginning(msgspec.Struct, frozen=True):
    """A model file: where it was, and the digest of its content."""

    path: str
    digest: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Beginning:
        """Describe a model file."""
        return cls(os.path.abspath(path), digest_of(Path(path)))

    def keep(self, folder: Path) -> None:
        """Note in a new folder what it begins with, before it has its first snapshot."""
        scratch = folder / f"{NAME}.tmp"
        scratch.unlink(missing_ok=True)
        durable.write(scratch, msgspec.json.encode(self))
        durable.rename(scratch, folder / NAME)


def check(folder: str | os.PathLike[str], path: str, tell: Callable[[str], object]) -> None:
    """Refuse a model file that is not what a folder was begun with.

    The same content is fine wherever it is now. So is a file that was there and has changed, or is
    gone, since: the folder goes on with its own model, and ``tell`` says so.
    """
    try:
        begun = msgspec.json.decode(Path(folder, NAME).read_bytes(), type=Beginning)
    except FileNotFoundError:
        raise SettingError(
            f"--begin-with {path}: {folder} has a model already, which did not begin with a file; "
            f"leave it out, or name another folder"
        ) from None
    if os.path.exists(path) and digest_of(Path(path)) == begun.digest:
        return
    if os.path.abspath(path) != begun.path:
        raise SettingError(
            f"--begin-with {path}: {folder} has a model already, which began with {begun.path}; "
            f"leave it out, or name another folder"
        )
    tell(f"--begin-with {path}: has changed since; {folder} goes on with its own model")
