"""The trials: topics, ends at random moments, and a look at what was learnt of them."""

from __future__ import annotations

import json
import os
import random
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clasher import Clasher
from clasher.io.connectors.kafka.transactions import Transactions
from support.servers.kafka import Broker, KafkaServer, MockBroker, RunningBroker
from support.servers.kafka_messages import create, fill, outputs
from tests.flow import plain
from tests.flow.plain import Record
from tests.flow.runs import run
from tests.flow.torture import processes
from tests.flow.torture.processes import Forked
from tests.io.connectors.kafka.torture.bugs import BUGS

COUNT = 240  # documents of a topic
PARTITIONS = 4
DEATHS = 2  # at most, of a trial
SNAPSHOT = 20  # documents between two snapshots
MOMENT = 0.12  # seconds after a snapshot at which a flow is killed, at most
WIDE = 0.02  # seconds between what is noted and its commit
OFTEN = {"idle": 5.0, "enough": COUNT, "snapshot_documents": SNAPSHOT}
SOON = {"session.timeout.ms": 1000, "heartbeat.interval.ms": 200}
POISON = (b"{", b"\xff", b'{"text": 7}', b"[]", None)


class Trials:
    """Trials of one kind, each with a topic and a folder of its own."""

    def __init__(self, base: Path, seed: int, bug: str | None) -> None:
        self.base, self.seed, self.bug = base, seed, bug
        self.documents = self.deaths = 0
        self.broker = self._broker()

    def _broker(self) -> Broker:
        known = os.environ.get("CLASHER_KAFKA_AT")
        return KafkaServer(self.base / "broker") if known is None else RunningBroker(known)

    def run(self, number: int) -> list[str]:
        """One trial; what was found to be wrong."""
        draw = random.Random(f"{self.seed}/{number}")
        here = self.base / "trial"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        rows = plain.records(COUNT, draw.randrange(2**32))
        self.documents += len(rows)
        return self._try(here, f"news-{secrets.token_hex(4)}", rows, draw)

    def _try(self, here: Path, topic: str, rows: list[Record], draw: random.Random) -> list[str]:
        raise NotImplementedError

    def child(self, *given: Any, **options: Any) -> Forked:
        """A flow in a process of its own."""

        def live() -> None:
            widen()
            if self.bug is not None:
                BUGS[self.bug]()
            run(*given, **OFTEN | options)

        return Forked(live)

    def survive(self, draw: random.Random, folder: Path, *given: Any, **options: Any) -> list[str]:
        """Kill a flow some times, then let it come to its end."""
        for moment in moments(draw):
            child = self.child(folder, *given, **options)
            await_snapshot(child, folder, moment)
            self.deaths += child.kill() == -signal.SIGKILL
        code = self.child(folder, *given, **options).wait()
        return [f"ended with {code}"] if code else []

    def summary(self) -> str:
        """Return what was put through."""
        return f"{self.documents} documents, {self.deaths} deaths"

    def close(self) -> None:
        """Leave nothing behind."""
        self.broker.stop()


class Kill(Trials):
    """``kill -9`` at random moments; outputs come at least once."""

    def _try(self, here: Path, topic: str, rows: list[Record], draw: random.Random) -> list[str]:
        create(self.broker, topic, PARTITIONS)
        order = scatter(self.broker, topic, rows, draw, draw.choice([1, PARTITIONS]))
        out = f"{topic}-out"
        found = self.survive(
            draw, here / "model", self.broker.url(topic, **self._options(draw)),
            self.broker.url(out),
        )  # fmt: skip
        return found or self._learnt(here / "model", order) + self._written(out, order)

    def _learnt(self, folder: Path, rows: list[Record]) -> list[str]:
        return learnt(folder, rows)

    def _options(self, draw: random.Random) -> dict[str, Any]:
        return {}

    def _written(self, out: str, rows: list[Record]) -> list[str]:
        written = {row["id"]: row for row in outputs(self.broker, out)}
        wanted = {row["id"]: row for row in plain.predictions(rows)}
        return [] if written == wanted else ["the outputs are not those of the documents"]


class Mock(Kill):
    """The same with the broker that the client brings along."""

    def _broker(self) -> Broker:
        return MockBroker(self.base)


class Once(Kill):
    """``kill -9`` at random moments; outputs come once, with the snapshot, in a transaction."""

    def survive(self, draw: random.Random, *given: Any, **options: Any) -> list[str]:
        return super().survive(draw, *given, transactional=True, **options)

    def _options(self, draw: random.Random) -> dict[str, Any]:
        return draw.choice([{}, {"group": f"desk-{secrets.token_hex(4)}", **SOON}])

    def _written(self, out: str, rows: list[Record]) -> list[str]:
        written = outputs(self.broker, out)
        if written == plain.predictions(rows):
            return []
        return [f"{len(written)} outputs, {len({row['id'] for row in written})} of {len(rows)}"]


class BrokerEnds(Kill):
    """The broker is killed, or stopped, at random moments, and sometimes the flow killed too.

    A broker that has just come may take the end of a partition for nearer than it is, so that
    partitions are merged in another order. Each document is learnt once all the same.
    """

    ways: tuple[int, ...] = (signal.SIGKILL, signal.SIGTERM)

    def _broker(self) -> Broker:
        return KafkaServer(self.base / "broker")

    def survive(self, draw: random.Random, folder: Path, *given: Any, **options: Any) -> list[str]:
        flow = partial(self.child, folder, *given, **options)
        child = flow()
        await_snapshot(child, folder, moments(draw)[0])
        assert isinstance(self.broker, KafkaServer)
        self.broker.end(draw.choice(self.ways))
        self.deaths += 1
        if draw.random() < 0.5:
            child.kill()
        self.broker.start()
        if child.poll() is not None:
            child = flow()
        code = child.wait()
        return [f"ended with {code}"] if code else []

    def _learnt(self, folder: Path, rows: list[Record]) -> list[str]:
        return learnt_in_any_order(folder, rows)

    def _written(self, out: str, rows: list[Record]) -> list[str]:
        written = {row["id"] for row in outputs(self.broker, out)}
        return [] if written == {row["id"] for row in rows} else ["outputs are missing"]


class BrokerEndsOnce(Once, BrokerEnds):
    """The broker is stopped at random moments, and transactions go on where it left them.

    A lone one may lose the mark of a commit that it was just making, more often where it is
    killed, and leave a transaction that hangs, for ``kafka-transactions.sh``: one trial in some
    forty ends so, and tells.
    """

    ways = (signal.SIGTERM,)


class Rebalances(Trials):
    """Two flows share a group; they are paused, killed and started again: partitions move."""

    def _try(self, here: Path, topic: str, rows: list[Record], draw: random.Random) -> list[str]:
        create(self.broker, topic, PARTITIONS)
        scatter(self.broker, topic, rows, draw, PARTITIONS, again=0.0)
        source = self.broker.url(topic, group=f"desk-{topic}", **SOON)
        self._folders = [here / "a", here / "b"]
        children = [self._flow(folder, source) for folder in self._folders]
        for moment in moments(draw, COUNT / 3):  # both still have documents to come
            which = draw.randrange(2)
            await_snapshot(children[which], self._folders[which], moment)
            if children[which].poll() is not None:
                continue
            self.deaths += 1
            if draw.random() < 0.5:
                children[which].signal(signal.SIGSTOP)
                time.sleep(draw.uniform(1.0, 2.0))  # as long as the group waits, and longer
                children[which].signal(signal.SIGCONT)
            else:
                children[which].kill()
                time.sleep(draw.choice([0.0, 1.5]))
                children[which] = self._flow(self._folders[which], source)
        codes = [child.wait() for child in children]
        found = [f"ended with {code}" for code in codes if code]
        return found or self._shared(rows)

    def _flow(self, folder: Path, source: str) -> Forked:
        return self.child(folder, source, str(folder.with_suffix(".jsonl")), idle=2.5)

    def _shared(self, rows: list[Record]) -> list[str]:
        """Each document was learnt by one of them."""
        by_id = {row["id"]: row for row in rows}
        written, found = [], []
        for folder in self._folders:
            lines = folder.with_suffix(".jsonl").read_bytes().splitlines()
            ids = [json.loads(line)["id"] for line in lines]
            written += ids
            found += learnt(folder, [by_id[own] for own in ids])
        if sorted(written) != sorted(by_id):
            found.append(f"{len(written)} were learnt, {len(set(written))} of {len(rows)}")
        return found


# ── what is put there, and what must have become of it ───────────────────────────────────────────


def scatter(
    broker: Broker,
    topic: str,
    rows: list[Record],
    draw: random.Random,
    partitions: int,
    again: float = 0.05,
) -> list[Record]:
    """Put documents into partitions, some twice, their times not quite in order, and some poison.

    Returns the documents in the order in which they are to be learnt.
    """
    values: list[list[tuple[int, Any]]] = [[] for _ in range(partitions)]
    for at, row in enumerate(rows):
        time = at // partitions + draw.randrange(6)
        times = 2 if draw.random() < again else 1
        values[draw.randrange(partitions)] += [(time, row)] * times
        if draw.random() < 0.05:
            values[draw.randrange(partitions)].append((time, draw.choice(POISON)))
    for own, found in enumerate(values):
        fill(broker, topic, [value for _, value in found], own, [time for time, _ in found])
    order = [value for value in merged(values) if isinstance(value, dict)]
    return list({row["id"]: row for row in order}.values())


def merged(values: list[list[tuple[int, Any]]]) -> Iterator[Any]:
    """The earliest of those that are first, again and again."""
    left = [list(found) for found in values]
    while any(left):
        first = min((found[0][0], own) for own, found in enumerate(left) if found)
        yield left[first[1]].pop(0)[1]


def moments(draw: random.Random, within: float = COUNT) -> list[float]:
    """When to strike: after a snapshot, and the part of it that is the next one's."""
    return sorted(draw.uniform(0, within / SNAPSHOT) for _ in range(draw.randint(1, DEATHS)))


def await_snapshot(child: Forked, folder: Path, moment: float) -> None:
    """Wait until a flow has written so many snapshots, and a moment longer, or has ended."""
    until = time.monotonic() + processes.PATIENCE
    while child.poll() is None and time.monotonic() < until:
        numbers = [int(path.name[:16]) for path in (folder / "snapshots").glob("[0-9]*")]
        if max(numbers, default=-1) >= int(moment):
            time.sleep(moment % 1 * MOMENT)
            return
        time.sleep(0.002)


def widen() -> None:
    """Make each phase of a commit last, so that many ends fall between them."""
    processes.widen()
    note = Transactions._note

    def slow(self: Transactions, *given: Any) -> None:
        note(self, *given)
        time.sleep(WIDE)

    Transactions._note = slow  # type: ignore[method-assign]


def learnt(folder: Path, rows: Sequence[Record]) -> list[str]:
    if plain.model_in(folder) == plain.learnt(rows):
        return []
    return ["the model is not that of the documents, learnt once each"]


def learnt_in_any_order(folder: Path, rows: Sequence[Record]) -> list[str]:
    """Compare what does not depend on the order: how often words and labels were counted."""
    found, wanted = Clasher.load(folder / "model.clasher"), plain.model_of(plain.SETTINGS)
    for row in rows:
        wanted.learn(row["text"], row["labels"])
    if found.documents != wanted.documents or found.support != wanted.support:
        return [f"{found.documents} documents were learnt, {wanted.documents} were there"]
    if not np.array_equal(found._state.frequencies, wanted._state.frequencies):
        return ["other documents were learnt than were there"]
    return []


KINDS: dict[str, Callable[[Path, int, str | None], Trials]] = {
    "mock": Mock, "kill": Kill, "once": Once, "broker": BrokerEnds,
    "broker-once": BrokerEndsOnce, "rebalances": Rebalances,
}  # fmt: skip
