"""A file that lines are written to, whose failures are told in one sentence."""

from __future__ import annotations

import contextlib
import os
from typing import Literal, Self

from clasher.errors import StreamError


class Closing:
    """Closes itself at the end of a ``with`` block."""

    def close(self) -> None:
        """Let go of what is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LineFile:
    """Lines in, each portion flushed as it is written.

    Parameters
    ----------
    path
        The file.
    mode
        ``"wb"`` replaces what is there, ``"ab"`` adds to it.
    what
        What the file is called in messages.
    """

    def __init__(self, path: str | os.PathLike[str], mode: Literal["wb", "ab"], what: str) -> None:
        self.what = what
        try:
            self._file = open(path, mode)  # noqa: SIM115
        except OSError as error:
            raise failure(what, error) from error

    def write(self, lines: bytes) -> None:
        """Write some lines; only a reader that went away stays an ``OSError``."""
        try:
            self._file.write(lines)
            self._file.flush()
        except OSError as error:
            # Closing tries to write the rest once more: that this fails too says nothing new.
            with contextlib.suppress(OSError):
                self._file.close()
            if isinstance(error, BrokenPipeError):
                raise
            raise failure(self.what, error) from error

    def close(self) -> None:
        """Close the file; once more is no error."""
        self._file.close()


def failure(what: str, error: OSError) -> StreamError:
    """The one sentence for what cannot be written."""
    return StreamError(f"{what} cannot be written: {error.strerror or error}")
