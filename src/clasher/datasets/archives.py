"""Members of tar and zip archives, read one by one and never unpacked to disk.

Archives may be nested: some corpora are a tar with a zip for every day. Links, devices and names
that lead elsewhere are harmless, since nothing is written; a member above a size limit is refused,
whatever its header says.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TypeAlias

from clasher.errors import StreamError
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

_COMPRESSED: Final[dict[bytes, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": partial(gzip.open, mode="rb"),
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_END: Final = 1024  # the least zeros at the end of a tar

_Opener: TypeAlias = Callable[[], Any]
_Explain: TypeAlias = Callable[[Exception], Exception]


class Member(NamedTuple):
    """A file in an archive or a folder; ``read`` raises ``FaultError`` if this file is bad."""

    name: str
    read: Callable[[], bytes]


def members(
    path: Path,
    pattern: re.Pattern[str],
    *,
    key: Callable[[str], Any] = str,
    longest: int = LONGEST_MEMBER,
) -> Generator[Member]:
    """Yield the members of an archive, and of nested ones, whose names match ``pattern``.

    Members of a zip come in the order of ``key(name)``; those of a tar in the order of the file,
    and each has to be read before the next. ``StreamError``: one of them is damaged or cut off.
    """
    try:
        with open(path, "rb") as file:
            yield from _Walk(pattern, key, longest).members(file, str(path), 0)
    except OSError as error:
        raise damaged(str(path), error) from error


def files(
    folder: Path, pattern: str, *, key: Callable[[str], Any] = str, longest: int = LONGEST_MEMBER
) -> Generator[Member]:
    """Yield the files of a folder that match a pattern, such as unpacked members."""
    for path in sorted(folder.glob(pattern), key=lambda path: key(path.name)):
        opener = partial(path.open, "rb")
        yield _member(path.as_posix(), opener, path.stat().st_size, longest, _fault)


def damaged(name: str, error: Exception) -> StreamError:
    """Return the error for a file that cannot be read to its end."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        return StreamError(f"{name} cannot be read: {error.strerror}")
    return StreamError(f"{name} is damaged or incomplete ({_reason(error)}); get it again")


class _Walk(NamedTuple):
    pattern: re.Pattern[str]
    key: Callable[[str], Any]
    longest: int

    def members(self, file: IO[bytes], name: str, depth: int) -> Iterator[Member]:
        walk = self._zip if file.read(2) == b"PK" else self._tar
        file.seek(0)
        yield from walk(file, name, depth)

    def _zip(self, file: IO[bytes], name: str, depth: int) -> Iterator[Member]:
        try:
            archive = zipfile.ZipFile(file)
        except UNREADABLE as error:
            raise damaged(name, error) from error
        with archive:
            inside = [entry for entry in archive.infolist() if not entry.is_dir()]
            for entry in sorted(inside, key=lambda entry: self.key(entry.filename)):
                inner, opener = f"{name}/{entry.filename}", partial(archive.open, entry)
                yield from self._found(inner, opener, entry.file_size, _fault, depth)

    def _tar(self, file: IO[bytes], name: str, depth: int) -> Iterator[Member]:
        def cut_off(error: Exception) -> Exception:
            return damaged(name, error)  # all that follows is lost too

        try:
            stream = _decompressed(file)
            # As a stream: without seeking, a tar cannot send its reader elsewhere.
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                while (entry := archive.next()) is not None:
                    archive.members = []  # type: ignore[attr-defined]  # tarfile would keep them all
                    if entry.isreg():
                        inner, opener = f"{name}/{entry.name}", partial(archive.extractfile, entry)
                        yield from self._found(inner, opener, entry.size, cut_off, depth)
            while stream.read(BLOCK):  # to the checksum at the end, to notice a cut
                pass
        except UNREADABLE as error:
            raise cut_off(error) from error

    def _found(
        self, name: str, opener: _Opener, size: int, explain: _Explain, depth: int
    ) -> Iterator[Member]:
        if self.pattern.search(name):
            yield _member(name, opener, size, self.longest, explain)
        elif ARCHIVE.search(name) and depth < DEEPEST:
            try:
                content = _member(name, opener, size, LONGEST_ARCHIVE, explain).read()
            except FaultError as fault:
                raise StreamError(f"{name}: {fault}; get it again") from fault
            yield from self.members(io.BytesIO(content), name, depth + 1)


def _member(name: str, opener: _Opener, size: int, longest: int, explain: _Explain) -> Member:
    def read() -> bytes:
        if size > longest:
            raise FaultError(f"it is longer than {longest:,} bytes, which no document is")
        try:
            with opener() as file:
                content: bytes = file.read(size)
        except UNREADABLE as error:
            raise explain(error) from error
        return content

    return Member(name, read)


def _decompressed(file: IO[bytes]) -> IO[bytes]:
    """Decompress a tar; check that an uncompressed one ends with zeros, as tars do."""
    magic = file.read(6)
    file.seek(0)
    for start, opener in _COMPRESSED.items():
        if magic.startswith(start):
            stream: IO[bytes] = opener(file)
            return stream
    file.seek(max(file.seek(0, io.SEEK_END) - _END, 0))
    if file.read() != bytes(_END):
        raise EOFError("its end is missing")
    file.seek(0)
    return file


def _fault(error: Exception) -> Exception:
    return FaultError(f"it is damaged ({_reason(error)})")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
