"""The trials: crash a flow at random moments, then check what it has learnt."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from clasher.settings import Settings
from support.servers.nats import NatsServer
from support.servers.redis import RedisServer
from tests.flow import plain
from tests.flow.plain import Record
from tests.flow.runs import run
from tests.flow.torture.processes import Child

COUNT = 300  # documents of a stream
LIFE = 0.25  # seconds that a flow lives at most, before it is killed
DEATHS = 4  # at most, of a trial
SHARING = {"idle": 0.6, "snapshot_documents": 40, "snapshot_seconds": 0.05}
JOINING = Settings(dimensions=64, max_labels=16, pending=200)

Attempt: TypeAlias = "Callable[[Trials, Path, list[Record], random.Random], list[str]]"
"""A trial: return what went wrong."""


class Trials:
    """Trials of one kind, each with a stream and a folder of its own; some with a server."""

    def __init__(
        self, attempt: Attempt, server: Any, base: Path, seed: int, bug: str | None
    ) -> None:
        self.base, self.seed, self.bug = base, seed, bug
        self.documents = self.deaths = 0
        self.server = None if server is None else server(base / "server")
        self._attempt = attempt

    def run(self, number: int) -> list[str]:
        """Run one trial; return what went wrong."""
        draw = random.Random(f"{self.seed}/{number}")
        here = self.base / "trial"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        rows = plain.records(COUNT, draw.randrange(2**32))
        self.documents += len(rows)
        return self._attempt(self, here, rows, draw)

    def survive(self, draw: random.Random, *given: Any, **options: Any) -> list[str]:
        """Kill a flow several times, then let it finish."""
        for _ in range(draw.randint(1, DEATHS)):
            child = Child(self.bug, *given, **options)
            time.sleep(draw.uniform(0.0, LIFE))
            self.deaths += child.kill() == -signal.SIGKILL
        code = Child(self.bug, *given, **options).wait()
        return [f"ended with {code}"] if code else []

    def summary(self) -> str:
        """Count documents and deaths."""
        return f"{self.documents} documents, {self.deaths} deaths"

    def close(self) -> None:
        """Clean up."""
        if self.server is not None:
            self.server.stop()


def files(trials: Trials, here: Path, rows: list[Record], draw: random.Random) -> list[str]:
    """Kill flows from a file to a file; some lines are not records."""
    source, out, folder = here / "news.jsonl", here / "out.jsonl", here / "model"
    source.write_bytes(spoilt(rows, draw))
    found = trials.survive(draw, folder, str(source), str(out))
    return found or once(folder, out, rows) + same_letters(folder, source)


def folders(trials: Trials, here: Path, rows: list[Record], draw: random.Random) -> list[str]:
    """Kill flows from a folder with files of several formats."""
    inbox, out, folder = here / "inbox", here / "out.jsonl", here / "model"
    inbox.mkdir()
    start = 0
    for number in range(draw.randint(1, 6)):
        stop = len(rows) if number == 5 else draw.randint(start, len(rows))
        part, start = rows[start:stop], stop
        write_file(inbox, f"{number}", part, draw.choice(["jsonl", "csv", "jsonl.gz"]))
    found = trials.survive(draw, folder, f"file:{inbox}/?settle=0", str(out))
    return found or once(folder, out, rows[:start])


def redis(trials: Trials, here: Path, rows: list[Record], draw: random.Random) -> list[str]:
    """Kill flows with and without a group; some entries are not records."""
    trials.server.client.flushall()
    fill(trials.server, "news", rows, draw)
    options = draw.choice([{}, {"group": "desk"}, {"group": "desk"}])
    out, folder = here / "out.jsonl", here / "model"
    found = trials.survive(draw, folder, trials.server.url("news", **options), str(out))
    return found or once(folder, out, rows) + _nothing_pending(trials, options)


def _nothing_pending(trials: Trials, options: dict[str, str]) -> list[str]:
    if not options:
        return []
    pending = trials.server.client.xpending("news", "desk")["pending"]
    return [f"{pending} entries are pending"] if pending else []


def broker(trials: Trials, here: Path, rows: list[Record], draw: random.Random) -> list[str]:
    """Kill the server at random moments, and sometimes the flow too."""
    trials.server.client.flushall()
    fill(trials.server, "news", rows, draw)
    options = draw.choice([{}, {"group": "desk"}])
    given = (here / "model", trials.server.url("news", **options), trials.server.url("out"))
    child = Child(trials.bug, *given)
    for _ in range(draw.randint(1, DEATHS)):
        time.sleep(draw.uniform(0.0, LIFE))
        trials.server.kill()
        if draw.random() < 0.5:
            trials.deaths += child.kill() == -signal.SIGKILL
            child = Child(trials.bug, *given)
        time.sleep(draw.uniform(0.0, 0.05))
        trials.server.start()
        trials.deaths += 1
    code = child.wait()
    found = [f"ended with {code}"] if code else []
    return found or learnt(here / "model", rows) + _at_least_once(trials, rows)


def _at_least_once(trials: Trials, rows: list[Record]) -> list[str]:
    entries = trials.server.client.xrange("out")
    written = {json.loads(fields[b"json"])["id"]: fields[b"json"] for _, fields in entries}
    expected = {row["id"]: msgspec.json.encode(row) for row in plain.predictions(rows)}
    return [] if written == expected else ["the outputs are not those of the documents"]


def joining(trials: Trials, here: Path, rows: list[Record], draw: random.Random) -> list[str]:
    """Kill flows whose labels come on a second stream, out of order."""
    trials.server.client.flushall()
    labels = [{"id": row["id"], "labels": row["labels"]} for row in rows if row["labels"]]
    late = sorted(labels, key=lambda row: int(row["id"][1:]) + draw.uniform(-80, 80))
    fill(trials.server, "news", [row | {"labels": None} for row in rows], draw)
    fill(trials.server, "labels", late, draw)
    source, more = trials.server.url("news", group="desk"), trials.server.url("labels")
    options: dict[str, Any] = {"labels": more, "settings": JOINING}
    run(here / "whole", trials.server.url("news"), str(here / "whole.jsonl"), **options)
    found = trials.survive(draw, here / "model", source, str(here / "out.jsonl"), **options)
    if not found and plain.model_in(here / "model") != plain.model_in(here / "whole"):
        found.append("the model is not that of a flow that was never killed")
    if not found and (here / "out.jsonl").read_bytes() != (here / "whole.jsonl").read_bytes():
        found.append("the outputs are not those of a flow that was never killed")
    return found


def claims(trials: Trials, here: Path, rows: list[Record], draw: random.Random) -> list[str]:
    """Pause each of two flows in a group so long that the other takes over its entries."""
    trials.server.client.flushall()
    fill(trials.server, "news", rows, draw, again=0.0)
    source = trials.server.url("news", group="desk", claim=0.15)
    folders = [here / "a", here / "b"]
    children = [
        Child(trials.bug, folder, source, str(folder.with_suffix(".jsonl")), **SHARING)
        for folder in folders
    ]
    for _ in range(draw.randint(1, DEATHS)):
        child = draw.choice(children)
        time.sleep(draw.uniform(0.0, 0.15))
        if child.poll() is None:
            child.signal(signal.SIGSTOP)
            time.sleep(draw.uniform(0.1, 0.3))
            child.signal(signal.SIGCONT)
            trials.deaths += 1
    codes = [child.wait() for child in children]
    found = [f"ended with {code}" for code in codes if code]
    return found or _shared(folders, rows)


def _shared(folders: list[Path], rows: list[Record]) -> list[str]:
    """Check that exactly one of them learnt each document."""
    by_id = {row["id"]: row for row in rows}
    written, found = [], []
    for folder in folders:
        ids = [line["id"] for line in read_lines(folder.with_suffix(".jsonl"))]
        written += ids
        found += learnt(folder, [by_id[own] for own in ids])
    if sorted(written) != sorted(by_id):
        found.append(f"{len(written)} documents were learnt, {len(set(written))} of {len(rows)}")
    return found


def nats(trials: Trials, here: Path, rows: list[Record], draw: random.Random) -> list[str]:
    """Kill the flow, or the server, at random moments."""
    raw = [msgspec.json.encode(row) for row in rows]

    async def publish(js: Any) -> None:
        await js.add_stream(name=here.name, subjects=[here.name])
        await js.purge_stream(here.name)
        await asyncio.gather(*(js.publish(here.name, one) for one in raw))

    trials.server.tell(publish)
    out, folder = here / "out.jsonl", here / "model"
    given = (folder, trials.server.url(here.name), str(out))
    if draw.random() < 0.5:
        return trials.survive(draw, *given) or once(folder, out, rows)
    child = Child(trials.bug, *given)
    for _ in range(draw.randint(1, DEATHS)):
        time.sleep(draw.uniform(0.0, LIFE))
        trials.server.kill()
        trials.server.start()
        trials.deaths += 1
    code = child.wait()
    return [f"ended with {code}"] if code else once(folder, out, rows)


# ── inputs ────────────────────────────────────────────────────────────────────────────


def spoilt(rows: list[Record], draw: random.Random) -> bytes:
    """Make lines: some come twice, some are not records."""
    made = b""
    for row in rows:
        made += plain.lines([row] * (2 if draw.random() < 0.05 else 1))
        made += draw.choice([b"", b"", b"", b"\n", b'{"text":\n', b"\xff\n", b'{"text": 7}\n'])
    return made


def write_file(folder: Path, name: str, rows: list[Record], kind: str) -> None:
    import csv
    import gzip

    path = folder / f"{name}.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "text", "labels"])
            writer.writerows((r["id"], r["text"], "|".join(r["labels"] or [])) for r in rows)
    else:
        content = plain.lines(rows)
        path.write_bytes(gzip.compress(content) if kind == "jsonl.gz" else content)


def fill(
    server: RedisServer, stream: str, rows: list[Record], draw: random.Random, again: float = 0.05
) -> None:
    """Add entries of several kinds: some come twice, some are not records."""
    pipe = server.client.pipeline(transaction=False)
    for row in rows:
        flat = {
            "id": row["id"],
            "text": row.get("text", ""),
            "labels": "|".join(row["labels"] or []),
        }
        fields = draw.choice([{"json": msgspec.json.encode(row)}, flat])
        for _ in range(2 if draw.random() < again else 1):
            pipe.xadd(stream, fields)
        if draw.random() < 0.05:
            pipe.xadd(stream, draw.choice([{"json": b"{"}, {"json": b"\xff"}, {"other": "field"}]))
    pipe.execute()


# ── checks ──────────────────────────────────────────────────────────────────


def learnt(folder: Path, rows: list[Record]) -> list[str]:
    if plain.model_in(folder) == plain.learnt(rows):
        return []
    return ["the model is not that of the documents, learnt once each"]


def once(folder: Path, out: Path, rows: list[Record]) -> list[str]:
    """Check that each document was learnt once and written once."""
    found = learnt(folder, rows)
    if read_lines(out) != plain.predictions(rows):
        found.append("the outputs are not those of the documents, once each")
    return found


def same_letters(folder: Path, source: Path) -> list[str]:
    """Check that each line that is not a record is in the dead letters once."""
    letters = [(line["record"], line["raw"]) for line in read_lines(folder / "dead-letters.jsonl")]
    expected = [
        (number, line.decode("utf-8", "backslashreplace"))
        for number, line in enumerate(source.read_bytes().split(b"\n"), 1)
        if line in (b'{"text":', b"\xff", b'{"text": 7}')
    ]
    return [] if letters == expected else [f"{len(letters)} dead letters, and not {len(expected)}"]


def read_lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


KINDS: dict[str, Callable[[Path, int, str | None], Trials]] = {
    "files": partial(Trials, files, None),
    "folders": partial(Trials, folders, None),
    "redis": partial(Trials, redis, RedisServer),
    "broker": partial(Trials, broker, RedisServer),
    "joining": partial(Trials, joining, RedisServer),
    "claims": partial(Trials, claims, RedisServer),
    "nats": partial(Trials, nats, NatsServer),
}
