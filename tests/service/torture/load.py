"""The load: clients that teach a service, and report what was acknowledged.

What a client says as its n-th is a function of the seed, so that after a crash it can say the same
again, under the same key.
"""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from clasher.errors import LabelError, ServiceError, StoppedError
from clasher.service.engine import Engine
from clasher.service.structs import Document, EngineOptions
from clasher.settings import Settings

SETTINGS = Settings(dimensions=64, max_labels=48)
TOPICS = {
    "grain": ["wheat", "corn", "barley", "harvest"],
    "metal": ["gold", "zinc", "copper", "smelter"],
    "energy": ["crude", "barrel", "pipeline", "gas"],
    "sport": ["striker", "final", "goal", "coach"],
}
CLIENTS = 4


class Plan(NamedTuple):
    """The work of a process: the next request of each client, and how many to make."""

    folder: Path
    seed: int
    begin: Mapping[int, int]
    most: int = 10**9  # requests of a client
    only_learn: bool = False
    options: EngineOptions = EngineOptions(snapshot_documents=40, snapshot_bytes=2**20)


def run(plan: Plan, acks: socket.socket) -> None:
    """Open the folder, make all requests, close it."""
    lock = threading.Lock()

    def tell(**ack: Any) -> None:
        with lock:
            acks.send(json.dumps(ack).encode() + b"\n")

    with Engine(plan.folder, SETTINGS, options=plan.options) as engine:
        clients = [
            threading.Thread(target=Client(engine, plan, number, tell).run, daemon=True)
            for number in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()


class Client:
    """A client that makes one request after the other."""

    def __init__(self, engine: Engine, plan: Plan, number: int, tell: Any) -> None:
        self.engine = engine
        self.plan = plan
        self.number = number
        self.tell = tell

    def run(self) -> None:
        begin = self.plan.begin.get(self.number, 0)
        try:
            for place in range(begin, begin + self.plan.most):
                self.say(place)
        except StoppedError:
            return

    def say(self, place: int) -> None:
        tag = f"{self.number}-{place}"
        draw = random.Random(f"{self.plan.seed}/{tag}")
        kind = "learn" if self.plan.only_learn else draw.choice(KINDS)
        try:
            version = getattr(self, kind)(tag, draw)
        except StoppedError:
            raise
        except (LabelError, ServiceError):
            version = None  # refused
        self.tell(client=self.number, place=place, tag=tag, version=version)

    def learn(self, tag: str, draw: random.Random) -> int:
        count = 1 if self.plan.only_learn else draw.randint(1, 3)
        documents = [document(draw, tag) for _ in range(count)]
        return self.engine.learn(documents, who=tag, key=tag).result().version

    def feedback(self, tag: str, draw: random.Random) -> int:
        own = document(draw, tag)
        self.engine.predict([own])
        return self.engine.feedback(tag, own.labels, who=tag, key=tag).result().version

    def partial(self, tag: str, draw: random.Random) -> int:
        own = document(draw, tag)
        self.engine.predict([own])
        labels = {name: name in own.labels for name in draw.sample(sorted(TOPICS), 2)}
        return self.engine.feedback(tag, labels, who=tag, key=tag).result().version

    def correction(self, tag: str, draw: random.Random) -> int:
        """Answer twice; the second answer replaces the first."""
        self.feedback(f"{tag}.1", draw)
        labels = draw.sample(sorted(TOPICS), 2)
        return self.engine.feedback(f"{tag}.1", labels, who=tag, key=tag).result().version

    def undo(self, tag: str, draw: random.Random) -> int:
        answer = self.feedback(f"{tag}.1", draw)
        return self.engine.undo(answer, who=tag, key=tag).result().version

    def rename(self, tag: str, draw: random.Random) -> int:
        label = draw.choice(sorted(TOPICS))
        names = [label, f"{label} {draw.randint(1, 3)}"]
        draw.shuffle(names)
        return self.engine.relabel("rename", names[0], names[1], who=tag, key=tag).result().version


KINDS = ["learn"] * 6 + ["feedback"] * 3 + ["partial", "correction", "undo", "rename"]


def document(draw: random.Random, name: str) -> Document:
    topics = draw.sample(sorted(TOPICS), draw.choice([1, 1, 2]))
    words = [word for topic in topics for word in draw.sample(TOPICS[topic], 2)]
    return Document(id=name, text=" ".join(words), labels=topics)
