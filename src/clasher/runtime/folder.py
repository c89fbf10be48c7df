"""A data folder with snapshots, which one process uses at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from clasher import durable
from clasher.errors import FolderError, SettingError
from clasher.model import Clasher
from clasher.settings import Settings


class LockedFolder:
    """A folder that one process uses at a time, with snapshots in it.

    The operating system locks an open file: the lock ends when the process ends, and not before.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        try:
            durable.make_folder(self.path)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise FolderError(f"{path}: cannot be a data folder: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            raise FolderError(
                f"{path}: in use by process {holder or '(unknown)'}; stop that process first, or "
                f"name another folder"
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        self.snapshots = self.path / "snapshots"
        durable.make_folder(self.snapshots)

    def close(self) -> None:
        os.close(self._lock)


def new_model(settings: Settings) -> Clasher:
    """Make an empty model with these settings."""
    return Clasher(**{name: getattr(settings, name) for name in settings.__dataclass_fields__})


def check_settings(
    folder: Path, model: Clasher, settings: Settings | None, remedy: str = "name another folder"
) -> None:
    """Refuse settings that differ from those of the folder's model."""
    if settings is not None and (names := model.settings.differences(settings)):
        raise SettingError(
            f"{folder}: its model was made with other settings ({', '.join(names)}); leave them "
            f"out to go on with it, or {remedy}"
        )
