"""How a Redis stream and its groups stand, and whether anything of it is missing."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import redis

from clasher.errors import StreamError

ZERO: Final = "0-0"


class Group(NamedTuple):
    """How a group stands: the last entry that was delivered, how many were, how many will be."""

    last: str
    read: int | None
    lag: int | None

    @classmethod
    def of(cls, answer: Any, name: str) -> Group | None:
        """Read what ``XINFO GROUPS`` says; None where there is no such group."""
        groups = [] if isinstance(answer, redis.ResponseError) else answer
        for group in groups:
            if group["name"] == name.encode():
                last = group["last-delivered-id"].decode()
                return cls(last, group.get("entries-read"), group.get("lag"))
        return None


class Stand(NamedTuple):
    """How a stream stands.

    Attributes
    ----------
    added : int
        Entries that were ever added to it.
    length : int
        Entries that are there.
    first, last : str
        The first that is there, and the last that was ever added; ``0-0`` where there is none.
    """

    added: int = 0
    length: int = 0
    first: str = ZERO
    last: str = ZERO

    @classmethod
    def of(cls, answer: Any, name: str) -> Stand | None:
        """Read what ``XINFO STREAM`` says; None where there is no stream."""
        if is_missing(answer):
            return None
        if isinstance(answer, Exception):
            raise answer
        if "entries-added" not in answer:
            raise StreamError(f"{name}: is a Redis before 7.0, which does not count its entries")
        first = answer["first-entry"]
        return cls(
            answer["entries-added"],
            answer["length"],
            ZERO if first is None else first[0].decode(),
            answer["last-generated-id"].decode(),
        )

    def trimmed(self, last: str, read: int) -> int:
        """How many entries after ``last``, of which ``read`` were added up to it, are gone.

        As long as an entry up to ``last`` is there, none after it was trimmed.

        >>> Stand(added=10, length=4, first="7-0", last="10-0").trimmed("5-0", read=5)
        1
        """
        if self.length and order(self.first) <= order(last):
            return 0
        return max(0, self.added - read - self.length)

    def trimmed_from(self, group: Group) -> int:
        """How many entries were trimmed before anybody of a group was given them."""
        return 0 if group.read is None else self.trimmed(group.last, group.read)


def is_missing(answer: object) -> bool:
    """Whether there is no such stream."""
    return isinstance(answer, redis.ResponseError) and "no such key" in str(answer).lower()


def has_no_group(answer: object) -> bool:
    """Whether there is no such group."""
    return isinstance(answer, redis.ResponseError) and str(answer).startswith("NOGROUP")


def order(entry: bytes | str) -> tuple[int, int]:
    """The order of the ids of entries.

    >>> order("1700000000000-7") < order("1700000000001-0")
    True
    """
    text = entry if isinstance(entry, str) else entry.decode()
    time, _, number = text.partition("-")
    return int(time), int(number or 0)
