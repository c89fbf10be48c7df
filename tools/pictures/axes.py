"""A plot within a picture: its frame, its scales, its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.pictures.svg import FAINT, RULE, Picture


@dataclass(frozen=True)
class Axes:
    """A rectangle of a picture; x and y are the values at its upper right corner."""

    picture: Picture
    left: float
    top: float
    width: float
    height: float
    x: float
    y: float
    low: float = 0.0

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point in the picture, clipped to the frame."""
        share = min(max((y - self.low) / (self.y - self.low), 0.0), 1.0)
        across = min(max((x - self.x0) / (self.x - self.x0), 0.0), 1.0)
        return self.left + self.width * across, self.top + self.height * (1.0 - share)

    @property
    def x0(self) -> float:
        """The start of the x axis: that of the y axis if negative, else 0."""
        return min(self.low, 0.0)

    def frame(self, xs: Sequence[float], ys: Sequence[float], form: str = "{:g}") -> None:
        """Draw lines and numbers at these values."""
        for y in ys:
            _, at = self.place(0.0, y)
            self.picture.line(self.left, at, self.left + self.width, at, colour=RULE)
            self.picture.text(
                self.left - 8, at + 4, form.format(y), at="end", colour=FAINT, size=11
            )
        for x in xs:
            at, _ = self.place(x, 0.0)
            below = self.top + self.height + 16
            self.picture.text(at, below, form.format(x), at="middle", colour=FAINT, size=11)
