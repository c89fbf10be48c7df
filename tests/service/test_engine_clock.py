"""The time of day may jump: what expires does so after the time that has really passed."""

from __future__ import annotations

import pytest

from clasher.service.structs import QueueBounds
from tests.service.conftest import SMALL
from tests.service.lines import GRAIN, document

DAY = 86400.0
WEEK = {"awaiting": QueueBounds(seconds=7 * DAY), "key_seconds": 7 * DAY, "lease_seconds": 600.0}


def start(opened):
    engine = opened(SMALL, **WEEK)
    engine.learn([GRAIN], key="key").result()
    engine.predict([document("corn", id="leased"), document("wheat", id="kept")])
    assert [item.id for item in engine.teach("ann", ids=["leased"])] == ["leased"]
    return engine


def state(engine):
    """Return the documents that are kept, whether the key is known, and how many are leased."""
    engine.learn([GRAIN]).result()  # a commit, at which things expire
    is_known = engine.learn([GRAIN], key="key").result().is_duplicate
    return [one.id for one in engine.recent()], is_known, engine.metrics().leased


ALL = (["kept", "leased"], True, 1)
NONE = ([], False, 0)


@pytest.mark.parametrize("jump", [10 * DAY, -10 * DAY])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_jump_of_the_clock_expires_nothing(opened, clock, jump, restarts):
    engine = start(opened)
    for step in (jump, -jump):
        clock.now += step
        if restarts:
            engine.close()
            engine = opened(**WEEK)
        assert state(engine) == ALL
        clock.wait(4.0)
    assert engine.teach("bob", ids=["leased"]) == []


@pytest.mark.parametrize("jump", [0.0, -100 * DAY, 100 * DAY])
def test_things_expire_in_time_whatever_the_clock_says(opened, clock, jump):
    engine = start(opened)
    clock.now += jump
    clock.wait(601.0)
    assert state(engine) == (["kept", "leased"], True, 0)
    clock.wait(7 * DAY)
    assert state(engine) == NONE


def test_time_is_counted_over_restarts_while_the_service_runs(opened, clock):
    engine = start(opened)
    clock.wait(4 * DAY)
    engine.close()
    clock.now += 20 * DAY  # nobody runs it
    engine = opened(**WEEK)
    assert state(engine) == (["kept", "leased"], True, 0)
    clock.wait(4 * DAY)
    assert state(engine) == NONE


def test_the_end_of_a_lease_is_shown_in_the_time_of_day(opened, clock):
    engine = start(opened)
    clock.wait(100.0)
    (item,) = engine.teach("ann", ids=["leased"])
    assert item.leased_until == pytest.approx(clock.now + 600.0)
    clock.now -= 10 * DAY
    assert engine.metrics().uptime_seconds == 100.0
