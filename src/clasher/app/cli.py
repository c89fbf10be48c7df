"""The entry point of the command line.

Nothing heavy is imported here or in the modules of the commands, only in what they run: ``--help``
and ``--version`` answer at once.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.util import find_spec

from clasher.errors import MissingExtraError

LIBRARIES = ("click", "rich")


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    if any(find_spec(library) is None for library in LIBRARIES):
        print(f"clasher: {MissingExtraError.of('The command line', 'cli')}", file=sys.stderr)
        sys.exit(2)
    from clasher.app.group import cli

    try:
        cli(prog_name="clasher")
    except SystemExit as exit_:
        _leave(exit_.code)
        raise


def _leave(code: object) -> None:
    """Exit at once where a thread still waits for input.

    It holds the lock of standard input, and Python would abort over that on its way out.
    """
    waiting = any(thread.name.startswith("clasher") for thread in threading.enumerate())
    if waiting and isinstance(code, int):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)
