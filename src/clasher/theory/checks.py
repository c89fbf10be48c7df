"""What the calculators have in common: ranges of their parameters, and rounding up."""

from __future__ import annotations

import math

from clasher.errors import SettingError

SMALLEST = 1e-12
"""Errors are asked for down to here: beyond it, floats run out before dimensions do."""


def number(owner: str, parameter: str, value: object, low: float, high: float) -> None:
    """Refuse what is not a number strictly between ``low`` and ``high``."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not (real and low < value < high):  # type: ignore[operator]
        raise SettingError.of(parameter, f"a number between {low:.4g} and {high:.4g}", value, owner)


def error(owner: str, value: object, high: float = 1.0) -> None:
    """Refuse what is not an error one can ask for."""
    number(owner, "error", value, SMALLEST, high)


def least(owner: str, parameter: str, value: object, low: float) -> None:
    """Refuse what is not a finite number of at least ``low``."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not (real and low <= value < math.inf):  # type: ignore[operator]
        raise SettingError.of(parameter, f"a number of at least {low:g}", value, owner)


def whole(owner: str, parameter: str, value: object, low: int) -> None:
    """Refuse what is not an integer of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise SettingError.of(parameter, f"an integer of at least {low}", value, owner)


def up(value: float) -> int:
    """Round up, but not for the last bits of a float: sizes that went there come back.

    >>> up(12.0000000000000018), up(12.1)
    (12, 13)
    """
    return math.ceil(value * (1.0 - SMALLEST))


def below(value: float, limit: float) -> float | None:
    """A guaranteed error, or None where it is so large that nothing is said."""
    return value if value < limit else None
