"""Conformance checks for connectors: what ``clasher run`` relies on.

Describe how to make, fill and damage a stream in a subclass of ``SourceCase`` or ``SinkCase``. Then
call ``check_source`` or ``check_sink``, or let pytest run each check as a test of its own::

    class TestCountdown(SourceChecks):
        @pytest.fixture
        def case(self):
            return CountdownCase()

A check that fails raises ``ConformanceError``. One that does not apply raises
``unittest.SkipTest``, which pytest shows as skipped. This module needs neither pytest nor a server.
"""

import functools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from unittest import SkipTest

import msgspec

from clasher.errors import StreamError, UnreachableError
from clasher.io.protocol import Caller, Chunk, Output, Party, Poison, Position, Sink, Source

__all__ = [
    "ConformanceError", "SinkCase", "SinkChecks", "SourceCase", "SourceChecks", "check_sink",
    "check_source",
]  # fmt: skip

POISON: Final = b"no \xff record"
WAIT: Final = 0.05  # seconds given to a single read

_ME: Final = Caller("conformance")


class ConformanceError(AssertionError):
    """A connector breaks a promise of ``clasher.io.protocol``."""


class _Case:
    exempt: Mapping[str, str] = MappingProxyType({})  # checks that do not apply, with the reason
    patience: float = 20.0  # seconds to wait for a server, or for records that must arrive

    def close(self) -> None:
        """Clean up after a check."""


class SourceCase(_Case, ABC):
    """A new stream for one check: how to read, fill and damage it.

    Only ``source`` must be defined. Checks that need more are skipped without it. A stream that
    cannot be filled must hold five records or more.
    """

    can_resume: bool = True  # whether records can be read again: not from a pipe

    @abstractmethod
    def source(self) -> Source:
        """Make a source of the stream, as a new process would."""

    def put(self, values: Sequence[bytes]) -> None:
        """Append JSON objects with ``id``, ``text`` and ``labels``, or bytes that are no record."""
        raise NotImplementedError

    def lose(self) -> None:
        """Delete the records right after the first two, or change the first two."""
        raise NotImplementedError

    def replace(self) -> None:
        """Replace the stream by another one with other records, under the same address."""
        raise NotImplementedError


class SinkCase(_Case, ABC):
    """A new, empty output for one check."""

    is_exact: bool = True  # whether outputs that are written again after a crash appear once

    @abstractmethod
    def sink(self) -> Sink:
        """Make a sink of the output, as a new process would."""

    @abstractmethod
    def outputs(self) -> Sequence[bytes]:
        """Return the outputs that a reader sees now, in order."""


def check_source(make: Callable[[], SourceCase]) -> dict[str, str]:
    """Run all checks of a source, each with a case of its own; return why checks were skipped.

    The message of a ``ConformanceError`` begins with the name of the check that failed.
    """
    return _run(SourceChecks(), make)


def check_sink(make: Callable[[], SinkCase]) -> dict[str, str]:
    """Run all checks of a sink, as ``check_source`` does."""
    return _run(SinkChecks(), make)


def _is_check(name: str) -> bool:
    return name.startswith("test_")


def _run(checks: Any, make: Callable[[], Any]) -> dict[str, str]:
    skipped: dict[str, str] = {}
    for name in filter(_is_check, dir(checks)):
        case = make()
        try:
            getattr(checks, name)(case)
        except SkipTest as reason:
            skipped[name] = str(reason)
        except ConformanceError as error:
            raise ConformanceError(f"{name}: {error}") from error
        finally:
            case.close()
    return skipped


def records(count: int, start: int = 0) -> list[bytes]:
    """Return records as JSON, with the ids ``r0``, ``r1`` and so on."""
    numbers = [(n, ["odd" if n % 2 else "even"]) for n in range(start, start + count)]
    made = ({"id": f"r{n}", "text": f"text {n}", "labels": labels} for n, labels in numbers)
    return [msgspec.json.encode(record) for record in made]


class Arrival(NamedTuple):
    """A record or poison as a source delivered it."""

    id: int | str | None
    text: str | None
    labels: Any
    poison: Poison | None = None


def arrivals(chunks: Iterable[Chunk]) -> list[Arrival]:
    """List the arrivals in chunks: the records of each, then its poison."""
    found: list[Arrival] = []
    for chunk in chunks:
        texts, labels = chunk.records.texts.to_pylist(), chunk.records.labels
        named = enumerate(chunk.records.ids)
        found += [Arrival(own, texts[at], labels.as_given(at)) for at, own in named]
        found += [Arrival(None, None, None, poison) for poison in chunk.poison]
    return found


class Opener:
    """Opens sources or sinks for a check, and reads sources."""

    def __init__(self, case: Any, opened: ExitStack) -> None:
        self.case, self._opened = case, opened

    def open(self, position: Position = None) -> Any:
        """Open the stream at a position, which goes through JSON as in a snapshot."""
        stream = self.case.sink() if isinstance(self.case, SinkCase) else self.case.source()
        self._opened.callback(_close, stream)
        kept = msgspec.json.decode(msgspec.json.encode(position))
        _ensure(kept == position, f"JSON does not keep the position {position!r}")
        self.retried(stream.open, kept, _ME)
        return stream

    def chunks(self, source: Source, count: int, most: int = 100) -> list[Chunk]:
        """Read until ``count`` arrivals have come, and see that no more do."""
        found: list[Chunk] = []
        until = time.monotonic() + self.case.patience
        again = 2  # a source that repeats itself would do so then
        while again and not source.is_over:
            if sum(map(len, found)) >= count or time.monotonic() >= until:
                again -= 1
            chunk = self.retried(source.read, most, WAIT)
            found += [] if chunk is None else [chunk]
        return found

    def all(self, source: Source, count: int, most: int = 100) -> list[Arrival]:
        return arrivals(self.chunks(source, count, most))

    def retried(self, call: Callable[..., Any], *arguments: Any) -> Any:
        until = time.monotonic() + self.case.patience
        while True:
            try:
                return call(*arguments)
            except UnreachableError:
                if time.monotonic() > until:
                    raise
                time.sleep(WAIT)


def _close(stream: Source | Sink) -> None:
    with suppress(Exception):  # a check of its own looks at close
        stream.close()


def _check(check: Callable[..., None]) -> Callable[[Any, Any], None]:
    """Give a check an opener, and close what it opens; skip it if exempt."""

    @functools.wraps(check)
    def run(self: Any, case: Any) -> None:
        if check.__name__ in case.exempt:
            raise SkipTest(case.exempt[check.__name__])
        with ExitStack() as opened:
            check(self, case, Opener(case, opened))

    del run.__wrapped__  # pytest would ask for the helper
    return run


def _checks(kind: type) -> type:
    for name in filter(_is_check, dir(kind)):
        setattr(kind, name, _check(getattr(kind, name)))
    return kind


@_checks
class SourceChecks:
    """The checks of a source. Subclass it in pytest and define the fixture ``case``."""

    def test_reads_every_record_in_order(self, case: SourceCase, reader: Opener) -> None:
        """Every record arrives once, in the same order however reads are cut."""
        filled = _fill(case, 7)
        source = reader.open()
        first = reader.all(source, 7 if filled else 5)
        lag = source.lag()
        _ensure(lag is None or lag == 0, f"lag is {lag!r} after everything was read")
        source.close()
        if filled:
            numbers = range(7)
            wanted = [Arrival(f"r{n}", f"text {n}", {"odd" if n % 2 else "even"}) for n in numbers]
            _ensure(first == wanted, f"7 records became {first}")
        else:
            _ensure(len(first) >= 5, f"the stream must hold five records, and has {len(first)}")
        # A group delivers a record once.
        if case.can_resume and case.source().party is None:
            for most in (1, 3):
                again = reader.open()
                _ensure_same(first, reader.all(again, len(first), most), f"reads of {most}")
                again.close()

    def test_delivers_no_more_than_asked_for(self, case: SourceCase, reader: Opener) -> None:
        """``read`` returns ``most`` arrivals or fewer."""
        _fill(case, 7)
        for chunk in reader.chunks(reader.open(), 5, most=2):
            _ensure(len(chunk) <= 2, f"read(2) returned {len(chunk)} arrivals")

    def test_resumes_exactly_after_any_position(self, case: SourceCase, reader: Opener) -> None:
        """A source opened at the position of a chunk delivers all that follows it, and no more."""
        _fill(case, 7)
        source = reader.open()
        _skip_party(case, source)
        chunks = reader.chunks(source, 7, most=2)
        source.close()
        whole = arrivals(chunks)
        read = 0
        for chunk in chunks:
            read += len(chunk)
            for most in (1, 100):
                source = reader.open(chunk.position)
                rest = reader.all(source, len(whole) - read, most)
                source.close()
                _ensure_same(whole[read:], rest, f"reading on after {chunk.position!r}")

    def test_restart_loses_and_repeats_nothing(self, case: SourceCase, reader: Opener) -> None:
        """A run killed at any step of a snapshot learns each record once in the end."""
        _skip_unless(case.can_resume, "the stream cannot be read again")
        filled = _fill(case, 12)
        learnt = _learnt_with_crashes(case, reader)
        all_12 = [f"r{n}" for n in range(12)]
        whole = learnt == all_12 if filled else len(set(learnt)) == len(learnt) >= 5
        _ensure(whole, f"after restarts, the records were learnt as {learnt}")

    def test_delivers_what_arrives_later(self, case: SourceCase, reader: Opener) -> None:
        """A stream without end delivers records that arrive after it was read."""
        _require(case.put, records(2))
        source = reader.open()
        first = reader.all(source, 2)
        _ensure(len(first) == 2, f"2 records became {len(first)}")
        _skip_unless(not source.is_over, "the stream has an end")
        case.put(records(2, 2))
        later = [one.id for one in reader.all(source, 2)]
        _ensure(later == ["r2", "r3"], f"r2 and r3 arrived later and became {later}")

    def test_reports_poison_and_goes_on(self, case: SourceCase, reader: Opener) -> None:
        """Bytes that are no record are reported with their place, and the stream goes on."""
        good = records(4)
        _require(case.put, [*good[:2], POISON, *good[2:]])
        source = reader.open()
        chunks = _without_error(lambda: reader.chunks(source, 5, most=1), "a bad record")
        found = arrivals(chunks)
        own = [one.id for one in found if one.poison is None]
        _ensure(own == ["r0", "r1", "r2", "r3"], f"around a bad record came {own}")
        bad = [one.poison for one in found if one.poison is not None]
        _ensure(len(bad) == 1, f"one bad record was reported {len(bad)} times")
        poison = bad[0]
        _ensure(source.name in poison.source, f"poison names the source {poison.source!r}")
        _ensure(poison.raw == POISON, f"poison has the bytes {poison.raw!r}, not {POISON!r}")
        _ensure(bool(poison.problem), "poison does not say what is wrong")
        _ensure(poison.place not in ("", None), "poison does not say where it is")
        if case.can_resume and source.party is None:
            at = next(n for n, chunk in enumerate(chunks) if chunk.poison)
            source.close()
            rest = reader.all(reader.open(chunks[at].position), 2)
            _ensure_same(arrivals(chunks[at + 1 :]), rest, "reading on after a bad record")

    def test_refuses_a_position_that_is_gone(self, case: SourceCase, reader: Opener) -> None:
        """Records deleted before they were read are an error, not skipped."""
        _fill(case, 7)
        source = reader.open()
        _skip_party(case, source)
        position = reader.retried(source.read, 2, case.patience).position
        source.close()
        _require(case.lose)
        try:
            found = reader.all(reader.open(position), 1)
        except UnreachableError as error:
            raise ConformanceError(f"a loss looks like an unreachable server: {error}") from error
        except StreamError:
            return
        raise ConformanceError(f"records are gone after {position!r}, and {found} came")

    def test_knows_its_stream_again(self, case: SourceCase, reader: Opener) -> None:
        """``same`` accepts the identity of this stream and refuses that of another one."""
        _fill(case, 5)
        identity = case.source().identity()
        if identity is None:
            raise SkipTest("the stream has no identity")
        _ensure(case.source().same(identity), "a source does not recognise its stream")
        if _attempt(case.put, records(2, 5)):
            _ensure(case.source().same(identity), "a stream that grew is not recognised")
        if _attempt(case.replace):
            _ensure(not case.source().same(identity), "another stream is taken for this one")

    def test_closes_more_than_once(self, case: SourceCase, reader: Opener) -> None:
        """``close`` may be called before ``open``, twice, and ``open`` may follow."""
        _fill(case, 5)
        _without_error(case.source().close, "close before open")
        source = reader.open()
        reader.retried(source.read, 1, WAIT)
        source.close()
        _without_error(source.close, "a second close")
        _without_error(lambda: reader.retried(source.open, None, _ME), "open after close")
        if case.can_resume:
            _ensure(bool(reader.all(source, 1)), "nothing comes after close and open")

    def test_commits_in_two_phases(self, case: SourceCase, reader: Opener) -> None:
        """A party counts commits, takes one that is repeated, and refuses one out of order."""
        filled = _fill(case, 5)
        source = reader.open()
        _skip_unless(source.party is not None, "the source is no party")
        chunks = reader.chunks(source, 5 if filled else 1)
        _check_party(source.party, chunks[-1].position, reader.retried)


def _learnt_with_crashes(case: SourceCase, reader: Opener) -> list[Any]:
    """Learn as ``clasher run`` does, crashing at each step of a snapshot; return the learnt ids."""
    saved: tuple[int, Position, list[Any]] = (0, None, [])  # the snapshot that counts
    prepared = None
    for crash_after in ("read", "prepared", "committed", "read", "prepared", "committed", "never"):
        source = case.source()  # of a new process
        if prepared is not None and source.party is not None:  # else the runner alone decides
            committed = reader.retried(source.party.committed, _ME)
            expected = (saved[0], prepared[0])
            _ensure(committed in expected, f"committed() is {committed}, not {expected}")
            saved = prepared if committed == prepared[0] else saved
        source.close()
        source, prepared = reader.open(saved[1]), None
        while True:
            chunks = _two_records(reader, source)
            ids = [one.id for one in arrivals(chunks)]
            if crash_after == "read" or (crash_after == "never" and not ids):
                break
            position = chunks[-1].position if chunks else saved[1]
            prepared = (saved[0] + 1, position, [*saved[2], *ids])
            if crash_after == "prepared":
                break
            if source.party is not None:
                reader.retried(source.party.commit, _ME, prepared[0], saved[0], position)
                if crash_after == "committed":
                    break
            saved, prepared = prepared, None
            if crash_after == "committed":
                break
    return saved[2]


def _two_records(reader: Opener, source: Source) -> list[Chunk]:
    found: list[Chunk] = []
    until, left = time.monotonic() + reader.case.patience, 2
    while left > 0 and not source.is_over and time.monotonic() < until:
        chunk = reader.retried(source.read, left, WAIT)
        if chunk is not None:
            found.append(chunk)
            left -= len(chunk)
        elif source.knows_end:
            break
    return found


@_checks
class SinkChecks:
    """The checks of a sink. Subclass it in pytest and define the fixture ``case``."""

    def test_shows_outputs_in_order(self, case: SinkCase, opener: Opener) -> None:
        """Outputs are visible after ``flush``, or with the commit, in the order written."""
        sink = opener.open()
        for start in (0, 3):
            sink.write(_outputs(3, start))
        _finish(sink, 1)
        _ensure_outputs(case, 6)

    def test_restart_repeats_nothing(self, case: SinkCase, opener: Opener) -> None:
        """Outputs after the position of a snapshot are written again, and appear once."""
        sink = opener.open()
        sink.write(_outputs(3))
        position = _finish(sink, 1)
        sink.write(_outputs(2, 3))  # no snapshot knows of these
        sink.flush()
        sink = opener.open(position)
        if sink.party is not None:
            _ensure_committed(1, sink.party.committed(_ME), "after commit 1")
        sink.write(_outputs(3, 3))
        _finish(sink, 2)
        if case.is_exact:
            _ensure_outputs(case, 6)
        else:
            found = list(dict.fromkeys(case.outputs()))
            _ensure(found == [one.value for one in _outputs(6)], f"6 outputs became {len(found)}")

    def test_hides_outputs_until_the_commit(self, case: SinkCase, opener: Opener) -> None:
        """Outputs of a party appear when it commits, and only then."""
        sink = opener.open()
        _skip_unless(sink.party is not None, "the sink is no party")
        sink.write(_outputs(3))
        position = sink.flush()
        _ensure_outputs(case, 0)
        sink = opener.open()  # the snapshot did not count
        _ensure_committed(0, sink.party.committed(_ME), "before any commit")
        _ensure_outputs(case, 0)
        sink.write(_outputs(3))
        position = sink.flush()
        _check_party(sink.party, position, opener.retried)
        _ensure_outputs(case, 3)

    def test_closes_more_than_once(self, case: SinkCase, opener: Opener) -> None:
        """``close`` may be called before ``open``, twice, and ``open`` may follow."""
        _without_error(case.sink().close, "close before open")
        sink = opener.open()
        sink.close()
        _without_error(sink.close, "a second close")
        _without_error(lambda: sink.open(None, _ME), "open after close")
        sink.write(_outputs(1))
        _finish(sink, 1)
        _ensure_outputs(case, 1)

    def test_tells_its_room(self, case: SinkCase, opener: Opener) -> None:
        """``room`` is None or a number of bytes, and outputs below it are written."""
        sink = opener.open()
        room = sink.room()
        _ensure(room is None or room > 0, f"room() is {room!r}")
        if room is None or room > 2**22:
            return
        large = Output("large", b'"' + b"x" * (room - 2) + b'"')
        _without_error(lambda: sink.write([large]), f"an output of room() = {room} bytes")
        _finish(sink, 1)
        _ensure(len(case.outputs()) == 1, f"an output of {room} bytes is not there")


def _check_party(party: Party, position: Position, retried: Callable[..., Any]) -> None:
    """Commit 1 twice, then 3 after 2, which was never committed."""
    retried(party.commit, _ME, 1, 0, position)
    _without_error(lambda: party.commit(_ME, 1, 0, position), "commit 1 once more")
    _ensure_committed(1, retried(party.committed, _ME), "after commit 1")
    try:
        retried(party.commit, _ME, 3, 2, position)
    except StreamError:
        pass
    else:
        raise ConformanceError("commit 3 after 2 was accepted, and 1 was the last")
    _ensure_committed(1, retried(party.committed, _ME), "after a commit that was refused")


def _ensure_committed(wanted: int, found: object, when: str) -> None:
    _ensure(found == wanted, f"committed() is {found} {when}")


def _outputs(count: int, start: int = 0) -> list[Output]:
    return [Output(f"r{n}", b'{"id":"r%d"}' % n) for n in range(start, start + count)]


def _finish(sink: Sink, number: int) -> Position:
    position = sink.flush()
    if sink.party is not None:
        sink.party.commit(_ME, number, number - 1, position)
    return position


def _ensure_outputs(case: SinkCase, count: int) -> None:
    found, wanted = list(case.outputs()), [one.value for one in _outputs(count)]
    _ensure(found == wanted, f"{count} outputs should be there, and are {found}")


def _skip_party(case: SourceCase, source: Source) -> None:
    _skip_unless(case.can_resume, "the stream cannot be read again")
    _skip_unless(source.party is None, "the source is a party: another check restarts it")


def _skip_unless(applies: bool, reason: str) -> None:
    if not applies:
        raise SkipTest(reason)


def _fill(case: SourceCase, count: int) -> bool:
    return _attempt(case.put, records(count))


def _attempt(method: Callable[..., object], *arguments: object) -> bool:
    try:
        method(*arguments)
    except NotImplementedError:
        return False
    return True


def _require(method: Callable[..., object], *arguments: object) -> None:
    _skip_unless(_attempt(method, *arguments), f"the case defines no {method.__name__!r}")


def _without_error(call: Callable[[], Any], what: str) -> Any:
    try:
        return call()
    except (SkipTest, ConformanceError):
        raise
    except Exception as error:
        raise ConformanceError(f"{what} raised {type(error).__name__}: {error}") from error


def _ensure_same(wanted: Sequence[Arrival], found: Sequence[Arrival], what: str) -> None:
    message = f"{what} gave {[one.id for one in found]}, not {[one.id for one in wanted]}"
    _ensure(list(wanted) == list(found), message)


def _ensure(holds: bool, message: str) -> None:
    if not holds:
        raise ConformanceError(message)
