"""The figures of the past, for curves: a fixed number of points, the further back the sparser."""

from __future__ import annotations

from msgspec import Struct

from clasher.app.server.shapes import Figures

MOST = 600


class Point(Struct, frozen=True, array_like=True):
    """The figures of a moment; measures are None where there was too little evidence."""

    at: float
    documents_learned: int
    documents_predicted: int
    macro_f1: float | None
    micro_f1: float | None
    recent_macro_f1: float | None
    recent_micro_f1: float | None
    memory_bytes: int
    labels: int
    predict_p50_ms: float | None
    predict_p99_ms: float | None


class History:
    """Points since the start: when there are too many, every other one goes.

    Examples
    --------
    >>> history = History(most=4)
    >>> for at in range(9):
    ...     history.add(Point(at, *[0] * 10))
    >>> [point.at for point in history.points]
    [0, 4, 8]
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._stride = 1
        self._seen = 0
        self.points: list[Point] = []

    def add(self, point: Point) -> None:
        """Take note of a moment, if it is its turn."""
        if not self._seen % self._stride:
            self.points.append(point)
        self._seen += 1
        if len(self.points) > self._most:
            self.points = self.points[::2]
            self._stride *= 2


def point(at: float, figures: Figures) -> Point:
    """What is kept of the figures of a moment."""
    measures = [
        getattr(getattr(figures, over), measure)
        for over in ("cumulative", "recent")
        for measure in ("macro_f1", "micro_f1")
    ]
    median, slow = figures.latency_ms["predict"] or (None, None)
    macro, micro, recent_macro, recent_micro = (
        estimate.value if estimate.is_enough else None for estimate in measures
    )
    return Point(
        at, figures.documents_learned, figures.documents_predicted,
        macro, micro, recent_macro, recent_micro,
        figures.memory_bytes, figures.labels, median, slow,
    )  # fmt: skip
