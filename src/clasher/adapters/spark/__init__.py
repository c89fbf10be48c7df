"""Learning and predicting on a Spark cluster: the extra ``spark``.

Executors need clasher too: install it there, or send an environment along (docs/how-to/spark.md).
"""

from importlib.util import find_spec

from clasher.errors import MissingExtraError

if find_spec("pyspark") is None or find_spec("pandas") is None:
    raise MissingExtraError.of("Spark", "spark")

from clasher.adapters.spark.fit import fit
from clasher.adapters.spark.predict import predict
from clasher.adapters.spark.session import plainly, session
from clasher.adapters.spark.shards import Shards, predict_sharded, read_shards, write_shards
from clasher.adapters.spark.stream import Stream, stream

__all__ = [
    "Shards",
    "Stream",
    "fit",
    "plainly",
    "predict",
    "predict_sharded",
    "read_shards",
    "session",
    "stream",
    "write_shards",
]
