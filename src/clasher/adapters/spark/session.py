"""A Spark session whose workers run this Python, and clasher's errors without Spark's traceback."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from shutil import which

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from clasher import errors
from clasher.errors import ClasherError, MissingExtraError, SettingError, StreamError

_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by spark-submit
_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_OURS = re.compile(r"^clasher\.errors\.(\w+): (.+)$", re.MULTILINE)
_KAFKA = re.compile(
    r"org\.apache\.kafka\.common\.errors\.\w+: (.+?)(?: SQLSTATE.*)?$", re.MULTILINE
)


def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return the session of this process, or start one.

    Parameters
    ----------
    master
        Where to run. None: where ``spark-submit`` says, else on all cores of this machine.
    conf
        Further Spark settings. A session that already runs ignores them and ``master``.
    """
    if _SUBMITTED not in os.environ and not os.environ.get("JAVA_HOME") and not which("java"):
        raise MissingExtraError(
            "Spark needs Java 17 or later: install it (Debian: openjdk-17-jre-headless), or set "
            "JAVA_HOME"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("clasher")
    if master is None and _SUBMITTED not in os.environ:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            builder = builder.config(map=dict(_LOCAL))
    return builder.config(map=dict(conf or {})).getOrCreate()


def context_of(df: DataFrame) -> SparkContext:
    """Return the context of a data frame, which broadcasts models; Spark Connect has none."""
    try:
        return df.sparkSession.sparkContext
    except PySparkException as error:
        raise SettingError(
            "models are broadcast, which Spark Connect cannot do: run the job with spark-submit, "
            "or in a session without a remote"
        ) from error


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Raise clasher's own error in place of the Spark error that a task turned it into."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if (own := error_in(str(error))) is None:
            raise
        raise own from None


def error_in(message: str) -> ClasherError | None:
    r"""Find clasher's own error, or one of Kafka, in a message of Spark.

    >>> error_in("Job aborted:\nclasher.errors.LabelError: a label must be text\n SQLSTATE: 1")
    LabelError('a label must be text')
    >>> error_in("[X] org.apache.kafka.common.errors.TimeoutException: Timed out. SQLSTATE: 1")
    StreamError('Kafka: Timed out; check the broker, the topic and login')
    """
    if "No module named 'clasher'" in message:
        return SettingError(
            "executors cannot import clasher: install it there, or send an environment that has "
            "it along (spark-submit --archives)"
        )
    if found := _OURS.findall(message):
        name, text = found[-1]
        if (kind := getattr(errors, name, None)) is not None:
            own: ClasherError = kind.__new__(kind, text)  # some constructors take other arguments
            return own
    if "data may have been lost" in message or "KAFKA_DATA_LOSS" in message:
        return StreamError(
            "Kafka no longer has the next offsets: they were deleted, or the topic was made again. "
            "Continue this model in another folder"
        )
    if kafka := _KAFKA.search(message):
        return StreamError(f"Kafka: {kafka[1].rstrip('.')}; check the broker, the topic and login")
    return None
