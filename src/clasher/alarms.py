"""What is told of a change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Alarm:
    """The errors of a label, or of all, have risen: its past was given up.

    Attributes
    ----------
    document : int
        How many documents the model had been shown when the alarm rang.
    label : str | None
        The label; None where the alarm is about all of them.
    error_before, error_after : float
        The fraction of the label's documents, true or predicted, that were predicted wrongly,
        before the change and since.
    gained, lost : tuple of str
        The words that are written more, or less, than before.

    Examples
    --------
    >>> print(Alarm(5120, "oil", 0.25, 0.5, ("fracking",), ("tanker", "barrel")))
    document 5,120: oil, errors 25 % → 50 %; more fracking; less tanker, barrel
    """

    document: int
    label: str | None
    error_before: float
    error_after: float
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = "all labels" if self.label is None else self.label
        told = f"document {self.document:,}: {name}, "
        told += f"errors {self.error_before:.0%} → {self.error_after:.0%}".replace("%", " %")
        for how, words in (("more", self.gained), ("less", self.lost)):
            told += f"; {how} {', '.join(words)}" if words else ""
        return told

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self) | {"gained": list(self.gained), "lost": list(self.lost)}

    @classmethod
    def of(cls, given: dict[str, Any]) -> Alarm:
        """An alarm from plain values."""
        words = {name: tuple(given[name]) for name in ("gained", "lost")}
        return cls(**(given | words))
