"""What an ``Engine`` can be told beside the settings of its model, and the defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from clasher.errors import SettingError
from clasher.service.documents import Bounds
from clasher.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Options:
    """The bounds of a service.

    Parameters
    ----------
    awaiting
        How many predicted documents are kept for feedback, how many bytes and for how long.
    lease_seconds
        How long a document belongs to the person it was given to for teaching.
    waiting_requests, waiting_bytes
        How much may wait to be written and learnt before others are sent away.
    snapshot_documents, snapshot_bytes
        How much is learnt, or written to the log, between two snapshots: the most that a start has
        to do again.
    log_bytes
        How much of what was taught is kept for export and replay.
    keys, key_seconds
        How many idempotency keys are remembered, and for how long.
    recent_documents
        How many of the last predicted documents a receipt looks at.
    """

    awaiting: Bounds = field(default_factory=Bounds)
    lease_seconds: float = 600.0
    waiting_requests: int = 4096
    waiting_bytes: int = 64 * 2**20
    snapshot_documents: int = 50_000
    snapshot_bytes: int = 64 * 2**20
    log_bytes: int = 10**9
    keys: int = 100_000
    key_seconds: float = 7 * 86400.0
    recent_documents: int = 50

    def __post_init__(self) -> None:
        for name in ("waiting_requests", "waiting_bytes", "snapshot_documents", "snapshot_bytes"):
            if getattr(self, name) < 1:
                raise SettingError.of(name, "at least 1", getattr(self, name), "Options")


def default_settings() -> Settings:
    """The model of a service that was told nothing else: it speaks in words and watches for change.

    >>> default_settings().words
    True
    """
    return Settings(words=True, detector="window")
