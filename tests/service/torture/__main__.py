"""``python -m tests.service.torture``: trials, failures and seeds."""

from __future__ import annotations

import random
import sys

from support import trials as torturing
from tests.service.torture import disks
from tests.service.torture.bugs import BUGS
from tests.service.torture.load import SETTINGS, document
from tests.service.torture.trials import KINDS


def _warm_up() -> None:
    """Load and compile everything once, before processes are forked; no thread is left behind."""
    from tests.service.plain import model_of

    model = model_of(SETTINGS)
    draw = random.Random(0)
    for _ in range(20):
        one = document(draw, "a")
        model.step_many([one.text], [one.labels])
        model.decide_many([one.text])
        model.unlearn(one.text, one.labels)


if __name__ == "__main__":
    sys.exit(torturing.main("tests.service.torture", __doc__, KINDS, BUGS, disks.needs, _warm_up))
