"""What is said where a stream no longer has what follows a position: it is never passed over."""

from __future__ import annotations

from typing import Final

from clasher.errors import StreamError

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
