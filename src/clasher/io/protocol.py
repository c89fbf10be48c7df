"""The protocol of streams that may be left and taken up again: sources, sinks, and who must agree.

A connector is a file in ``clasher.io.connectors`` with a ``Source``, a ``Sink`` or both, made from
an address (``clasher.io.registry``) and named in the table of ``clasher.io.registry``. The
runner of ``clasher.flow`` does all else: threads, waiting, retrying, learning, snapshots.

**Positions.** A source tells with every chunk where to go on after it: its *position*, any value
that JSON can hold. Positions are kept in the snapshot of the model, so that what was learnt and
where to go on are one thing; ``open`` gets the position of the snapshot that is taken up, and
must deliver exactly what comes after it. A source that no longer can raises ``StreamError``: it
never skips.

**Who must agree.** Where a position is not enough, because entries can be given to somebody else
or outputs are to appear together with what was learnt, the source or the sink is a ``Party`` to
every snapshot, in two phases:

1. The runner flushes the sinks and *prepares* snapshot n: it is on disk, the one before is kept.
2. ``Party.commit(…, n, …)`` makes everything up to n final in one atomic step, and stores n.
3. The runner marks snapshot n as committed, and lets go of older ones.

A start that finds a prepared snapshot n asks ``Party.committed``: n, and it counts; the number
before, and it is thrown away. A refused commit takes the runner back to the snapshot before.
One party at most takes part in a run.

**Failures.** ``UnreachableError`` means "not now": the runner waits and calls again, with the same
arguments. Any other ``StreamError`` ends the run, in one line. A record that is no record is no
failure: it is ``Poison``, and goes to the dead letters.

What is said where a stream no longer has what follows a position: it is never passed over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from clasher.errors import StreamError
from clasher.io.records import Batch, Fields, Id

TRIMMED: Final = "were trimmed before they were read"
TRIMMED_PENDING: Final = "were trimmed before they were learnt"


def lost(name: str, how_many: int, what: str = TRIMMED) -> StreamError:
    """The one sentence for entries that nobody can read any more.

    >>> print(lost("redis://host/news", 3))  # doctest: +ELLIPSIS
    redis://host/news: 3 entries were trimmed before they were read; let the stream keep more, ...
    """
    entries = "1 entry" if how_many == 1 else f"{how_many:,} entries"
    return StreamError(
        f"{name}: {entries} {what}; let the stream keep more, and to go on without them, which "
        f"become dead letters, add the option on_loss=skip"
    )


def set_back(name: str, known: object, there: object) -> StreamError:
    """The one sentence for a server that remembers less than the model."""
    return StreamError(
        f"{name}: was set back: it was read as far as {known}, and knows of {there} now. Restore "
        f"it, or begin a new folder with this model: --begin-with"
    )


Position: TypeAlias = Any
"""Where a stream is to be gone on with: plain values, as JSON has them; None is its beginning."""


class Poison(NamedTuple):
    """Something that came where a record should have.

    Attributes
    ----------
    source : str
        The stream it came from.
    place : str or int
        Where it stands there: a line, an entry, an offset.
    problem : str
        What is wrong with it, and what to do.
    raw : bytes | None
        What came, as far as it can be had.
    """

    source: str
    place: str | int
    problem: str
    raw: bytes | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive arrivals of a source: records, poison, and where to go on after them.

    One without arrivals tells the position alone.

    >>> len(Chunk(Batch.empty(), position={"offset": 17}))
    0
    """

    records: Batch
    position: Position
    poison: Sequence[Poison] = field(default=())

    def __len__(self) -> int:
        return len(self.records) + len(self.poison)


class Output(NamedTuple):
    """What a sink is given: a JSON object, and the id of the document that it is about.

    The same document gives the same output, however often it is written: whoever must not see it
    twice can tell by the id.
    """

    id: Id
    value: bytes


@dataclass(frozen=True)
class Caller:
    """Who opens a stream.

    Attributes
    ----------
    id : str
        A name that stays with the folder of the model: consumers and transactions are named by it.
    settle : callable
        For sources that are about to lose what they delivered. Called from within ``read``, it
        returns when all of it is learnt and committed; ``StoppedError``, where it will not be.
    tell : callable
        Tells people something that they should know, in one line.
    """

    id: str
    settle: Callable[[], None] = lambda: None
    tell: Callable[[str], object] = lambda line: None


class Party(ABC):
    """Another party that must agree before a snapshot counts; see the top of this module.

    Attributes
    ----------
    name : str
        Tells it from others, for good: its server, stream and group. No passwords.
    within : float | None
        Seconds from the first output to the commit after which it refuses that; None: no limit.
    """

    name: str

    @property
    def within(self) -> float | None:
        """Asked before ``open``."""
        return None

    @abstractmethod
    def committed(self, caller: Caller) -> int:
        """The number of the last commit of this caller, 0 where there was none.

        May be asked before ``open``. An earlier commit whose outcome was unknown must have one by
        now: a transaction that is still under way is aborted first.
        """

    @abstractmethod
    def commit(self, caller: Caller, number: int, after: int, position: Position) -> None:
        """Make all up to ``position`` final and store ``number``, in one atomic step.

        Parameters
        ----------
        caller
            Whose snapshot it is.
        number
            The number of the snapshot that is prepared.
        after
            The number that must be the last committed one. Where it is ``number`` already, this
            very commit came through before, and nothing is left to do: it may be called again.
        position
            The position of the source of documents in that snapshot.

        Raises
        ------
        CommitRefusedError
            Somebody else has got what was learnt here: the runner goes back to ``after``.
        UnreachableError
            Nobody knows whether it came through: it is called again.
        StreamError
            The other side is not what it was, such as a server that was set back.
        """


class Source(ABC):
    """Where documents, or their labels, come from.

    ``open``, ``read`` and ``close`` are called from one thread at a time. ``lag``, ``identity`` and
    the methods of a party may be called from another one meanwhile; ``identity`` and ``same`` are
    also called before ``open``.

    Attributes
    ----------
    name : str
        What the stream is called in messages and in snapshots: its address without passwords and
        without options that may change from run to run. A snapshot keeps a position per name.
    fields : Fields
        Which fields of a record hold what.
    is_over : bool
        Whether the stream has an end and all of it was read. An endless stream never is.
    knows_end : bool
        Whether a read that brings nothing says that there is nothing now, not that nobody answers.
    party : Party | None
        The source itself, where it must agree to snapshots.
    """

    name: str
    fields: Fields
    is_over: bool = False
    party: Party | None = None

    @property
    def knows_end(self) -> bool:
        """Asked after ``read``, from the same thread."""
        return True

    @abstractmethod
    def open(self, position: Position, caller: Caller) -> None:
        """Be ready to read what comes after ``position``; None: from where a new reader begins.

        Called again after a refused commit, with the position of the snapshot before: what was
        delivered since then is to be delivered again, as far as it is still ours.
        """

    @abstractmethod
    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next arrivals, ``most`` of them or fewer; None where nothing came in ``seconds``.

        As many as there are, without waiting for more: how arrivals are cut into chunks makes no
        difference to what is learnt. ``CommitRefusedError`` says that what was delivered since the
        last commit is not ours any more.
        """

    def lag(self) -> int | None:
        """About how many arrivals are there that were not read yet; None where nobody knows."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of connections and files; once more is no error."""

    def identity(self) -> str | None:
        """Return what the stream says of itself, however its address is spelt; None if unknown."""
        return None

    def same(self, identity: str) -> bool:
        """Tell whether ``identity``, kept from an earlier run, is this stream's."""
        return self.identity() == identity


class Sink(ABC):
    """Where outputs go.

    Attributes
    ----------
    name : str
        What it is called in messages and in snapshots: its address without passwords.
    party : Party | None
        The sink itself, where its outputs appear with the commit of a snapshot.
    """

    name: str
    party: Party | None = None

    @abstractmethod
    def open(self, position: Position, caller: Caller) -> None:
        """Be ready to write after ``position``, which ``flush`` gave; None: there was none.

        A sink that can drops what was written after it, since that is written again.
        """

    @abstractmethod
    def write(self, outputs: Sequence[Output]) -> None:
        """Write outputs, in order; they should be seen soon.

        Where this raises ``UnreachableError`` it is called again with the same outputs: those that
        came through need not be written twice, but may be.
        """

    def room(self) -> int | None:
        """Return how many bytes an output may have, None if there is no limit; after ``open``.

        Dead letters are cut to it. An output that is larger is for ``write`` to refuse.
        """
        return None

    @abstractmethod
    def flush(self) -> Position:
        """Return when all that was written is as safe as it will ever be, with the position."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections and files; once more is no error."""
