"""``python -m tests.kafka.torture``: trials, failures and seeds."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests import torturing
from tests.flow import plain
from tests.flow.running import run
from tests.kafka import brokers
from tests.kafka.torture.bugs import BUGS
from tests.kafka.torture.trials import KINDS


def _warm_up() -> None:
    """Load and compile everything once, before processes are forked."""
    brokers.download()
    with tempfile.TemporaryDirectory() as name:
        news, rows = Path(name, "news.jsonl"), plain.records(50)
        news.write_bytes(plain.lines(rows))
        plain.learnt(rows)
        run(Path(name, "model"), str(news))


if __name__ == "__main__":
    sys.exit(torturing.main("tests.kafka.torture", __doc__, KINDS, BUGS, list, _warm_up))
