"""A Spark session whose workers run this Python.

What a task raised on purpose, told as if it had been raised here: in one line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from shutil import which

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from clasher import errors
from clasher.errors import MissingExtraError, SettingError

_RAISED = re.compile(r"^clasher\.errors\.(\w+): (.+)$", re.MULTILINE)


@contextmanager
def plainly() -> Iterator[None]:
    """Raise what a task of a job raised, where it is an error of ours, without Spark's pages."""
    try:
        yield
    except PySparkException as error:
        if (own := raised_in(str(error))) is None:
            raise
        raise own from None


def raised_in(text: str) -> errors.ClasherError | None:
    r"""The error of ours that Spark tells of.

    >>> raised_in("Job aborted:\nclasher.errors.LabelError: a label must be text\n SQLSTATE: 1")
    LabelError('a label must be text')
    """
    if "No module named 'clasher'" in text:
        return errors.SettingError(
            "executors cannot import clasher: install it there, or send an environment that has it "
            "along (spark-submit --archives)"
        )
    found = _RAISED.findall(text)
    kind = getattr(errors, found[-1][0], None) if found else None
    if kind is None:
        return None
    own: errors.ClasherError = kind.__new__(kind, found[-1][1])  # some are made of other parts
    return own


SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set where spark-submit runs this process
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def context_of(df: DataFrame) -> SparkContext:
    """The context of a data frame; Spark Connect has none, and so cannot broadcast."""
    try:
        return df.sparkSession.sparkContext
    except PySparkException as error:
        raise SettingError(
            "models are broadcast, which Spark Connect cannot do: run the job with spark-submit, "
            "or in a session without a remote"
        ) from error


def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """The session of this process, or a new one.

    Parameters
    ----------
    master
        Where to run. None: where ``spark-submit`` says, else on all cores of this machine.
    conf
        Further settings of Spark. They and ``master`` matter to a new session only.

    Examples
    --------
    >>> spark = session("local[2]")
    >>> spark.range(3).count()
    3
    """
    if SUBMITTED not in os.environ and not os.environ.get("JAVA_HOME") and not which("java"):
        raise MissingExtraError(
            "Spark needs Java 17 or later: install it (Debian: openjdk-17-jre-headless), or set "
            "JAVA_HOME"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("clasher")
    if master is None and SUBMITTED not in os.environ:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            builder = builder.config(map=dict(LOCAL))
    return builder.config(map=dict(conf or {})).getOrCreate()
