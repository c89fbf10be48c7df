"""Sources and sinks of records: files, standard input and output, and streams that are resumed.

``open_stream`` reads files to their end. ``source_at`` and ``sink_at`` open a stream by its address
(a path, ``redis://…``), to be gone on with where it was left: what ``clasher.flow`` runs on.
"""

from clasher.io.files import open_stream
from clasher.io.label_cells import LabelFormWarning, Understood
from clasher.io.protocol import Chunk, Party, Sink, Source
from clasher.io.records import Batch, Fields
from clasher.io.registry import sink_at, source_at
from clasher.io.writers import BadRecords, LineWriter, PredictionWriter

__all__ = [
    "BadRecords",
    "Batch",
    "Chunk",
    "Fields",
    "LabelFormWarning",
    "LineWriter",
    "Party",
    "PredictionWriter",
    "Sink",
    "Source",
    "Understood",
    "open_stream",
    "sink_at",
    "source_at",
]
