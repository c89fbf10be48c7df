"""A command whose extra is not installed says in one line which one and how to get it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from clasher import Clasher
from clasher.io.registry import CONNECTORS
from tests.cli.command import stream

PACKAGES = {
    "annif": ["annif"],
    "cli": ["click", "rich"],
    "drift": ["river"],
    "feeds": ["feedparser"],
    "kafka": ["confluent_kafka"],
    "metrics": ["prometheus_client"],
    "nats": ["nats"],
    "redis": ["redis"],
    "report": ["jinja2"],
    "server": ["apsw", "httptools", "starlette", "uvicorn"],
    "spark": ["pyspark", "pandas"],
    "text": ["Stemmer", "stop_words"],
}
ADDRESSES = {
    "feeds": "feeds:feeds.txt",
    "http": "http://127.0.0.1:1/feed",
    "https": "https://127.0.0.1:1/feed",
    "kafka": "kafka://127.0.0.1:1/news",
    "nats": "nats://127.0.0.1:1/news",
    "redis": "redis://127.0.0.1:1/news",
    "rediss": "rediss://127.0.0.1:1/news",
}
LEARNING = [
    "evaluate news.jsonl",
    "learn news.jsonl -m new.clasher",
    "run --from news.jsonl -m folder",
]
UNSUPERVISED = [
    "clusters news.jsonl", "similar news.jsonl", "plan news.jsonl --labels 3 --memory 1MB"
]  # fmt: skip
SPARK = [
    "spark fit news.jsonl -m new.clasher",
    "spark predict news.jsonl -m model.clasher -o out",
    "spark stream inbox -m folder --once",
]


def cases() -> Any:
    """Yield a package to hide, a command, and the extra that it must name."""
    for package in PACKAGES["cli"]:
        yield package, "evaluate news.jsonl", "cli"
    yield "jinja2", "evaluate news.jsonl --report report.html", "report"
    yield "jinja2", "demo --limit 10", "report"
    for command in LEARNING:
        yield "river", f"{command} --detector adwin", "drift"
        yield "Stemmer", f"{command} --stem english", "text"
        yield "stop_words", f"{command} --stop-words english", "text"
    for command in UNSUPERVISED:
        yield "Stemmer", f"{command} --stem english", "text"
        yield "stop_words", f"{command} --stop-words english", "text"
    for scheme, connector in CONNECTORS.items():
        if connector.extra is None:
            continue
        (package,), address = PACKAGES[connector.extra], ADDRESSES[scheme]
        yield package, f"run --from {address} -m folder", connector.extra
        yield package, f"run --from news.jsonl -m folder --late-labels {address}", connector.extra
        if connector.sink is not None:
            yield package, f"run --from news.jsonl -m folder --to {address}", connector.extra
            yield (
                package,
                f"run --from news.jsonl -m folder --route grain={address}",
                connector.extra,
            )
    yield "prometheus_client", "run --from news.jsonl -m folder --metrics 0", "metrics"
    yield "confluent_kafka", "run --from news.jsonl -m folder --transactional", "kafka"
    for package in PACKAGES["server"]:
        yield package, "serve --data data --port 0", "server"
    yield "apsw", "log data", "server"
    yield "apsw", "replay lessons.jsonl -m new.clasher", "server"
    for command in SPARK:
        for package in PACKAGES["spark"]:
            yield package, command, "spark"
    yield "annif", "annif list-projects", "annif"


CASES = list(cases())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Run all commands; return their output."""
    folder = tmp_path_factory.mktemp("extras")
    stream(folder)
    (folder / "inbox").mkdir()
    (folder / "feeds.txt").write_text("http://127.0.0.1:1/feed\n")
    (folder / "lessons.jsonl").write_text("")
    Clasher(16, max_labels=4).save(folder / "model.clasher")
    cases = json.dumps([[[package], command.split()] for package, command, _ in CASES])
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.hidden_packages"], input=cases, capture_output=True,
        text=True, check=True, cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("place", range(len(CASES)), ids=[f"{p}: {c}" for p, c, _ in CASES])
def test_a_missing_extra_is_named_in_one_line(results: list[dict[str, Any]], place: int) -> None:
    *_, extra = CASES[place]
    found = results[place]
    assert found["code"] == 2, found
    assert found["stderr"].startswith("clasher: "), found["stderr"]
    assert found["stderr"].count("\n") == 1, found["stderr"]
    assert found["stderr"].endswith(f"pip install 'clasher[{extra}]'\n")
