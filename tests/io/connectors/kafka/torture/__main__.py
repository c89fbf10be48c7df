"""``python -m tests.io.connectors.kafka.torture``: trials, failures and seeds.

A broker is started for each kind; with ``CLASHER_KAFKA_AT=host:port`` that one is used where it
need not be killed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from support import trials as torturing
from tests.flow import plain
from tests.flow.runs import run
from tests.io.connectors.kafka.torture.bugs import BUGS, HUNTS
from tests.io.connectors.kafka.torture.trials import KINDS


def _warm_up() -> None:
    """Load and compile everything once, before processes are forked."""
    with tempfile.TemporaryDirectory() as name:
        news, rows = Path(name, "news.jsonl"), plain.records(50)
        news.write_bytes(plain.lines(rows))
        plain.learnt(rows)
        run(Path(name, "model"), str(news))


if __name__ == "__main__":
    sys.exit(
        torturing.main(
            "tests.io.connectors.kafka.torture", __doc__, KINDS, BUGS, list, _warm_up, HUNTS
        )
    )
