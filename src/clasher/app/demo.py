"""``clasher demo``: the whole product in half a minute, on text that every Python carries."""

from __future__ import annotations

import os


def run_demo(
    report: str | os.PathLike[str] = "demo-report.html",
    *,
    limit: int = 12_000,
    seed: int = 0,
    svg: str | os.PathLike[str] | None = None,
) -> None:
    """Learn the docstrings of this Python installation, compare the rules, write a report.

    Parameters
    ----------
    report
        Where the report is written.
    limit
        The most documents to stream.
    seed
        Of the order of the stream, the sample and the hash.
    svg
        Where to write what the terminal showed, as a picture.
    """
    raise NotImplementedError
