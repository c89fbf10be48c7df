"""The entry point of the command line, which works without its libraries: it names the extra."""

import os
import sys
import threading
from importlib.util import find_spec

from clasher.errors import MissingExtraError


def main() -> None:
    """Run the command line and exit."""
    if find_spec("click") is None or find_spec("rich") is None:
        print(f"clasher: {MissingExtraError.of('The command line', 'cli')}", file=sys.stderr)
        sys.exit(2)
    from clasher.cli.commands import cli

    try:
        cli(prog_name="clasher")
    except SystemExit as exit_:
        # A thread that still waits for input holds the lock of standard input, and Python would
        # abort when it shuts down: exit at once.
        waiting = any(thread.name.startswith("clasher") for thread in threading.enumerate())
        if waiting and isinstance(exit_.code, int):
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
            os._exit(exit_.code)
        raise
