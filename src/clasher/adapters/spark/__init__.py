"""Learn and predict on a Spark cluster; needs the extra ``spark``.

Executors need clasher too: install it there, or send an environment along (docs/how-to/spark.md).
"""

from importlib.util import find_spec

from clasher.errors import MissingExtraError

if find_spec("pyspark") is None or find_spec("pandas") is None:
    raise MissingExtraError.of("Spark", "spark")

from clasher.adapters.spark.fit import fit
from clasher.adapters.spark.predict import predict
from clasher.adapters.spark.session import session, unwrap_errors
from clasher.adapters.spark.shards import Shards, predict_sharded, read_shards, write_shards
from clasher.adapters.spark.stream import Stream, stream

__all__ = [
    "Shards",
    "Stream",
    "fit",
    "predict",
    "predict_sharded",
    "read_shards",
    "session",
    "stream",
    "unwrap_errors",
    "write_shards",
]
