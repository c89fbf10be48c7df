"""What a model is made of, for those who add to what it can do."""

from __future__ import annotations

from collections.abc import Sequence

from clasher.kernels.state import Setting, State
from clasher.labels import LabelIndex, LabelSets
from clasher.learning.drift import Alarm, Watch
from clasher.settings import Settings
from clasher.text.hashing import Hashed, Hasher


class Parts:
    """The parts of a model: its settings, and all that is learnt."""

    settings: Settings
    pinned: set[str]
    """Labels that are never given up for others; not part of the model file."""
    _setting: Setting
    _hasher: Hasher
    _index: LabelIndex
    _state: State
    _watch: Watch | None

    def _set_up(
        self, settings: Settings, index: LabelIndex, state: State, alarms: Sequence[Alarm] = ()
    ) -> None:
        """Initialise each component of the system: line 1 of Algorithm 1."""
        self.settings = settings
        self.pinned = set()
        self._setting = settings.for_kernels()
        self._hasher = Hasher(
            settings.dimensions, settings.seed, settings.analyzer,
            keep_words=settings.keeps_words or settings.depth > 1,
        )  # fmt: skip
        self._index = index
        self._state = state
        self._watch = None if settings.detector == "none" else Watch(settings.detector, alarms)

    def _step(self, hashed: Hashed, sets: LabelSets, predicting: bool) -> LabelSets:
        """Lines 3–6 of Algorithm 1 for a batch, with a look at the errors where one is due."""
        raise NotImplementedError

    def _advance(self, hashed: Hashed, sets: LabelSets, predicting: bool) -> LabelSets:
        """Lines 3–6 of Algorithm 1 for a batch."""
        raise NotImplementedError
