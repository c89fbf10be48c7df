"""Keep compiled kernels on disk, where they can be written and nobody else can change them.

Numba looks into one folder only, and needs to write to it. Here kernels that were compiled ahead
are found in a read-only installation too; the first folder that can be written gets new ones:

1. ``NUMBA_CACHE_DIR``, or else ``__pycache__`` beside the source,
2. the user's cache folder, such as ``~/.cache/clasher``,
3. ``clasher-UID`` in the folder for temporary files.

What Numba keeps is unpickled and run, so a folder that other users could have written to is left
out. The environment and the installation itself are trusted, as for any Python code.
"""

import functools
import inspect
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _Cache, _CacheLocator
from numba.misc.appdirs import AppDirs

logger = logging.getLogger(__name__)

NOWHERE = (
    "clasher: found no folder to keep compiled loops in, so every process compiles them; "
    "set NUMBA_CACHE_DIR to a folder that you can write to"
)
NO_SOURCES = (
    "clasher: its sources are not in a folder, so every process compiles its loops; "
    "install it instead of running it from an archive"
)
UNSAFE = (
    "clasher: {} is not used for compiled loops: other users can write to it; "
    "set NUMBA_CACHE_DIR to a folder that only you can write to"
)
UNMAPPED = 65534  # the owner of root's folders, seen from some containers


class Tally:
    """Counts the kernels that this process compiled or loaded, and the folder of the last one."""

    compiled = 0
    loaded = 0
    folder: str | None = None


def is_compiling() -> bool:
    """Whether kernels are compiled at all, not interpreted."""
    return not config.DISABLE_JIT


class Folders(NamedTuple):
    """The folders that may hold kernels, and the one that gets new ones; it is the last of them."""

    known: list[Path]
    new: Path | None


@functools.cache
def warn(text: str) -> None:
    """Log a warning once."""
    logger.warning(text)


@functools.cache
def folders(source: Path) -> Folders:
    """Return where compiled kernels of a folder of sources are kept."""
    known = []
    for folder, make, is_safe in _candidates(source):
        with suppress(OSError):
            make(folder)
        if not folder.is_dir():
            continue
        if not is_safe(folder):
            warn(UNSAFE.format(folder))
            continue
        known.append(folder)
        if _is_writable(folder):
            return Folders(known, folder)
    warn(NOWHERE)
    return Folders(known, None)


Candidate = tuple[Path, Callable[[Path], None], Callable[[Path], bool]]


def _candidates(source: Path) -> Iterator[Candidate]:
    """Yield folders, best first; how to make each, and how to tell that it is safe."""
    own = _CacheLocator.get_suitable_cache_subpath(str(source / "__init__.py"))
    if config.CACHE_DIR:
        given = Path(config.CACHE_DIR).absolute()
        yield given / own, _make, functools.partial(_is_as_safe, given)
    else:
        yield source / "__pycache__", _make, lambda _: True
    user = Path(AppDirs(appname="clasher", appauthor=False).user_cache_dir)
    if user.is_absolute():  # else nobody knows the user's home
        yield user / own, _make_private, is_private
    if hasattr(os, "getuid"):
        temporary = Path(tempfile.gettempdir(), f"clasher-{os.getuid()}")
        yield temporary / own, _make_private, is_private


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _make_private(folder: Path) -> None:
    """Make a folder, and the folder around it, for the user alone."""
    folder.parent.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for each in (folder.parent, folder):
        each.mkdir(exist_ok=True, mode=0o700)


def _is_writable(folder: Path) -> bool:
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _is_as_safe(given: Path, folder: Path) -> bool:
    """Tell whether only those can write to the folder who own it and the one that was given."""
    if not hasattr(os, "getuid"):
        return True
    found = folder.lstat()
    trusted = {0, os.getuid(), given.stat().st_uid}
    return found.st_uid in trusted and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o002


def is_private(folder: Path) -> bool:
    """Tell whether only this user and root can write to a folder, or put another in its place."""
    if not hasattr(os, "getuid"):  # Windows: these folders belong to the user
        return True
    me = os.getuid()
    for own in (folder, folder.parent):
        found = own.lstat()
        if found.st_uid != me or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
            return False
    for parent in {*folder.parent.parents, *folder.parent.resolve().parents}:
        found = parent.lstat()
        open_to_all = not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o002
        if (open_to_all and not found.st_mode & stat.S_ISVTX) or (
            found.st_uid not in (0, me, UNMAPPED)
        ):
            return False
    return True


class Kept(_Cache):
    """The compiled forms of a function, in the folders that may hold them.

    ``stamp`` changes with the sources of all kernels: code of other sources is never loaded.
    Without one nothing is kept.
    """

    def __init__(self, function: Callable[..., Any], stamp: str | None) -> None:
        self._known: list[FunctionCache] = []
        self._new: FunctionCache | None = None
        if stamp is None:
            warn(NO_SOURCES)
            return
        known, new = folders(Path(inspect.getfile(function)).absolute().parent)
        self._known = [_kind(folder, stamp)(function) for folder in known]
        if new is not None:
            self._new = self._known[-1]

    @property
    def cache_path(self) -> str | None:
        """The folder of new kernels."""
        return None if self._new is None else self._new.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        for cache in self._known:
            try:
                found = cache.load_overload(sig, target_context)
            except Exception:  # a damaged file: compile again
                continue
            if found is not None:
                Tally.loaded += 1
                Tally.folder = cache.cache_path
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        Tally.compiled += 1
        Tally.folder = self.cache_path
        if self._new is None:
            return
        try:
            try:
                self._new.save_overload(sig, data)
            except OSError:
                raise
            except Exception:  # its index is damaged
                self._new.flush()
                self._new.save_overload(sig, data)
        except OSError as error:
            warn(f"clasher: {self.cache_path} cannot keep compiled loops: {error.strerror}")

    def enable(self) -> None:
        for cache in self._known:
            cache.enable()

    def disable(self) -> None:
        for cache in self._known:
            cache.disable()

    def flush(self) -> None:
        if self._new is not None:
            self._new.flush()


@functools.cache
def _kind(folder: Path, stamp: str) -> type[FunctionCache]:
    """Return Numba's cache of a function, for this folder."""

    class Locator(_CacheLocator):
        def __init__(self, function: Callable[..., Any]) -> None:
            self._line = function.__code__.co_firstlineno

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return stamp

        def get_disambiguator(self) -> str:
            return str(self._line)

        @classmethod
        def from_function(cls, function: Callable[..., Any], _file: str) -> "Locator":
            return cls(function)

    class Files(CompileResultCacheImpl):
        _locator_classes = (Locator,)

    class Cache(FunctionCache):
        _impl_class = Files

    return Cache
