"""The bounds of an ``Engine``, and the default settings of its model."""

from __future__ import annotations

from dataclasses import dataclass, field

from clasher.errors import SettingError
from clasher.settings import Settings


@dataclass(frozen=True)
class QueueBounds:
    """How many predicted documents to keep, how many bytes, and for how many seconds."""

    documents: int = 10_000
    bytes: int = 64 * 2**20
    seconds: float = 7 * 86400.0


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The bounds of a service.

    Parameters
    ----------
    awaiting
        How many predicted documents to keep for feedback, how many bytes and for how long.
    lease_seconds
        How long a document is reserved for the person who is teaching it.
    waiting_requests, waiting_bytes
        How much may wait to be written and learnt before further requests are refused.
    snapshot_documents, snapshot_bytes
        How much to learn, or to write to the log, between two snapshots: the most that a start has
        to replay.
    log_bytes
        How much of the log to keep for export and replay.
    keys, key_seconds
        How many idempotency keys to remember, and for how long.
    recent_documents
        How many of the last predicted documents a receipt compares.
    """

    awaiting: QueueBounds = field(default_factory=QueueBounds)
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
            if (value := getattr(self, name)) < 1:
                raise SettingError.of(name, "at least 1", value, "EngineOptions")


def default_settings() -> Settings:
    """Return the default settings of a service: keep words, detect drift.

    >>> default_settings().words
    True
    """
    return Settings(words=True, detector="window")
