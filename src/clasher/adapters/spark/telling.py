"""What a task raised on purpose, told as if it had been raised here: in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from clasher import errors

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
