"""Run commands on small streams, in this process or in another."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner, Result

from clasher.cli.commands import cli

TOPICS = {
    "grain": ["wheat", "corn", "harvest", "barley"],
    "metal": ["gold", "zinc", "copper", "smelter"],
    "energy": ["crude", "barrel", "pipeline", "gas"],
}
SMALL = ("--dimensions", "128", "--max-labels", "8")

# SIGINT may be ignored in the process that runs the tests, and its children would inherit that.
_CHILD = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from clasher.cli.main import main; main()"
)


def records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Make documents of one or two topics."""
    draw = random.Random(seed)
    made = []
    for number in range(count):
        topics = draw.sample(sorted(TOPICS), draw.choice([1, 1, 2]))
        words = [word for topic in topics for word in draw.sample(TOPICS[topic], 2)]
        made.append({"id": f"d{number}", "text": " ".join(words), "labels": topics})
    return made


def jsonl(rows: Sequence[dict[str, Any]]) -> bytes:
    return msgspec.json.Encoder().encode_lines(rows)


def stream(folder: Path, count: int = 40, seed: int = 0, name: str = "news.jsonl") -> str:
    """Write a file of JSON lines; return its path."""
    path = folder / name
    path.write_bytes(jsonl(records(count, seed)))
    return str(path)


def run(*args: object, stdin: Any = None, code: int = 0) -> Result:
    """Run a command in this process; check its exit code, and that it does not crash."""
    result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin, prog_name="clasher")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def start(*args: object, **streams: Any) -> subprocess.Popen[bytes]:
    """Start a command in another process; streams are pipes unless given."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    return subprocess.Popen(
        [sys.executable, "-c", _CHILD, *map(str, args)], env=environment, **(pipes | streams)
    )


def one_line(result: Result) -> str:
    """Return the only line on standard error; standard output must be empty."""
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("clasher: ")
    return result.stderr
