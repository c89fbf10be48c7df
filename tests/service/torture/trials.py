"""The trials: crash a service in one way, then check what is left."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from clasher import durable
from clasher.service.structs import EngineOptions
from tests.service.torture import disks
from tests.service.torture.check import Ack, next_places
from tests.service.torture.load import Plan
from tests.service.torture.processes import NOT_OPENED, Child, checked

SERIES = 8  # crashes that a folder goes through
COMPACTING = EngineOptions(snapshot_documents=25, log_bytes=1)


@dataclass
class Series:
    """A folder, and all requests acknowledged since it was made."""

    folder: Path
    seed: int
    only_learn: bool = False
    acks: list[Ack] = field(default_factory=list)

    def plan(self, most: int = 10**9) -> Plan:
        """Plan the next run: repeat requests that were not acknowledged."""
        options = {"options": COMPACTING} if self.only_learn else {}
        return Plan(
            self.folder, self.seed, next_places(self.acks), most, self.only_learn, **options
        )

    def hear(self, child: Child) -> None:
        """Note the acknowledged requests of a process."""
        self.acks += child.acks


class Crash(Protocol):
    """One way to crash a service, in the folder ``root``."""

    root: Path

    def __call__(self, series: Series, draw: random.Random, number: int) -> list[str]:
        """Run a service until it crashes; return what went wrong."""

    def check(self, series: Series) -> list[str]:
        """Check the folder after the restart."""

    def close(self) -> None:
        """Clean up."""


class Trials:
    """Trials of one kind of crash, in series that share a folder."""

    def __init__(self, seed: int, bug: str | None, crash: Crash) -> None:
        self.seed, self.bug = seed, bug
        self.acknowledged = 0
        self._crash = crash
        self._series: Series | None = None

    def run(self, number: int) -> list[str]:
        """Run one trial; return what went wrong."""
        draw = random.Random(f"{self.seed}/{number}")
        series = self._series
        if series is None or number % SERIES == 0:
            series = self._new_series(number, draw)
        before = len(series.acks)
        found = self._crash(series, draw, number)
        self.acknowledged += len(series.acks) - before
        found += checked(series.plan(), series.acks, self.bug) + self._crash.check(series)
        self._series = None if found else series
        return found

    def _new_series(self, number: int, draw: random.Random) -> Series:
        root = self._crash.root
        shutil.rmtree(root / "data", ignore_errors=True)
        durable.flush_folder(root)  # or a power cut brings the old folder back
        return Series(root / "data", draw.randrange(2**32), bool(number // SERIES % 2))

    def summary(self) -> str:
        """Count the acknowledged requests."""
        return f"{self.acknowledged} acknowledged"

    def close(self) -> None:
        """Clean up."""
        self._crash.close()


class Kill:
    """Send ``kill -9`` at a random moment."""

    def __init__(self, base: Path, bug: str | None) -> None:
        self.root, self._bug = base, bug

    def __call__(self, series: Series, draw: random.Random, number: int) -> list[str]:
        child = Child(series.plan(), self._bug)
        child.listen(draw.uniform(0.0, 0.25))
        child.kill()
        child.wait()
        series.hear(child)
        return []

    def check(self, series: Series) -> list[str]:
        return []

    def close(self) -> None:
        pass


class PowerCut:
    """Cut the power: everything that was not flushed is lost.

    The process outlives the power cut here, and a flush that was under way may even return without
    an error. Acknowledgements after the cut therefore do not count.
    """

    def __init__(self, base: Path, bug: str | None) -> None:
        self._bug, self._disk = bug, disks.Image(base)
        self.root = self._disk.mounted

    def __call__(self, series: Series, draw: random.Random, number: int) -> list[str]:
        child = Child(series.plan(), self._bug)
        child.listen(draw.uniform(0.0, 0.4))
        child.fall_silent()
        self._disk.cut_power()
        child.kill()
        child.wait()
        series.hear(child)
        self._disk.mount_again()
        return []

    def check(self, series: Series) -> list[str]:
        return []

    def close(self) -> None:
        self._disk.close()


class Errors:
    """Let a system call fail: the k-th write, flush or rename, or all from there on."""

    CALLS = ("write,pwrite64,writev", "fsync,fdatasync", "rename,renameat,renameat2")
    ERRORS = ("EIO", "ENOSPC")
    REQUESTS = 12  # of each client

    def __init__(self, base: Path, bug: str | None) -> None:
        self.root, self._bug = base, bug

    def __call__(self, series: Series, draw: random.Random, number: int) -> list[str]:
        calls = self.CALLS[number % len(self.CALLS)]
        place = 1 + int(draw.expovariate(1 / (3 if "rename" in calls else 12)))
        when = f"{place}{draw.choice(['', '+'])}"
        child = Child(series.plan(self.REQUESTS), self._bug, waits=True)
        with disks.failing(child.pid, calls, draw.choice(self.ERRORS), when):
            child.go()
            code = child.wait()
        series.hear(child)
        return [] if code in (0, os.EX_IOERR, NOT_OPENED) else [f"ended with {code}"]

    def check(self, series: Series) -> list[str]:
        return []

    def close(self) -> None:
        pass


class FullDisk:
    """Fill a small disk, then make room again."""

    def __init__(self, base: Path, bug: str | None) -> None:
        self._bug, self._disk = bug, disks.Small(base)
        self.root = self._disk.mounted

    def __call__(self, series: Series, draw: random.Random, number: int) -> list[str]:
        self._disk.fill(leaving=draw.randrange(0, 300_000))
        child = Child(series.plan(), self._bug)
        code = child.wait()
        series.hear(child)
        self._disk.make_room()
        return [] if code in (os.EX_IOERR, NOT_OPENED) else [f"ended with {code} on a full disk"]

    def check(self, series: Series) -> list[str]:
        return []

    def close(self) -> None:
        self._disk.close()


class Spoilt:
    """Cut the newest snapshot off, or flip one of its bits: at every byte, one after another.

    The log is compacted, so the service must fall back on the previous snapshot.
    """

    def __init__(self, base: Path, bug: str | None) -> None:
        self.root, self._bug = base, bug
        self._acks: list[Ack] = []

    def __call__(self, series: Series, draw: random.Random, number: int) -> list[str]:
        series.only_learn = True
        intact = self.root / "intact"
        if not intact.exists():
            child = Child(series.plan(most=20), None)
            if child.wait() != 0:
                raise RuntimeError("could not make the folder to damage")
            self._acks = child.acks
            series.folder.rename(intact)
        shutil.rmtree(series.folder, ignore_errors=True)
        shutil.copytree(intact, series.folder)
        series.acks = list(self._acks)
        files = sorted(max((series.folder / "snapshots").iterdir()).iterdir())
        file = files[number % len(files)]
        spoil(file, number // len(files) // 2, cut=bool(number // len(files) % 2))
        return []

    def check(self, series: Series) -> list[str]:
        if list((series.folder / "snapshots").glob("*.damaged")):
            return []
        return ["the damaged snapshot was not reported"]

    def close(self) -> None:
        pass


def spoil(file: Path, place: int, *, cut: bool) -> None:
    """Cut a file off at a byte, or flip a bit of it."""
    raw = bytearray(file.read_bytes())
    place %= len(raw)
    if cut:
        del raw[place:]
    else:
        raw[place] ^= 1 << place % 8
    file.write_bytes(raw)


CRASHES: dict[str, Callable[[Path, str | None], Crash]] = {
    "kill": Kill, "power": PowerCut, "errors": Errors, "full": FullDisk, "spoilt": Spoilt,
}  # fmt: skip


def trials_of(kind: str, base: Path, seed: int, bug: str | None) -> Trials:
    """Make the trials of one kind."""
    return Trials(seed, bug, CRASHES[kind](base, bug))


KINDS = {kind: partial(trials_of, kind) for kind in CRASHES}
