"""Checks of parameters, and rounding, for the calculators."""

import math
import sys

from clasher.errors import SettingError, is_integer, is_number

SMALLEST = 1e-12
"""The smallest error that floats can handle."""


def number(owner: str, parameter: str, value: object, low: float, high: float) -> None:
    """Refuse a value that is not a number strictly between ``low`` and ``high``."""
    if not is_number(value, low, high) or value in (low, high):
        raise SettingError.of(parameter, f"a number between {low:.4g} and {high:.4g}", value, owner)


def error(owner: str, value: object, high: float = 1.0) -> None:
    """Refuse a value that is not an error between ``SMALLEST`` and ``high``."""
    number(owner, "error", value, SMALLEST, high)


def least(owner: str, parameter: str, value: object, low: float) -> None:
    """Refuse a value that is not a finite number of at least ``low``."""
    if not is_number(value, low, sys.float_info.max):
        raise SettingError.of(parameter, f"a number of at least {low:g}", value, owner)


def whole(owner: str, parameter: str, value: object, low: int) -> None:
    """Refuse a value that is not an integer of at least ``low``."""
    if not is_integer(value, low):
        raise SettingError.of(parameter, f"an integer of at least {low}", value, owner)


def up(value: float) -> int:
    """Round up, except for the last bits of a float, so that sizes survive a round trip.

    >>> up(12.0000000000000018), up(12.1)
    (12, 13)
    """
    return math.ceil(value * (1.0 - SMALLEST))


def below(value: float, limit: float = 1.0) -> float | None:
    """Return an error, or None if it is too large to mean anything."""
    return value if value < limit else None
