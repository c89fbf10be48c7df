"""Write files that survive a power cut: the only module that flushes and renames.

``replaced`` writes a file whole or not at all: to a temporary file beside it, which is flushed and
renamed; then the folder is flushed. The other functions are its steps, for data folders.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(path: str | os.PathLike[str], *, flushed: bool = True) -> Iterator[str]:
    """Yield the name of a temporary file, then put that file in the place of ``path``.

    The new file keeps the permissions of the old one. If the block raises, ``path`` stays as it
    was. ``flushed=False`` skips the flushes, for files that need not survive a power cut.

    >>> with replaced("/dev/null") as scratch:
    ...     pass
    Traceback (most recent call last):
    OSError: it is not an ordinary file
    """
    target = os.path.realpath(os.fsdecode(path))
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError("it is not an ordinary file")
    scratch = f"{target}.{secrets.token_hex(4)}.tmp"
    try:
        with open(scratch, "xb"):  # gets the permissions of a new file
            mode = os.stat(target if os.path.exists(target) else scratch).st_mode
        yield scratch
        with open(scratch, "rb+") as file:
            os.chmod(scratch, stat.S_IMODE(mode))
            if flushed:
                flush(file.fileno())
        os.replace(scratch, target)
    finally:
        if os.path.exists(scratch):
            os.unlink(scratch)
    if flushed:
        flush_folder(os.path.dirname(target))


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by ``text``; write to a device or a named pipe as it is."""
    is_device = os.path.exists(path) and not os.path.isfile(path)
    place = nullcontext(path) if is_device else replaced(path)
    with place as name, open(name, "w", encoding="utf-8") as file:
        file.write(text)


def replace_bytes(path: Path, content: bytes) -> None:
    """Replace a file of a locked folder; a crash leaves one scratch file, which the next reuses."""
    scratch = path.with_name(f"{path.name}.tmp")
    scratch.unlink(missing_ok=True)
    write(scratch, content)
    rename(scratch, path)


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file for writing and flush it; its name is durable after ``flush_folder``."""
    with path.open("xb") as file:
        yield file
        file.flush()
        flush(file.fileno())


def write(path: Path, content: bytes) -> None:
    """Write a new file and flush it; its name is durable after ``flush_folder``."""
    with new_file(path) as file:
        file.write(content)


def rename(source: Path, target: Path) -> None:
    """Rename a file or a folder, and flush the folder it is in."""
    source.rename(target)
    flush_folder(target.parent)


def link(source: Path, path: Path) -> None:
    """Hard-link a file to ``path``, replacing any file there; not flushed."""
    scratch = path.with_name(f"{path.name}.tmp")
    scratch.unlink(missing_ok=True)
    os.link(source, scratch)
    scratch.replace(path)


def delete_folder(folder: Path) -> None:
    """Delete a folder; rename it to ``*.tmp`` first, so that half of it never looks whole."""
    gone = folder.with_suffix(".tmp")
    folder.rename(gone)
    shutil.rmtree(gone)


def flush(descriptor: int) -> None:
    """Flush an open file."""
    os.fsync(descriptor)


def flush_folder(folder: str | os.PathLike[str]) -> None:
    """Flush the names in a folder: new, renamed and deleted files. Windows cannot."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, and flush their names."""
    if not folder.is_dir():
        if folder.parent != folder:
            make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def size(folder: Path) -> int:
    """Add up the sizes of all files below a folder; skip files that vanish meanwhile."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(where, name)).st_size
            except FileNotFoundError:
                continue
    return total
