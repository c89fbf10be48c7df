"""The shapes of the pictures, on a light card that is readable on any page."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

INK, FAINT, RULE = "#1f2430", "#667085", "#d5d9e2"
BLUE, RED, GREEN = "#3f51b5", "#c2410c", "#15803d"
COLOURS = (BLUE, RED, GREEN, FAINT)


class Picture:
    """An SVG picture.

    >>> picture = Picture("An example", 100, 50)
    >>> picture.line(0, 0, 10, 10)
    >>> str(picture).count("<line")
    1
    """

    def __init__(self, title: str, width: int, height: int) -> None:
        self.title, self.width, self.height = title, width, height
        self._shapes: list[str] = []

    def __str__(self) -> str:
        shapes = "\n".join(self._shapes)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'font-family="system-ui, sans-serif" font-size="14" fill="{INK}" role="img">\n'
            f"<title>{escape(self.title)}</title>\n"
            f'<rect width="{self.width}" height="{self.height}" rx="8" fill="#fbfbfd"/>\n'
            f"{shapes}\n</svg>\n"
        )

    def text(
        self, x: float, y: float, words: str, *, at: str = "start", colour: str = INK,
        size: int = 14, bold: bool = False,
    ) -> None:  # fmt: skip
        """Draw text that starts, ends or is centred at a point."""
        weight = ' font-weight="600"' if bold else ""
        self._add(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{at}" fill="{colour}" '
            f'font-size="{size}"{weight}>{escape(words)}</text>'
        )

    def line(
        self, x: float, y: float, x2: float, y2: float, *, colour: str = RULE, width: float = 1,
        dashes: str = "",
    ) -> None:  # fmt: skip
        """Draw a straight line."""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._add(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{dashed}/>'
        )

    def box(
        self, x: float, y: float, width: float, height: float, *, fill: str = "none",
        edge: str = "none", round_: float = 2,
    ) -> None:  # fmt: skip
        """A rectangle."""
        self._add(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{round_}" fill="{fill}" stroke="{edge}"/>'
        )

    def dots(self, points: Iterable[tuple[float, float]], colour: str = BLUE) -> None:
        """Small dots, as one shape."""
        path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
        self._add(
            f'<path d="{path}" stroke="{colour}" stroke-width="4" stroke-linecap="round" '
            f'stroke-opacity=".45"/>'
        )

    def curve(self, points: Iterable[tuple[float, float]], colour: str) -> None:
        """A line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._add(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def _add(self, shape: str) -> None:
        self._shapes.append(shape)
