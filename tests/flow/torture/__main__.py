"""``python -m tests.flow.torture``: trials, failures and seeds."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from support import trials as torturing
from support.servers import nats as nats_server
from support.servers import redis as redis_server
from tests.flow import plain
from tests.flow.runs import run
from tests.flow.torture.bugs import BUGS, HUNTS
from tests.flow.torture.trials import JOINING, KINDS


def _warm_up() -> None:
    """Load and compile everything once, before processes are forked."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = plain.records(50)
        (folder / "news.jsonl").write_bytes(plain.lines(row | {"labels": None} for row in rows))
        (folder / "labels.jsonl").write_bytes(plain.lines(rows))
        plain.learnt(rows)
        news, labels = str(folder / "news.jsonl"), str(folder / "labels.jsonl")
        run(folder / "model", news, labels=labels, settings=JOINING)


def _needs() -> list[str]:
    return redis_server.needs() + nats_server.needs()


if __name__ == "__main__":
    sys.exit(torturing.main("tests.flow.torture", __doc__, KINDS, BUGS, _needs, _warm_up, HUNTS))
