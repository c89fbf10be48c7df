"""Several partitions as one stream, in an order that depends on them alone.

Next is always the message with the earliest time among the first ones of all partitions, and of the
lower partition where two are equal. A partition that has nothing now is not waited for, one of
which nobody knows yet is. So a backlog is read in the same order every time, from wherever it is
taken up.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Generic, TypeVar

T = TypeVar("T")


class Merge(Generic[T]):
    """Puts what comes from partitions in order.

    Examples
    --------
    >>> merge = Merge()
    >>> merge.begin(0)
    >>> merge.begin(1)
    >>> merge.add(0, 30, "c")
    >>> merge.take(9)  # who knows what partition 1 has
    []
    >>> merge.add(1, 20, "b")
    >>> merge.add(1, 10, "a, which is late")
    >>> merge.take(9)  # who knows what comes next of it
    ['b', 'a, which is late']
    >>> merge.end(1)
    >>> merge.take(9)
    ['c']
    """

    def __init__(self) -> None:
        self._waiting: dict[int, deque[tuple[int, int, T]]] = {}  # time, size and what it is
        self._heads: list[tuple[int, int]] = []  # time and partition of what is first in each
        self._ended: set[int] = set()
        self.awaited: set[int] = set()
        """The partitions of which nobody knows what is next."""
        self.held: dict[int, int] = {}
        """The size of what waits, by partition."""

    def begin(self, partition: int) -> None:
        """Wait for a partition."""
        self._waiting[partition] = deque()
        self.held[partition] = 0
        self.awaited.add(partition)

    def add(self, partition: int, time: int, item: T, size: int = 0) -> None:
        """Something came."""
        waiting = self._waiting[partition]
        if not waiting:
            heappush(self._heads, (time, partition))
            self.awaited.discard(partition)
        waiting.append((time, size, item))
        self._ended.discard(partition)
        self.held[partition] += size

    def end(self, partition: int) -> None:
        """There is nothing more now, to the best of anybody's knowledge."""
        self._ended.add(partition)
        self.awaited.discard(partition)

    @property
    def is_at_end(self) -> bool:
        """Whether nothing waits, and nothing is waited for."""
        return not self._heads and not self.awaited

    def take(self, most: int) -> list[T]:
        """What is next, as far as that is known."""
        taken: list[T] = []
        while self._heads and not self.awaited and len(taken) < most:
            partition = heappop(self._heads)[1]
            waiting = self._waiting[partition]
            # As long as no other partition comes before it, one goes on without looking around.
            limit = self._heads[0] if self._heads else None
            while len(taken) < most:
                _, size, item = waiting.popleft()
                taken.append(item)
                self.held[partition] -= size
                if not waiting:
                    if partition not in self._ended:
                        self.awaited.add(partition)
                    break
                if limit is not None and (waiting[0][0], partition) > limit:
                    break
            if waiting:
                heappush(self._heads, (waiting[0][0], partition))
        return taken
