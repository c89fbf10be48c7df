"""Two copies of the state: everyone reads the front one, the learner changes the back one.

Readers never wait for learning: they note on which copy they are, and the learner, once it has
turned the copies round, waits for those who are still on the old front before it touches that.
(Left-right, after Ramalhete and Correia, 2015.)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clasher.service.state import State


class Copies:
    """A state that is read while it is changed.

    Examples
    --------
    >>> from clasher.model import Clasher
    >>> copies = Copies(State(Clasher(64)))
    >>> copies.back.model.learn("wheat", {"grain"})
    >>> with copies.reading() as state:
    ...     print(state.model.labels)
    []
    >>> copies.turn()
    >>> copies.wait()
    >>> with copies.reading() as state:
    ...     print(state.model.labels)
    ['grain']
    """

    def __init__(self, state: State) -> None:
        self.front = state
        self.back = state.copy()
        self._readers = {id(self.front): 0, id(self.back): 0}
        self._left = threading.Condition()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """The front copy, which does not change meanwhile."""
        with self._left:
            state = self.front
            self._readers[id(state)] += 1
        try:
            yield state
        finally:
            with self._left:
                self._readers[id(state)] -= 1
                if not self._readers[id(state)]:
                    self._left.notify_all()

    def turn(self) -> None:
        """Let new readers see the back copy; the other one is not to be changed yet: ``wait``."""
        with self._left:
            self.front, self.back = self.back, self.front

    def wait(self) -> None:
        """Wait until nobody reads the back copy any more."""
        with self._left:
            self._left.wait_for(lambda: not self._readers[id(self.back)])
