"""Disks that fail: an ext4 image without power, a small one, and calls that return errors."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHUTDOWN = 0x8004587D  # FS_IOC_SHUTDOWN: _IOR('X', 125, __u32)
NOLOGFLUSH = struct.pack("I", 2)  # neither data nor journal: as if the power were cut
IMAGE_BYTES = 64 * 2**20
SMALL_BYTES = 4 * 2**20


def needs() -> list[str]:
    """Return the missing tools and rights."""
    missing = [f"{tool} (package {package})" for tool, package in TOOLS.items() if not _has(tool)]
    return missing + ([] if os.geteuid() == 0 else ["root"])


TOOLS = {"strace": "strace", "mkfs.ext4": "e2fsprogs", "mount": "mount"}


class Image:
    """A file system in a file, mounted; its power can be cut."""

    def __init__(self, base: Path) -> None:
        self._image = base / "disk.img"
        self.mounted = base / "disk"
        self.mounted.mkdir()
        with self._image.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        _run("mkfs.ext4", "-q", "-F", self._image)
        self._mount()

    def cut_power(self) -> None:
        """Lose everything that is not on disk, and let nothing more reach it."""
        descriptor = os.open(self.mounted, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, NOLOGFLUSH)
        finally:
            os.close(descriptor)

    def mount_again(self) -> None:
        """Restore the power: mount, which replays the journal of the file system."""
        _run("umount", self.mounted)
        self._mount()

    def close(self) -> None:
        """Unmount."""
        _run("umount", self.mounted)

    def _mount(self) -> None:
        _run("mount", "-o", "loop", self._image, self.mounted)


class Small:
    """A small disk that can be filled."""

    def __init__(self, base: Path) -> None:
        self.mounted = base / "small"
        self.mounted.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "none", self.mounted)

    def fill(self, leaving: int) -> None:
        """Fill the disk up to ``leaving`` bytes."""
        room = os.statvfs(self.mounted)
        free = room.f_bavail * room.f_frsize
        (self.mounted / "ballast").write_bytes(b"\0" * max(0, free - leaving))

    def make_room(self) -> None:
        """Delete the filler."""
        (self.mounted / "ballast").unlink()

    def close(self) -> None:
        """Unmount."""
        _run("umount", self.mounted)


@contextmanager
def failing(pid: int, calls: str, error: str, when: str) -> Iterator[None]:
    """Let system calls of a process fail: which calls, with which error, from which one on."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", os.devnull, "-p", str(pid), "-e", f"trace={calls}",
         "-e", f"inject={calls}:error={error}:when={when}"],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until = time.monotonic() + 10.0
        while not _is_traced(pid):
            if time.monotonic() > until or tracer.poll() is not None:
                raise RuntimeError("strace could not be attached")
            time.sleep(0.001)
        yield
    finally:
        tracer.terminate()
        tracer.wait()


def _is_traced(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return "TracerPid:\t0\n" not in status


def _has(tool: str) -> bool:
    return any(os.access(Path(folder) / tool, os.X_OK) for folder in _PATH)


_PATH = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/sbin"]


def _run(*command: object) -> None:
    environment = {**os.environ, "PATH": os.pathsep.join(_PATH)}
    subprocess.run([str(part) for part in command], check=True, env=environment)
