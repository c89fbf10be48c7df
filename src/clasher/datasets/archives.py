"""Members of tar and zip archives, read one by one and never unpacked to disk.

Archives may be nested: some corpora are a tar with a zip for every day. Links, devices and names
that lead elsewhere are harmless, since nothing is written; a member above a size limit is refused,
whatever its header says.
"""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from clasher.errors import StreamError
from clasher.io.formats import compression_of
from clasher.io.lines import BLOCK
from clasher.io.records import FaultError

LONGEST_MEMBER: Final = 16 << 20  # bytes: many times the longest news story
LONGEST_ARCHIVE: Final = 256 << 20  # bytes of a nested archive: many times a month of news
DEEPEST: Final = 2  # levels of nested archives

ARCHIVE: Final = re.compile(r"\.(zip|tar|tgz|tar\.(gz|xz|bz2))$", re.IGNORECASE)

UNREADABLE: Final = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError,
    # zipfile raises these for a password, an unknown compression, numbers out of range:
    RuntimeError, NotImplementedError, ValueError,
)  # fmt: skip

_OPENERS: Final[dict[Any, Any]] = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_END: Final = 1024  # the least zeros at the end of a tar


@dataclass(frozen=True)
class Member:
    """A file in an archive or a folder."""

    name: str
    size: int
    open: Callable[[], Any]
    tar: str | None = None  # where it is; damage there loses all that follows too

    def read(self, longest: int = LONGEST_MEMBER) -> bytes:
        """Read it all; raise ``FaultError`` if this file is bad."""
        if self.size > longest:
            raise FaultError(f"it is longer than {longest:,} bytes, which no document is")
        try:
            with self.open() as file:
                return bytes(file.read(self.size))
        except UNREADABLE as error:
            if self.tar is not None:
                raise damaged(self.tar, error) from error
            raise FaultError(f"it is damaged ({_reason(error)})") from error


def members(
    path: Path, pattern: re.Pattern[str], *, glob: str = "*", key: Callable[[str], Any] = str
) -> Generator[Member]:
    """Yield the members of an archive, and of nested ones, whose names match ``pattern``.

    Members of a zip come in the order of ``key(name)``; those of a tar in the order of the file,
    and each has to be read before the next. ``StreamError``: one of them is damaged or cut off.
    The members of a folder are its files that match ``glob``, in the order of ``key(name)``.
    """
    if path.is_dir():
        for each in sorted(path.glob(glob), key=lambda file: key(file.name)):
            yield Member(each.as_posix(), each.stat().st_size, partial(each.open, "rb"))
        return
    try:
        with open(path, "rb") as file:
            yield from _walk(file, str(path), pattern, key, 0)
    except OSError as error:
        raise damaged(str(path), error) from error


def damaged(name: str, error: Exception) -> StreamError:
    """Return the error for a file that cannot be read to its end."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        return StreamError(f"{name} cannot be read: {error.strerror}")
    return StreamError(f"{name} is damaged or incomplete ({_reason(error)}); get it again")


def _walk(
    file: IO[bytes], name: str, pattern: re.Pattern[str], key: Callable[[str], Any], depth: int
) -> Iterator[Member]:
    for member in _entries(file, name, key):
        if pattern.search(member.name):
            yield member
        elif ARCHIVE.search(member.name) and depth < DEEPEST:
            try:
                content = io.BytesIO(member.read(LONGEST_ARCHIVE))
            except FaultError as fault:
                raise StreamError(f"{member.name}: {fault}; get it again") from fault
            yield from _walk(content, member.name, pattern, key, depth + 1)


def _entries(file: IO[bytes], name: str, key: Callable[[str], Any]) -> Iterator[Member]:
    is_zip = file.read(2) == b"PK"
    file.seek(0)
    archive: Any
    try:
        if is_zip:
            with zipfile.ZipFile(file) as archive:
                inside = [entry for entry in archive.infolist() if not entry.is_dir()]
                for entry in sorted(inside, key=lambda entry: key(entry.filename)):
                    inner = f"{name}/{entry.filename}"
                    yield Member(inner, entry.file_size, partial(archive.open, entry))
            return
        opener = _OPENERS.get(compression_of(file.read(6)))
        if opener is None:  # a tar ends with zeros
            file.seek(max(file.seek(0, io.SEEK_END) - _END, 0))
            if file.read() != bytes(_END):
                raise EOFError("its end is missing")
        file.seek(0)
        stream = file if opener is None else opener(file)
        # As a stream: without seeking, a tar cannot send its reader elsewhere.
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            while (entry := archive.next()) is not None:
                archive.members = []  # tarfile would keep them all
                if entry.isreg():
                    inner = f"{name}/{entry.name}"
                    yield Member(inner, entry.size, partial(archive.extractfile, entry), name)
        while stream.read(BLOCK):  # to the checksum at the end, to notice a cut
            pass
    except UNREADABLE as error:
        raise damaged(name, error) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
