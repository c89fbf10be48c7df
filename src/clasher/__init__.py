"""Classify endless multi-label text streams in bounded memory and constant time."""

from importlib import import_module
from typing import TYPE_CHECKING

from clasher.version import __version__

if TYPE_CHECKING:
    from clasher.errors import ClasherError
    from clasher.labels import LabelSets
    from clasher.learning.drift import Alarm
    from clasher.learning.explain import Explanation
    from clasher.model import Clasher
    from clasher.settings import Settings
    from clasher.text.analyzer import Analyzer
    from clasher.unsupervised.clusters import Clusters
    from clasher.unsupervised.similar import Similar
    from clasher.unsupervised.vectors import HashedTfidf
    from clasher.vocabulary import Vocabulary

_HOMES = {
    "Alarm": "clasher.learning.drift",
    "Analyzer": "clasher.text.analyzer",
    "Clasher": "clasher.model",
    "ClasherError": "clasher.errors",
    "Clusters": "clasher.unsupervised.clusters",
    "Explanation": "clasher.learning.explain",
    "HashedTfidf": "clasher.unsupervised.vectors",
    "LabelSets": "clasher.labels",
    "Settings": "clasher.settings",
    "Similar": "clasher.unsupervised.similar",
    "Vocabulary": "clasher.vocabulary",
}

__all__ = [
    "Alarm", "Analyzer", "Clasher", "ClasherError", "Clusters", "Explanation", "HashedTfidf",
    "LabelSets", "Settings", "Similar", "Vocabulary", "__version__",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that the command line starts before numba loads."""
    if name not in _HOMES:
        raise AttributeError(f"module 'clasher' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
