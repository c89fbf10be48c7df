"""What a flow can be told beside its streams and the settings of its model, and the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from clasher.errors import SettingError

EVERY: Final = 30.0  # seconds between two snapshots


@dataclass(frozen=True, kw_only=True)
class Options:
    """The bounds of a flow.

    Parameters
    ----------
    chunk
        Arrivals that are read, and learnt, at a time.
    ahead
        Chunks of a source that may be read before they are needed.
    snapshot_documents, snapshot_seconds
        How much is learnt, or how much time goes by, between two snapshots: the most that a start
        has to do again. By default 30 seconds, or less where a transaction would end before.
    remember
        How many of the last documents are known again when they come twice; 0: none.
    idle
        Seconds without any arrival after which the flow ends; None: never.
    give_up
        Seconds after which a stream that does not answer ends the flow; None: never.
    texts
        Whether outputs hold the text of the document too.
    new_stream
        Whether a folder that has learnt other streams may begin with one that it does not know.
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
            if getattr(self, name) < 1:
                raise SettingError.of(name, "at least 1", getattr(self, name), "Options")
        for name in ("snapshot_seconds", "remember"):
            if (getattr(self, name) or 0) < 0:
                raise SettingError.of(name, "0 or more", getattr(self, name), "Options")

    def interval(self, within: float | None) -> float:
        """Seconds between two snapshots, where a party refuses what it gets after ``within``.

        >>> Options().interval(None), Options().interval(10.0)
        (30.0, 5.0)
        >>> Options(snapshot_seconds=600).interval(300.0)  # doctest: +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
        clasher.errors.SettingError: --snapshot-every 600: a transaction ends after 300 s, and would
        never hold a snapshot; say 150 or less, or raise transaction.timeout.ms in the address of
        the sink
        """
        most = float("inf") if within is None else within / 2
        if self.snapshot_seconds is None:
            return min(EVERY, most)
        if self.snapshot_seconds > most:
            raise SettingError(
                f"--snapshot-every {self.snapshot_seconds:g}: a transaction ends after {within:g} "
                f"s, and would never hold a snapshot; say {most:g} or less, or raise "
                f"transaction.timeout.ms in the address of the sink"
            )
        return self.snapshot_seconds
