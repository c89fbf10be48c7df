"""Run commands, read as JSON, with some packages hidden.

All run in forks of one process, which has imported what every command needs and no optional
library: that takes seconds, a process for each would take minutes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

PATIENCE = 60  # seconds


class Hidden:
    """Finds modules on the path, except for some packages, as if they were not installed."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = set(packages)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self.packages:
            return None
        return PathFinder.find_spec(name, path, target)

    def invalidate_caches(self) -> None:
        PathFinder.invalidate_caches()


def hide(packages: list[str]) -> None:
    """Hide packages from this process, which must not have imported them."""
    found = set(packages) & sys.modules.keys()
    assert not found, found
    sys.meta_path[:] = [
        Hidden(packages) if finder is PathFinder else finder for finder in sys.meta_path
    ]


def run(packages: list[str], args: list[str]) -> dict[str, Any]:
    """Run a command in a fork; return its exit status and output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            signal.alarm(PATIENCE)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            hide(packages)
            sys.argv = ["clasher", *args]
            sys.exit(_main())
        _, status = os.waitpid(child, 0)
        output = []
        for file in (out, err):
            file.seek(0)
            output.append(file.read().decode())
    return {"code": os.waitstatus_to_exitcode(status), "stdout": output[0], "stderr": output[1]}


def _main() -> Any:
    from clasher.cli.main import main

    return main()


if __name__ == "__main__":
    import numpy  # noqa: F401
    import pyarrow  # noqa: F401

    import clasher.model  # noqa: F401

    try:
        print(json.dumps([run(*case) for case in json.load(sys.stdin)]))
    except SystemExit as exit_:  # of a fork
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(exit_.code if isinstance(exit_.code, int) else 0)
    except BaseException:  # of a fork, too: print it as Python would
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
