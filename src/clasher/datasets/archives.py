"""XML of unknown origin as a tree: no entities of its own making, nothing fetched.

A document that declares entities is refused, which rules out all that could be done with them:
expanding without end, reading files, asking the network. An outer DTD is never looked at. The
entities of HTML (``&eacute;``), which the DTDs of news formats have, are known all the same.

Members of tar and zip archives, read one by one and never unpacked to disk.

An archive may lie in another, as corpora are handed out: a tar with a zip for every day. Links,
devices and names that lead elsewhere mean nothing here, since nothing is written; a member is
refused when it holds more than a limit, whatever its header says.
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
from html.entities import html5
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, NoReturn, TypeAlias
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from clasher.errors import StreamError
from clasher.io.lines import BLOCK
from clasher.io.records import FaultError, invalid_utf8

LONGEST_MEMBER: Final = 16 << 20
"""The limit of a member that is read: 16 MiB, many times the longest news story."""

LONGEST_ARCHIVE: Final = 256 << 20
"""The limit of an archive within another: 256 MiB, many times a month of news."""

DEEPEST: Final = 2
"""How many archives may lie within each other below the outermost one."""

ARCHIVE: Final = re.compile(r"\.(zip|tar|tgz|tar\.(gz|xz|bz2))$", re.IGNORECASE)

UNREADABLE: Final = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError,
    # What zipfile raises for a password, an unknown compression and numbers out of range.
    RuntimeError, NotImplementedError, ValueError,
)  # fmt: skip

_COMPRESSED: Final[dict[bytes, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": partial(gzip.open, mode="rb"),
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_END: Final = 1024  # zeros at the end of a tar, at least

_Opener: TypeAlias = Callable[[], Any]
_Explain: TypeAlias = Callable[[Exception], Exception]


class Member(NamedTuple):
    """A file in an archive or a folder; ``read`` raises a ``FaultError`` about this one alone."""

    name: str
    read: Callable[[], bytes]


def members(
    path: Path,
    wanted: re.Pattern[str],
    *,
    key: Callable[[str], Any] = str,
    longest: int = LONGEST_MEMBER,
) -> Generator[Member]:
    """The members whose names fit ``wanted``, of an archive and of those within it.

    Those of a zip come in the order of ``key(name)``; those of a tar as they stand in it, and each
    has to be read before the next is asked for.

    Raises
    ------
    StreamError
        The archive, or one within it, is damaged or cut off.
    """
    try:
        with open(path, "rb") as file:
            yield from _Walk(wanted, key, longest).members(file, str(path), 0)
    except OSError as error:
        raise damaged(str(path), error) from error


def files(
    folder: Path,
    pattern: str,
    *,
    key: Callable[[str], Any] = str,
    longest: int = LONGEST_MEMBER,
) -> Generator[Member]:
    """The files of a folder that fit a pattern, such as members that were unpacked by hand."""
    for path in sorted(folder.glob(pattern), key=lambda path: key(path.name)):
        opener = partial(path.open, "rb")
        yield _member(path.as_posix(), opener, path.stat().st_size, longest, _fault)


def damaged(name: str, error: Exception) -> StreamError:
    """The one sentence for an archive that cannot be read to its end."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        return StreamError(f"{name} cannot be read: {error.strerror}")
    return StreamError(f"{name} is damaged or not all there ({_reason(error)}); get it again")


class _Walk:
    """What is looked for in an archive and those within it."""

    def __init__(self, wanted: re.Pattern[str], key: Callable[[str], Any], longest: int) -> None:
        self.wanted = wanted
        self.key = key
        self.longest = longest

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
                yield from self._found(
                    f"{name}/{entry.filename}",
                    partial(archive.open, entry),
                    entry.file_size,
                    _fault,
                    depth,
                )

    def _tar(self, file: IO[bytes], name: str, depth: int) -> Iterator[Member]:
        def cut_off(error: Exception) -> Exception:
            return damaged(name, error)  # whatever follows is lost too

        try:
            stream = _decompressed(file)
            # As a stream: nothing is sought, and a tar cannot send its reader elsewhere.
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                while (entry := archive.next()) is not None:
                    archive.members = []  # type: ignore[attr-defined]  # it would keep them all
                    if entry.isreg():
                        yield from self._found(
                            f"{name}/{entry.name}",
                            partial(archive.extractfile, entry),
                            entry.size,
                            cut_off,
                            depth,
                        )
            while stream.read(BLOCK):  # to the checksum at the end, which a cut would take away
                pass
        except UNREADABLE as error:
            raise cut_off(error) from error

    def _found(
        self, name: str, opener: _Opener, size: int, explain: _Explain, depth: int
    ) -> Iterator[Member]:
        if self.wanted.search(name):
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
            raise FaultError(f"it holds more than {longest:,} bytes, which no document does")
        try:
            with opener() as file:
                content: bytes = file.read(size)
        except UNREADABLE as error:
            raise explain(error) from error
        return content

    return Member(name, read)


def _decompressed(file: IO[bytes]) -> IO[bytes]:
    """The tar itself; one that is not compressed must end as tars do, with zeros."""
    magic = file.read(6)
    file.seek(0)
    for start, opener in _COMPRESSED.items():
        if magic.startswith(start):
            stream: IO[bytes] = opener(file)
            return stream
    file.seek(max(file.seek(0, io.SEEK_END) - _END, 0))
    if file.read() != bytes(_END):
        raise EOFError("it has no end")
    file.seek(0)
    return file


def _fault(error: Exception) -> Exception:
    return FaultError(f"it is damaged ({_reason(error)})")


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


_ENCODING = re.compile(rb"<\?xml[^>]*\bencoding=[\"']([\w.-]+)")
_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]


def parse(raw: bytes) -> Element:
    """The root of a document.

    Raises
    ------
    FaultError
        It is not well-formed, not in the encoding it says, or declares entities.

    Examples
    --------
    >>> parse(b"<p>caf&eacute; &amp; bar</p>").text
    'café & bar'
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.UseForeignDTD(True)  # entities that an outer DTD may declare are skipped, not errors
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _refuse
    parser.SkippedEntityHandler = lambda name, _: builder.data(_character(name))
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise _broken(raw, error) from error
    except (LookupError, ValueError) as error:
        raise FaultError(f"its encoding is unknown ({error})") from error
    return builder.close()


def text_of(element: Element | None) -> str:
    """All text within an element.

    >>> text_of(parse(b"<p>wheat <b>and</b> corn</p>"))
    'wheat and corn'
    """
    return "" if element is None else "".join(element.itertext())


def _refuse(name: str, *_: Any) -> NoReturn:
    raise FaultError(f"it declares an entity, {name!r}, which no document of this corpus does")


def _character(name: str) -> str:
    if f"{name};" not in html5:
        raise FaultError(f"entity &{name}; is unknown")
    return html5[f"{name};"]


def _broken(raw: bytes, error: expat.ExpatError) -> FaultError:
    declared = _ENCODING.match(raw)
    if error.code == _INVALID_TOKEN and (declared is None or declared[1].lower() == b"utf-8"):
        try:
            raw.decode()
        except UnicodeDecodeError:
            return invalid_utf8(raw)
    reason = expat.ErrorString(error.code)
    return FaultError(f"broken XML: {reason} (line {error.lineno}, column {error.offset + 1})")
