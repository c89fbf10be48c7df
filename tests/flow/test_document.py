"""The examples of docs/streams.md are what happens."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clasher.io.registry import CONNECTORS
from tests.conftest import missing, optional
from tests.flow.feed_server import FeedServer, Reply, item, rss
from tests.kafka.brokers import MockBroker

pytestmark = pytest.mark.compiled

DOCUMENT = Path(__file__).parents[2] / "docs" / "streams.md"
FILES = ("news.jsonl", "mails.jsonl", "answers.jsonl")  # shown where they are first needed
MORE = '{"id": 6, "text": "Corn prices"}\n{"id": 7, "text": "The price of gold"}\n'


def steps() -> list[tuple[str, list[str]]]:
    """Commands and what they print, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", DOCUMENT.read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *told = part.splitlines()
            found.append((command, told))
    return found


def is_like(told: str, real: str) -> bool:
    """Whether a line is the one that is told; an ellipsis stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, told.split("…"))), real) is not None


@pytest.fixture
def shell(tmp_path, server):
    """Runs commands where the files of the examples are, with servers on loopback."""
    optional("feedparser", "feeds")
    optional("confluent_kafka", "kafka")
    if shutil.which("redis-cli") is None:
        missing("redis-cli is missing (package redis-tools)")
    binaries = tmp_path / "bin"
    binaries.mkdir()
    program = binaries / "clasher"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m clasher "$@"\n')
    program.chmod(0o755)
    for command, told in steps():
        name = command.removeprefix("cat ")
        if name in FILES and not (tmp_path / name).exists():
            (tmp_path / name).write_text("".join(f"{line}\n" for line in told))
    (tmp_path / "more.jsonl").write_text(MORE)
    broker = MockBroker(tmp_path)
    web = FeedServer()
    web.replies["/feed.xml"] = Reply(body=rss(item(1, "Wheat", "grain")))

    def run(command: str) -> list[str]:
        for told, real in (
            ("redis://localhost:6379", f"redis://127.0.0.1:{server.port}"),
            ("http://localhost:8080", web.url("")),
            ("localhost:9092", broker.servers),
        ):
            command = command.replace(told, real)
        path = f"{binaries}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=os.environ | {"PATH": path, "TERM": "dumb"},
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        said = [line for line in done.stderr.splitlines() if "compiling" not in line]
        return [*done.stdout.splitlines(), *said]

    yield run
    web.close()
    broker.stop()


def test_the_examples_are_what_happens(shell):
    for command, told in steps():
        real = shell(command)
        assert len(told) == len(real), f"{command}\n{real}"
        for line, one in zip(told, real, strict=True):
            assert is_like(line, one), f"{command}\n{line}\n{one}"


def test_every_connector_is_documented():
    text = DOCUMENT.read_text()
    for scheme in CONNECTORS:
        assert f"`{scheme}" in text or f"{scheme}:" in text, scheme
