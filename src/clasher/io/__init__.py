"""Sources and sinks of records: files, standard input and output, and streams that can be resumed.

``open_stream`` reads files to their end. ``source_at`` and ``sink_at`` open a stream by its address
(a path, ``redis://…``) and resume it where a run left off, as ``clasher.flow`` does. A package that
adds a connector imports all that it needs from here.
"""

from clasher.io.files import open_stream
from clasher.io.jsonl import Decoder
from clasher.io.label_cells import LabelFormWarning, Understood
from clasher.io.protocol import Caller, Chunk, Output, Party, Poison, Position, Sink, Source
from clasher.io.records import Batch, Fields
from clasher.io.registry import Address, Connector, sink_at, source_at
from clasher.io.writers import BadRecords, LineWriter, PredictionWriter

__all__ = [
    "Address", "BadRecords", "Batch", "Caller", "Chunk", "Connector", "Decoder", "Fields",
    "LabelFormWarning", "LineWriter", "Output", "Party", "Poison", "Position", "PredictionWriter",
    "Sink", "Source", "Understood", "open_stream", "sink_at", "source_at",
]  # fmt: skip
