"""The bounds of a flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from clasher.errors import SettingError, require_positive

EVERY: Final = 30.0  # seconds between two snapshots


@dataclass(frozen=True, kw_only=True)
class FlowOptions:
    """The bounds of a flow.

    Parameters
    ----------
    chunk
        Arrivals to read, and to learn, at a time.
    ahead
        Chunks of a source to read ahead.
    snapshot_documents, snapshot_seconds
        Documents, or seconds, between two snapshots: the most that a start has to repeat. By
        default 30 seconds, or less if a broker's transaction would end before.
    remember
        How many of the last documents to remember, to skip them when they come twice; 0: none.
    idle
        Seconds without any arrival after which the flow ends; None: never.
    give_up
        Seconds after which a stream that does not answer ends the flow; None: never.
    texts
        Whether outputs include the text of the document.
    new_stream
        Whether a folder that has learnt other streams may start to learn an unknown one.
    """

    chunk: int = 4000
    ahead: int = 2
    snapshot_documents: int = 200_000
    snapshot_seconds: float | None = None
    remember: int = 10_000
    idle: float | None = None
    give_up: float | None = None
    texts: bool = False
    new_stream: bool = False

    def __post_init__(self) -> None:
        for name in ("chunk", "ahead", "snapshot_documents"):
            require_positive("FlowOptions", name, getattr(self, name))
        for name in ("snapshot_seconds", "remember"):
            if (getattr(self, name) or 0) < 0:
                raise SettingError.of(name, "0 or more", getattr(self, name), "FlowOptions")

    def interval(self, within: float) -> float:
        """Return the seconds between two snapshots; a party refuses those later than ``within``.

        >>> FlowOptions().interval(float("inf")), FlowOptions().interval(10.0)
        (30.0, 5.0)
        >>> FlowOptions(snapshot_seconds=600).interval(300.0)  # doctest: +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
        clasher.errors.SettingError: --snapshot-every 600: a transaction ends after 300 s, before
        the snapshot; use 150 or less, or raise transaction.timeout.ms in the address of the sink
        """
        most = within / 2
        if self.snapshot_seconds is None:
            return min(EVERY, most)
        if self.snapshot_seconds > most:
            raise SettingError(
                f"--snapshot-every {self.snapshot_seconds:g}: a transaction ends after {within:g} "
                f"s, before the snapshot; use {most:g} or less, or raise transaction.timeout.ms in "
                f"the address of the sink"
            )
        return self.snapshot_seconds
