"""Bugs that are put there on purpose, to show that they are found."""

from __future__ import annotations

from collections.abc import Callable

from tests.flow.torture import bugs as flows

BUGS: dict[str, Callable[[], None]] = dict(flows.BUGS)
