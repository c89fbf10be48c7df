"""Sources and sinks of records: files, standard input, standard output."""

from clasher.io.badrecords import BadRecords
from clasher.io.files import open_stream
from clasher.io.records import Batch, Fields
from clasher.io.sink import LineWriter, PredictionWriter

__all__ = ["BadRecords", "Batch", "Fields", "LineWriter", "PredictionWriter", "open_stream"]
