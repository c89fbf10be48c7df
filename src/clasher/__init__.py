"""Classify endless multi-label text streams in bounded memory and constant time."""

from clasher.errors import ClasherError
from clasher.labels import LabelSets
from clasher.model import Clasher
from clasher.settings import Settings
from clasher.text import Analyzer

__version__ = "0.1.0"
__all__ = ["Analyzer", "Clasher", "ClasherError", "LabelSets", "Settings", "__version__"]
