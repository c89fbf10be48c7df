"""Events reach every subscriber that keeps up."""

from __future__ import annotations

from clasher.service.events import BUFFER, MOST, Events


def test_only_a_slow_subscriber_is_dropped():
    events = Events(clock=lambda: 0.0)
    slow, quick = events.subscribe(), events.subscribe()
    for place in range(BUFFER + 1):
        events.publish("label", place=place)
        assert quick.get(timeout=0).data == {"place": place}
    assert slow.is_over
    assert (len(events), events.dropped) == (1, 1)
    assert len(slow.take()) == BUFFER
    assert slow.get(timeout=0) is None


def test_learned_events_merge_for_a_slow_subscriber():
    events = Events(clock=lambda: 0.0)
    subscription = events.subscribe()
    for version in range(1, BUFFER + 10):
        events.publish("learned", documents=2, version=version)
    (event,) = subscription.take()
    assert event.data == {"documents": 2 * (BUFFER + 9), "version": BUFFER + 9}


def test_subscribers_are_bounded_and_notice_the_end():
    events = Events(clock=lambda: 0.0)
    rung = []
    first = events.subscribe(lambda: rung.append(None))
    others = [events.subscribe() for _ in range(MOST)]
    assert first.is_over
    assert rung == [None]
    events.close()
    assert all(other.is_over for other in others)
    assert events.subscribe().is_over
    events.publish("label")
