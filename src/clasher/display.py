"""How notebooks show things: small pages in themselves, everything escaped, light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
.clasher{font:14px/1.45 system-ui,sans-serif;color:#1b1f24;background:#fff;border:1px solid #d0d7de;
border-radius:6px;padding:10px 14px;max-width:60em}
.clasher table{border-collapse:collapse;margin:6px 0}
.clasher th,.clasher td{padding:2px 10px 2px 0;text-align:left}
.clasher svg{display:block;width:100%;height:80px;stroke:#0969da}
.clasher .for{background:rgba(26,127,55,var(--w))}
.clasher .against{background:rgba(207,34,46,var(--w))}
@media (prefers-color-scheme:dark){.clasher{color:#e6edf3;background:#0d1117;border-color:#30363d}
.clasher svg{stroke:#58a6ff}}
""".replace("\n", "")


def card(title: str, *parts: str) -> str:
    """A frame with a title around parts that are HTML already.

    >>> "<b>a &lt; b</b>" in card("a < b")
    True
    """
    inside = "".join(parts)
    return f'<div class="clasher"><style>{STYLE}</style><b>{escape(title)}</b>{inside}</div>'


def rows(heads: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in line) + "</tr>"
        for line in lines
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def curve(name: str, values: Sequence[float]) -> str:
    """A line of values between 0 and 1."""
    step = 100 / max(1, len(values) - 1)
    points = " ".join(f"{i * step:.2f},{40 - 40 * value:.2f}" for i, value in enumerate(values))
    return (
        f'<svg viewBox="0 0 100 40" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(name)}"><polyline fill="none" points="{points}" '
        f'vector-effect="non-scaling-stroke"/></svg>'
    )


def weighted(pieces: Iterable[tuple[str, float]]) -> str:
    """Pieces of text on green where they speak for something, on red where against it."""
    listed = list(pieces)
    most = max((abs(weight) for _, weight in listed), default=0.0) or 1.0
    return " ".join(
        f'<span class="{"for" if weight > 0 else "against"}" '
        f'style="--w:{0.6 * abs(weight) / most:.2f}" title="{weight:+.3f}">{escape(text)}</span>'
        for text, weight in listed
    )
