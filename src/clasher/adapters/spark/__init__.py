"""Learning and predicting on a Spark cluster: the extra ``spark``.

==============  ===================================================================================
module          what it does
==============  ===================================================================================
``fitting``     ``fit``: partitions learn side by side, and are merged in a tree
``predicting``  ``predict``: the model goes to all executors
``streaming``   ``stream``: batch by batch, none twice and none lost
``sharding``    ``predict_sharded``: labels split over executors
``sources``     files and Kafka topics as data frames of documents
``session``     a session whose workers run this Python
==============  ===================================================================================

Executors need clasher too: install it there, or send an environment along (see docs/spark.md).
"""

from importlib.util import find_spec

from clasher.errors import MissingExtraError

if find_spec("pyspark") is None or find_spec("pandas") is None:
    raise MissingExtraError.of("Spark", "spark")

from clasher.adapters.spark.fitting import fit
from clasher.adapters.spark.predicting import predict
from clasher.adapters.spark.session import session
from clasher.adapters.spark.shard_files import Shards, read_shards, write_shards
from clasher.adapters.spark.sharding import predict_sharded
from clasher.adapters.spark.streaming import Stream, stream
from clasher.adapters.spark.telling import plainly

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
