"""Labels as River has them, all text or all integers, and as a model knows them: text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, TypeAlias

from clasher.errors import LabelError
from clasher.label_names import normal_states
from clasher.labels import Labels

Label: TypeAlias = str | int
Kind: TypeAlias = type[str] | type[int] | None
"""What the labels of a stream are, as far as is known."""


def read(labels: Any, kind: Kind) -> tuple[Labels, Kind]:
    """Labels as a model takes them, and of what kind they were.

    >>> read({1: True, 2: False, 3: None}, None)
    ({'1': True, '2': False}, <class 'int'>)
    >>> read({"oil"}, int)
    Traceback (most recent call last):
    clasher.errors.LabelError: labels must be all integers or all text, and label 'oil' is not an \
integer as those before it; convert them to text: str(label)
    """
    if labels is None:
        return None, kind
    if isinstance(labels, Mapping):
        states = {name: _state(name, given) for name, given in labels.items()}
        kind = _kind(states, kind)
        known = {str(name): state for name, state in states.items() if state is not None}
        return normal_states(known), kind
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise LabelError(
            f"labels must be a mapping label → bool, a set of labels or None. Got {labels!r} "
            f"instead."
        )
    names = list(labels)
    return {str(name) for name in names}, _kind(names, kind)


def given(name: str, kind: Kind) -> Label:
    """A label of the model as it was given."""
    return int(name) if kind is int else name


def _kind(names: Iterable[Any], kind: Kind) -> Kind:
    for name in names:
        own = _kind_of(name)
        if kind is not None and own is not kind:
            wanted = "an integer" if kind is int else "text"
            raise LabelError(
                f"labels must be all integers or all text, and label {name!r} is not {wanted} as "
                f"those before it; convert them to text: str(label)"
            )
        kind = own
    return kind


def _kind_of(name: Any) -> Kind:
    if isinstance(name, str):
        return str
    if isinstance(name, Integral) and not isinstance(name, bool):
        return int
    raise LabelError(
        f"a label must be text or an integer. Got {name!r} instead; convert it to text: str(label)"
    )


def _state(name: Any, state: Any) -> bool | None:
    """Whether a document has a label; None or NaN where that is not known."""
    if state is None or state != state:
        return None
    if state in (0, 1):  # as booleans of Python and of NumPy are
        return bool(state)
    raise LabelError(
        f"label {name!r} must be True or False, or None where it is not known. "
        f"Got {state!r} instead."
    )
