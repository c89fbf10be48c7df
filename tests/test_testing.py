"""The conformance checks pass what is right, and each catches the bug that it is for."""

from __future__ import annotations

import subprocess
import sys
from itertools import count

import pytest

from clasher.errors import StreamError
from clasher.io import Decoder, Fields, Party, Sink, Source
from clasher.testing import (
    ConformanceError,
    SinkCase,
    SinkChecks,
    SourceCase,
    SourceChecks,
    check_sink,
    check_source,
)


class Store:
    """Values in memory, with an identity, of which the first may be deleted."""

    def __init__(self):
        self.values, self.first, self.made = [], 0, 0


class ListSource(Source):
    """Reads a store; its position is the number of the next value."""

    def __init__(self, store):
        self.name, self.fields, self.store, self.at = "list", Fields(), store, 0
        self.decoder = Decoder(self.name, self.fields)

    def open(self, position, caller):
        self.at = self.place(position)
        if self.at < self.store.first:
            raise StreamError("list: what follows is gone")

    def place(self, position):
        return 0 if position is None else position

    def read(self, most, seconds):
        start, self.at = self.at, min(self.at + most, len(self.store.values))
        return self.chunk(self.store.values[start : self.at], range(start, self.at), self.at)

    def chunk(self, values, places, position):
        return self.decoder.chunk(values, list(places), position) if values else None

    def lag(self):
        return len(self.store.values) - self.at

    def close(self):
        pass

    def identity(self):
        return str(self.store.made)


class ListCase(SourceCase):
    patience = 0.2

    def __init__(self, make=ListSource):
        self.make, self.store = make, Store()

    def source(self):
        return self.make(self.store)

    def put(self, values):
        self.store.values += values

    def lose(self):
        self.store.first = 4

    def replace(self):
        self.store.values, self.store.made = [], self.store.made + 1


class QueueSource(ListSource, Party):
    """Gives each value once; what is not committed comes again."""

    def __init__(self, store):
        super().__init__(store)
        self.party = self
        store.done = getattr(store, "done", 0)
        store.number = getattr(store, "number", 0)

    def open(self, position, caller):
        self.at = self.store.done

    def committed(self, caller):
        return self.store.number

    def commit(self, caller, number, after, position):
        if self.store.number == number:
            return
        if self.store.number != after:
            raise StreamError("list: was reset")
        self.store.done, self.store.number = max(self.store.done, position or 0), number


class TestASourceThatIsRight(SourceChecks):
    @pytest.fixture
    def case(self):
        return ListCase()


class TestAQueueThatIsRight(SourceChecks):
    @pytest.fixture
    def case(self):
        return ListCase(QueueSource)


def test_one_call_runs_all_checks_and_says_which_it_skipped():
    assert check_source(ListCase) == {"test_commits_in_two_phases": "the source is no party"}

    class Fixed(ListCase):
        def __init__(self):
            super().__init__()
            self.store.values = [b'{"text": "oil"}'] * 5
            self.exempt = {"test_knows_its_stream_again": "it is always there"}

        def put(self, values):
            raise NotImplementedError

    assert check_source(Fixed)["test_knows_its_stream_again"] == "it is always there"
    assert check_source(Fixed)["test_reports_poison_and_goes_on"] == "the case defines no 'put'"


def test_the_checks_need_no_pytest():
    code = "import sys; sys.modules['pytest'] = None; import clasher.testing"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ── sources with a bug, and the check that catches it ────────────────────────────────────────────


class SkipsOne(ListSource):
    """Takes the position for the last value that was read."""

    def place(self, position):
        return 0 if position is None else position + 1


class RepeatsOne(ListSource):
    def place(self, position):
        return max(0, super().place(position) - 1)


class ForgetsTheChunkSize(ListSource):
    """Counts chunks, not values."""

    def chunk(self, values, places, position):
        self.chunks = getattr(self, "chunks", 0) + 1
        return super().chunk(values, places, self.chunks)


class KeepsAPositionThatJsonDoesNot(ListSource):
    def chunk(self, values, places, position):
        return super().chunk(values, places, (position,))

    def place(self, position):
        return 0 if position is None else position[0]


class ReadsAnyOrder(ListSource):
    turns = count()

    def open(self, position, caller):
        super().open(position, caller)
        if next(self.turns) % 2:
            self.store.values.reverse()


class ReadsTooMuch(ListSource):
    def read(self, most, seconds):
        return super().read(most + 1, seconds)


class DiesOfPoison(ListSource):
    def chunk(self, values, places, position):
        found = super().chunk(values, places, position)
        if found is not None and found.poison:
            raise StreamError("list: broken JSON")
        return found


class SwallowsPoison(ListSource):
    def chunk(self, values, places, position):
        found = super().chunk(values, places, position)
        return found if found is None or not found.poison else type(found)(found.records, position)


class LosesTheBytesOfPoison(ListSource):
    def chunk(self, values, places, position):
        found = super().chunk(values, places, position)
        if found is None:
            return None
        poison = [one._replace(raw=None) for one in found.poison]
        return type(found)(found.records, position, poison)


class StopsAtTheEnd(ListSource):
    def read(self, most, seconds):
        self.ended = getattr(self, "ended", False)
        chunk = None if self.ended else super().read(most, seconds)
        self.ended = chunk is None
        return chunk


class SkipsWhatIsGone(ListSource):
    def open(self, position, caller):
        self.at = max(self.place(position), self.store.first)


class WaitsForWhatIsGone(ListSource):
    def open(self, position, caller):
        self.at = self.place(position)

    def read(self, most, seconds):
        return None if self.at < self.store.first else super().read(most, seconds)


class IsAnyStream(ListSource):
    def identity(self):
        return "list"


class ForgetsItsStream(ListSource):
    def identity(self):
        return str(len(self.store.values))


class ClosesOnce(ListSource):
    def close(self):
        del self.at


class CountsWrong(ListSource):
    def lag(self):
        return len(self.store.values)


class AcknowledgesWhatItReads(QueueSource):
    def read(self, most, seconds):
        chunk = super().read(most, seconds)
        self.store.done = self.at
        return chunk


class ForgetsToAcknowledge(QueueSource):
    def commit(self, caller, number, after, position):
        super().commit(caller, number, after, None)


class CountsEveryCommit(QueueSource):
    def commit(self, caller, number, after, position):
        self.store.done, self.store.number = position, self.store.number + 1


@pytest.mark.parametrize(
    ("source", "check"),
    [
        (SkipsOne, "resumes_exactly_after_any_position"),
        (SkipsOne, "restart_loses_and_repeats_nothing"),
        (RepeatsOne, "resumes_exactly_after_any_position"),
        (RepeatsOne, "restart_loses_and_repeats_nothing"),
        (ForgetsTheChunkSize, "resumes_exactly_after_any_position"),
        (KeepsAPositionThatJsonDoesNot, "resumes_exactly_after_any_position"),
        (ReadsAnyOrder, "reads_every_record_in_order"),
        (CountsWrong, "reads_every_record_in_order"),
        (ReadsTooMuch, "delivers_no_more_than_asked_for"),
        (DiesOfPoison, "reports_poison_and_goes_on"),
        (SwallowsPoison, "reports_poison_and_goes_on"),
        (LosesTheBytesOfPoison, "reports_poison_and_goes_on"),
        (StopsAtTheEnd, "delivers_what_arrives_later"),
        (SkipsWhatIsGone, "refuses_a_position_that_is_gone"),
        (WaitsForWhatIsGone, "refuses_a_position_that_is_gone"),
        (IsAnyStream, "knows_its_stream_again"),
        (ForgetsItsStream, "knows_its_stream_again"),
        (ClosesOnce, "closes_more_than_once"),
        (AcknowledgesWhatItReads, "restart_loses_and_repeats_nothing"),
        (ForgetsToAcknowledge, "restart_loses_and_repeats_nothing"),
        (CountsEveryCommit, "commits_in_two_phases"),
    ],
)
def test_a_bug_of_a_source_is_caught(source, check):
    with pytest.raises(ConformanceError):
        getattr(SourceChecks(), f"test_{check}")(ListCase(source))
    with pytest.raises(ConformanceError, match=r"test_\w+: "):
        check_source(lambda: ListCase(source))


# ── sinks ────────────────────────────────────────────────────────────────────────────────────────


class ListSink(Sink):
    """Cuts back to a position what was written after it."""

    def __init__(self, seen):
        self.name, self.seen = "list", seen

    def open(self, position, caller):
        del self.seen[position or 0 :]

    def write(self, outputs):
        self.seen += [output.value for output in outputs]

    def room(self):
        return 1000

    def flush(self):
        return len(self.seen)

    def close(self):
        pass


class QueueSink(ListSink, Party):
    """Shows outputs with their commit."""

    def __init__(self, seen):
        super().__init__(seen)
        self.party = self
        self.held = []

    def open(self, position, caller):
        self.held = []

    def write(self, outputs):
        self.held += [output.value for output in outputs]

    def committed(self, caller):
        return getattr(self.seen, "number", 0)

    def commit(self, caller, number, after, position):
        if self.committed(caller) == number:
            return
        if self.committed(caller) != after:
            raise StreamError("list: was reset")
        self.seen += self.held
        self.held, self.seen.number = [], number


class Seen(list):
    number = 0


class SeenCase(SinkCase):
    def __init__(self, make=ListSink):
        self.make, self.seen = make, Seen()

    def sink(self):
        return self.make(self.seen)

    def outputs(self):
        return list(self.seen)


class TestASinkThatIsRight(SinkChecks):
    @pytest.fixture
    def case(self):
        return SeenCase()


class TestAQueueSinkThatIsRight(SinkChecks):
    @pytest.fixture
    def case(self):
        return SeenCase(QueueSink)


def test_one_call_runs_all_checks_of_a_sink():
    assert check_sink(SeenCase) == {
        "test_hides_outputs_until_the_commit": "the sink is no party",
    }


class ShowsAtOnce(QueueSink):
    write = ListSink.write


class KeepsWhatDidNotCount(QueueSink):
    def open(self, position, caller):
        pass

    def __init__(self, seen):
        super().__init__(seen)
        self.held = seen.__dict__.setdefault("left", [])

    def commit(self, caller, number, after, position):
        held = list(self.held)
        super().commit(caller, number, after, position)
        self.held = self.seen.left
        del self.seen.left[: len(held)]


class CommitsTwice(QueueSink):
    def commit(self, caller, number, after, position):
        if self.committed(caller) == number:
            self.seen.append(self.seen[-1])
        super().commit(caller, number, after, position)


class CutsNothingBack(ListSink):
    def open(self, position, caller):
        pass


class WritesBackwards(ListSink):
    def write(self, outputs):
        super().write(outputs[::-1])


class ClosesASinkOnce(ListSink):
    def close(self):
        del self.name


class PromisesRoom(ListSink):
    def write(self, outputs):
        if any(len(output.value) > 900 for output in outputs):
            raise StreamError("list: too large")
        super().write(outputs)


@pytest.mark.parametrize(
    ("sink", "check"),
    [
        (ShowsAtOnce, "hides_outputs_until_the_commit"),
        (KeepsWhatDidNotCount, "hides_outputs_until_the_commit"),
        (CommitsTwice, "hides_outputs_until_the_commit"),
        (CutsNothingBack, "restart_repeats_nothing"),
        (WritesBackwards, "shows_outputs_in_order"),
        (ClosesASinkOnce, "closes_more_than_once"),
        (PromisesRoom, "tells_its_room"),
    ],
)
def test_a_bug_of_a_sink_is_caught(sink, check):
    with pytest.raises(ConformanceError):
        getattr(SinkChecks(), f"test_{check}")(SeenCase(sink))
