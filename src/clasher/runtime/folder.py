"""The data folder: what lies where, and the lock that keeps a second process out."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from clasher import durable
from clasher.errors import FolderError


class LockedFolder:
    """A folder that one process uses at a time, with snapshots in it.

    The lock is the system's, on an open file: it ends with the process however that ends, and not
    before, however long the process is paused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = LockedFolder(name)
    ...     try:
    ...         LockedFolder(name)
    ...     except FolderError as error:
    ...         print("in use" in str(error))
    ...     folder.close()
    True
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        try:
            durable.make_folder(self.path)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise FolderError(f"{path}: no data folder can be there: {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            raise FolderError(
                f"{path}: in use by process {holder or '(unknown)'}; stop that one first, or name "
                f"another folder"
            ) from error
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        durable.make_folder(self.snapshots)

    @property
    def snapshots(self) -> Path:
        """The folder of the snapshots."""
        return self.path / "snapshots"

    def bytes_on_disk(self) -> int:
        """Bytes of all that lies here."""
        return durable.size(self.path)

    def close(self) -> None:
        """Let others in."""
        os.close(self._lock)


class DataFolder(LockedFolder):
    """The folder of a service."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if Path(path, "runner").exists():
            raise FolderError(f"{path}: is the folder of clasher run; name another one")
        super().__init__(path)
        durable.make_folder(self.models)

    @property
    def log(self) -> Path:
        """The database with the log."""
        return self.path / "log.sqlite"

    @property
    def models(self) -> Path:
        """The folder of models that were put in place of others."""
        return self.path / "models"
