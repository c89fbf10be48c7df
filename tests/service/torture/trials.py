"""The trials: crash a service in one way, then check what is left."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clasher import durable
from clasher.service.engine import DISK_FAILED
from clasher.service.options import EngineOptions
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


class Trials:
    """Trials of one kind, in a folder of their own."""

    def __init__(self, base: Path, seed: int, bug: str | None) -> None:
        self.base, self.seed, self.bug = base, seed, bug
        self.acknowledged = 0
        self._series: Series | None = None

    def run(self, number: int) -> list[str]:
        """Run one trial; return what went wrong."""
        draw = random.Random(f"{self.seed}/{number}")
        if self._series is None or number % SERIES == 0:
            self._fresh(number, draw)
        assert self._series is not None
        before = len(self._series.acks)
        found = self._crash(self._series, draw, number)
        self.acknowledged += len(self._series.acks) - before
        found += checked(self._series.plan(), self._series.acks, self.bug)
        if found:
            self._series = None
        return found

    def _fresh(self, number: int, draw: random.Random) -> None:
        shutil.rmtree(self._root() / "data", ignore_errors=True)
        durable.flush_folder(self._root())  # or a power cut brings the old folder back
        only_learn = bool(number // SERIES % 2)
        self._series = Series(self._root() / "data", draw.randrange(2**32), only_learn)

    def _root(self) -> Path:
        return self.base

    def _crash(self, series: Series, draw: random.Random, number: int) -> list[str]:
        raise NotImplementedError

    def summary(self) -> str:
        """Count the acknowledged requests."""
        return f"{self.acknowledged} acknowledged"

    def close(self) -> None:
        """Clean up."""


class Kill(Trials):
    """Send ``kill -9`` at a random moment."""

    def _crash(self, series: Series, draw: random.Random, number: int) -> list[str]:
        child = Child(series.plan(), self.bug)
        child.listen(draw.uniform(0.0, 0.25))
        child.kill()
        child.wait()
        series.hear(child)
        return []


class PowerCut(Trials):
    """Cut the power: everything that was not flushed is lost.

    The process outlives the power cut here, and a flush that was under way may even return without
    an error. Acknowledgements after the cut therefore do not count.
    """

    def __init__(self, base: Path, seed: int, bug: str | None) -> None:
        super().__init__(base, seed, bug)
        self._disk = disks.Image(base)

    def _root(self) -> Path:
        return self._disk.mounted

    def _crash(self, series: Series, draw: random.Random, number: int) -> list[str]:
        child = Child(series.plan(), self.bug)
        child.listen(draw.uniform(0.0, 0.4))
        child.fall_silent()
        self._disk.cut_power()
        child.kill()
        child.wait()
        series.hear(child)
        self._disk.mount_again()
        return []

    def close(self) -> None:
        self._disk.close()


class Errors(Trials):
    """Let a system call fail: the k-th write, flush or rename, or all from there on."""

    CALLS = ("write,pwrite64,writev", "fsync,fdatasync", "rename,renameat,renameat2")
    ERRORS = ("EIO", "ENOSPC")
    REQUESTS = 12  # of each client

    def _crash(self, series: Series, draw: random.Random, number: int) -> list[str]:
        calls = self.CALLS[number % len(self.CALLS)]
        place = 1 + int(draw.expovariate(1 / (3 if "rename" in calls else 12)))
        when = f"{place}{draw.choice(['', '+'])}"
        child = Child(series.plan(self.REQUESTS), self.bug, waits=True)
        with disks.failing(child.pid, calls, draw.choice(self.ERRORS), when):
            child.go()
            code = child.wait()
        series.hear(child)
        return [] if code in (0, DISK_FAILED, NOT_OPENED) else [f"ended with {code}"]


class FullDisk(Trials):
    """Fill a small disk, then make room again."""

    def __init__(self, base: Path, seed: int, bug: str | None) -> None:
        super().__init__(base, seed, bug)
        self._disk = disks.Small(base)

    def _root(self) -> Path:
        return self._disk.mounted

    def _crash(self, series: Series, draw: random.Random, number: int) -> list[str]:
        self._disk.fill(leaving=draw.randrange(0, 300_000))
        child = Child(series.plan(), self.bug)
        code = child.wait()
        series.hear(child)
        self._disk.make_room()
        return [] if code in (DISK_FAILED, NOT_OPENED) else [f"ended with {code} on a full disk"]

    def close(self) -> None:
        self._disk.close()


class Spoilt(Trials):
    """Cut the newest snapshot off, or flip one of its bits: at every byte, one after another.

    The log is compacted, so the service must fall back on the previous snapshot.
    """

    def _fresh(self, number: int, draw: random.Random) -> None:
        super()._fresh(SERIES, draw)
        if self._whole.exists():
            return
        assert self._series is not None
        child = Child(self._series.plan(most=20), None)
        if child.wait() != 0:
            raise RuntimeError("could not make the folder to damage")
        self._acks = child.acks
        self._series.folder.rename(self._whole)

    @property
    def _whole(self) -> Path:
        return self.base / "whole"

    def _crash(self, series: Series, draw: random.Random, number: int) -> list[str]:
        shutil.rmtree(series.folder, ignore_errors=True)
        shutil.copytree(self._whole, series.folder)
        series.acks = list(self._acks)
        newest = max((series.folder / "snapshots").iterdir())
        files = sorted(newest.iterdir())
        file = files[number % len(files)]
        spoil(file, number // len(files) // 2, cut=bool(number // len(files) % 2))
        return []

    def run(self, number: int) -> list[str]:
        """Run one trial; the service must also report the damage."""
        found = super().run(number)
        if not list((self.base / "data" / "snapshots").glob("*.damaged")):
            found.append("the damaged snapshot was not reported")
        return found


def spoil(file: Path, place: int, *, cut: bool) -> None:
    """Cut a file off at a byte, or flip a bit of it."""
    raw = bytearray(file.read_bytes())
    place %= len(raw)
    if cut:
        del raw[place:]
    else:
        raw[place] ^= 1 << place % 8
    file.write_bytes(raw)


KINDS: dict[str, Callable[[Path, int, str | None], Trials]] = {
    "kill": Kill, "power": PowerCut, "errors": Errors, "full": FullDisk, "spoilt": Spoilt,
}  # fmt: skip
