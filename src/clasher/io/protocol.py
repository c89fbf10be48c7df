"""The protocol of streams that can be left and resumed: sources, sinks and parties.

A connector has a ``Source``, a ``Sink`` or both, made from an address (``clasher.io.registry``).
The runner of ``clasher.flow`` does the rest: threads, waiting, retrying, learning, snapshots.

**Positions.** Each chunk of a source carries the *position* after it, any value that JSON can hold.
The snapshot of the model keeps it. ``open`` gets the position of the snapshot that is resumed and
delivers exactly what follows it, or raises ``StreamError``: it never skips.

**Parties.** A position is not enough if entries can be given to somebody else, or if outputs should
appear together with what was learnt. Then the source or sink is a ``Party`` to each snapshot:

1. The runner flushes the sinks and *prepares* snapshot n: writes it, and keeps the one before.
2. ``Party.commit(…, n, …)`` makes everything up to n final in one atomic step, and stores n.
3. The runner marks snapshot n as committed and deletes older ones.

A start that finds a prepared snapshot n asks ``Party.committed``: if n, the snapshot counts; if the
number before, it is deleted. A refused commit takes the runner back to the snapshot before. A run
has one party at most.

**Failures.** ``UnreachableError`` means "not now": the runner waits and calls again with the same
arguments. Any other ``StreamError`` ends the run, in one line. A bad record is no failure: it is
``Poison`` and goes to the dead letters.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from clasher.errors import StreamError
from clasher.io.records import Batch, Fields, Id

Position: TypeAlias = Any
"""The place after a chunk, as plain JSON values; None is the beginning of the stream."""


class Poison(NamedTuple):
    """A bad record.

    Attributes
    ----------
    source, place
        The stream it came from, and its line, entry or offset there.
    problem, raw
        What is wrong with it, and its bytes if known.
    """

    source: str
    place: str | int
    problem: str
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive arrivals of a source, and the position after them; it may have no arrivals.

    >>> len(Chunk(Batch.empty(), position={"offset": 17}))
    0
    """

    records: Batch
    position: Position
    poison: Sequence[Poison] = field(default=())

    def __len__(self) -> int:
        return len(self.records) + len(self.poison)


class Output(NamedTuple):
    """A JSON object for a sink, and the id of its document.

    A document always gives the same output, so a reader can recognize repetitions by the id.
    """

    id: Id
    value: bytes


@dataclass(frozen=True)
class Caller:
    """The runner that opens a stream.

    Attributes
    ----------
    id : str
        A permanent name of the model's folder, used for consumers and transactions.
    settle : callable
        For sources that are about to lose entries they delivered. Call it within ``read``: it
        returns when all are learnt and committed, or raises ``StoppedError`` if that is impossible.
    tell : callable
        Shows the user one line.
    """

    id: str
    settle: Callable[[], None] = lambda: None
    tell: Callable[[str], object] = lambda line: None


class Party(ABC):
    """A source or sink that must agree before a snapshot counts; see the top of this module.

    Attributes
    ----------
    name : str
        Its server, stream and group, without passwords; it never changes.
    within : float | None
        Seconds from the first output to the commit, after which it refuses; None: no limit.
    """

    name: str

    @property
    def within(self) -> float | None:
        """May be read before ``open``."""
        return None

    @abstractmethod
    def committed(self, caller: Caller) -> int:
        """Return the number of this caller's last commit, 0 before the first.

        May be called before ``open``. Abort an open transaction first: it must not succeed later.
        """

    @abstractmethod
    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        """Make everything up to ``position`` final and store ``number``, in one atomic step.

        ``after`` is the number of the last commit; if ``number`` is already stored, this commit
        succeeded before, and nothing is left to do.

        Raises
        ------
        CommitRefusedError
            Another runner got entries learnt here: this one goes back to ``after``.
        UnreachableError
            The outcome is unknown: the runner calls again.
        StreamError
            The server lost its state, for example after a restore.
        """


class Source(ABC):
    """A stream of documents or of their labels.

    One thread at a time calls ``open``, ``read`` and ``close``. Another may call ``lag``,
    ``identity`` and the methods of a party meanwhile. ``identity`` and ``same`` are also called
    before ``open``.

    Attributes
    ----------
    name : str
        The address without passwords and options, for messages and snapshots. A snapshot keeps a
        position per name.
    fields : Fields
        The fields of text, labels and id.
    is_over : bool
        Whether the stream has an end and all of it was read.
    party : Party | None
        The source itself, if it must agree to snapshots.
    """

    name: str
    fields: Fields
    is_over: bool = False
    party: Party | None = None

    @property
    def knows_end(self) -> bool:
        """Whether the last read was empty because there is nothing, not because nobody answered."""
        return True

    @abstractmethod
    def open(self, position: Position, caller: Caller) -> None:
        """Prepare to read what follows ``position``; None: from the beginning, for a new reader.

        Called again after a refused commit, with the position of the snapshot before. Then repeat
        the later deliveries, as far as they still belong to the caller.
        """

    @abstractmethod
    def read(self, most: int, seconds: float) -> Chunk | None:
        """Return the next arrivals, at most ``most``; None if nothing arrives within ``seconds``.

        Return available arrivals without waiting for more. Raise ``CommitRefusedError`` if arrivals
        delivered since the last commit went to another runner.
        """

    def lag(self) -> int | None:
        """Return about how many arrivals are unread; None if unknown."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Close connections and files; a second call does nothing."""

    def identity(self) -> str | None:
        """Return what identifies the stream under any address; None if unknown."""
        return None

    def same(self, identity: str) -> bool:
        """Tell whether ``identity``, kept from an earlier run, is this stream's."""
        return self.identity() == identity


class Sink(ABC):
    """A receiver of outputs.

    Attributes
    ----------
    name : str
        The address without passwords, for messages and snapshots.
    party : Party | None
        The sink itself, if its outputs appear with the commit of a snapshot.
    """

    name: str
    party: Party | None = None

    @abstractmethod
    def open(self, position: Position, caller: Caller) -> None:
        """Prepare to write after ``position``, which ``flush`` returned; None: for the first time.

        Delete later outputs if possible: they will be written again.
        """

    @abstractmethod
    def write(self, outputs: Sequence[Output]) -> None:
        """Write outputs in order, so that they are visible soon.

        After an ``UnreachableError`` the runner calls again with the same outputs; those already
        written may be skipped.
        """

    def room(self) -> int | None:
        """Return the limit of an output in bytes, None if there is none; called after ``open``.

        The runner cuts dead letters to it. ``write`` refuses larger outputs.
        """
        return None

    @abstractmethod
    def flush(self) -> Position:
        """Wait until all outputs are safe, and return the position after them."""

    @abstractmethod
    def close(self) -> None:
        """Close connections and files; a second call does nothing."""


TRIMMED: Final = "were trimmed before they were read"
TRIMMED_PENDING: Final = "were trimmed before they were learnt"


def lost(name: str, how_many: int, what: str = TRIMMED) -> StreamError:
    """Return the error for entries that are gone."""
    entries = "1 entry" if how_many == 1 else f"{how_many:,} entries"
    remedy = "let the stream keep more, or add on_loss=skip to go on with a dead letter instead"
    return StreamError(f"{name}: {entries} {what}; {remedy}")


def lost_letter(name: str, place: str | int, how_many: int) -> Poison:
    """Return the dead letter for entries that were trimmed after a place."""
    return Poison(name, place, f"{how_many:,} entries after it {TRIMMED}")


def set_back(name: str, known: object, now: object) -> StreamError:
    """Return the error for a server with less data than the model, as after a restore."""
    remedy = "Restore it, or begin a new folder with this model: --initial-model"
    problem = f"was reset: it was read up to {known}, and now ends at {now}"
    return StreamError(f"{name}: {problem}. {remedy}")


def portions(outputs: Sequence[Output], most: int, most_bytes: int) -> Iterator[Sequence[Output]]:
    """Cut outputs into portions of limited number and size; a large output is alone."""
    start = size = 0
    for at, output in enumerate(outputs):
        if at > start and (at - start == most or size + len(output.value) > most_bytes):
            yield outputs[start:at]
            start, size = at, 0
        size += len(output.value)
    if outputs:
        yield outputs[start:]
