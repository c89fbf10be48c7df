"""The report of an evaluation: one HTML page that needs nothing but itself."""

from __future__ import annotations

import os
from collections.abc import Mapping

from clasher.app.sample import Sample
from clasher.evaluate import Evaluation
from clasher.model import Clasher


def write_report(
    path: str | os.PathLike[str],
    evaluation: Evaluation,
    *,
    title: str = "Evaluation",
    stream: str = "",
    command: str = "",
    model: Clasher | None = None,
    sample: Sample | None = None,
    comparison: Mapping[str, Evaluation] | None = None,
) -> None:
    """Write the report of an evaluation.

    Parameters
    ----------
    path
        The file to write, ``.html``.
    evaluation
        What to report.
    title
        The heading.
    stream
        What was streamed: names of files, or words.
    command
        The command that made the evaluation, as typed.
    model, sample
        The model after the evaluation and some documents of the stream, to show the words that
        decide. Both or none.
    comparison
        Evaluations of other settings on the same stream, by name.

    Raises
    ------
    MissingExtraError
        The extra ``report`` is not installed.
    """
    raise NotImplementedError
