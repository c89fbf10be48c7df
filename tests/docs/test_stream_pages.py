"""The console examples of the pages on streams print what the pages show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from clasher.io.registry import CONNECTORS
from support.environment import missing, optional
from support.servers.feeds import FeedServer, Reply, item, rss
from support.servers.kafka import MockBroker
from tests import console

pytestmark = pytest.mark.compiled

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [  # in this order: later examples use the files of earlier ones
    DOCS / "tutorial" / "stream.md",
    *(DOCS / "how-to" / f"{name}.md" for name in ("streams", "kafka", "redis", "feeds")),
]
FILES = ("news.jsonl", "mails.jsonl", "answers.jsonl")  # shown where they are first needed
MORE = '{"id": 6, "text": "Corn prices"}\n{"id": 7, "text": "The price of gold"}\n'


@pytest.fixture
def shell(tmp_path, server):
    """Runs commands where the files of the examples are, with servers on loopback."""
    optional("feedparser", "feeds")
    optional("confluent_kafka", "kafka")
    if shutil.which("redis-cli") is None:
        missing("redis-cli is missing (package redis-tools)")
    for page in PAGES:
        console.write_shown(page, FILES, tmp_path)
    (tmp_path / "more.jsonl").write_text(MORE)
    here = console.shell(tmp_path)
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
        return here(command)

    yield run
    web.close()
    broker.stop()


def test_the_examples_are_what_happens(shell):
    for page in PAGES:
        console.check(page, shell)


def test_every_connector_is_documented():
    text = (DOCS / "reference" / "addresses.md").read_text()
    for scheme in CONNECTORS:
        assert f"`{scheme}" in text or f"{scheme}:" in text, scheme
