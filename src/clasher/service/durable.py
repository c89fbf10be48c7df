"""Files that are there after a power cut: the one place where things are flushed."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write a new file and flush it; its name is durable after ``flush_folder``."""
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Make the names in a folder durable: those of new, renamed and deleted files."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(source: Path, target: Path) -> None:
    """Give a file or a folder its final name, for good."""
    source.rename(target)
    flush_folder(target.parent)


def make_folder(folder: Path) -> None:
    """Make a folder that is there after a power cut, and those above it."""
    if not folder.is_dir():
        if folder.parent != folder:
            make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def size(folder: Path) -> int:
    """Bytes of all files below a folder; those that vanish meanwhile count nothing."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(where, name)).st_size
            except FileNotFoundError:
                continue
    return total
