"""The bounds of an ``Engine``, and the default settings of its model."""

from __future__ import annotations

from dataclasses import dataclass, field

from clasher.errors import require_positive
from clasher.settings import Settings


@dataclass(frozen=True)
class QueueBounds:
    """How many predicted documents to keep, how many bytes, and for how many seconds."""

    documents: int = 10_000
    bytes: int = 64 * 2**20
    seconds: float = 7 * 86400.0


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The bounds of a service."""

    awaiting: QueueBounds = field(default_factory=QueueBounds)
    lease_seconds: float = 600.0  # how long a document is reserved for the person who teaches it
    # how much may wait to be written and learnt before further requests are refused
    waiting_requests: int = 4096
    waiting_bytes: int = 64 * 2**20
    # how much to learn and write between two snapshots: the most that a start has to replay
    snapshot_documents: int = 50_000
    snapshot_bytes: int = 64 * 2**20
    log_bytes: int = 10**9  # of the log, kept for export and replay
    keys: int = 100_000  # idempotency keys that are remembered
    key_seconds: float = 7 * 86400.0
    recent_documents: int = 50  # that a receipt compares

    def __post_init__(self) -> None:
        for name in ("waiting_requests", "waiting_bytes", "snapshot_documents", "snapshot_bytes"):
            require_positive("EngineOptions", name, getattr(self, name))


def default_settings() -> Settings:
    """Return the default settings of a service: keep words, detect drift."""
    return Settings(words=True, detector="window")
