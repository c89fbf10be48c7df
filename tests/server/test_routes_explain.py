"""Explanations over HTTP: bounded work that blocks nobody else."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clasher.server.limits import LONGEST_EXPLAINED, MOST_ANSWERS, MOST_EXPLAINED
from tests.server.servers import PATIENCE, Served, serve

LABELS = 60


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a server with many labels."""
    with serve(tmp_path_factory.mktemp("knowing")) as served:
        documents = [{"text": f"wheat word{n}", "labels": [f"l{n}"]} for n in range(LABELS)]
        served.post("/v1/learn", {"documents": documents})
        yield served


def refused(served: Served, body: dict[str, Any]) -> dict[str, Any]:
    answer = served.client.post("/v1/explain", json=body)
    assert answer.status_code == 422
    problem: dict[str, Any] = answer.json()
    return problem


def test_a_too_long_text_is_refused(knowing: Served) -> None:
    problem = refused(knowing, {"text": "wheat " * (LONGEST_EXPLAINED // 6 + 1)})
    assert problem["type"].endswith("too-long")
    assert f"{LONGEST_EXPLAINED:,}" in problem["detail"]
    assert problem["field"] == "$.text"


@pytest.mark.parametrize("asked", [{"top": LABELS}, {"labels": [f"l{n}" for n in range(LABELS)]}])
def test_too_many_labels_of_a_long_text_are_refused(knowing: Served, asked: dict[str, Any]) -> None:
    text = "wheat " * 5000
    problem = refused(knowing, {"text": text, **asked})
    assert f"{MOST_EXPLAINED:,}" in problem["detail"]
    assert f"ask for {MOST_EXPLAINED // len(text)} labels" in problem["remedy"]
    assert problem["field"] == f"$.{next(iter(asked))}"


def test_about_shows_the_limits(knowing: Served) -> None:
    limits = knowing.get("/v1/about")["limits"]
    assert limits["longest_explained"] == LONGEST_EXPLAINED
    assert limits["most_explained"] == MOST_EXPLAINED
    assert limits["most_answers"] == MOST_ANSWERS


def test_the_answer_has_the_strongest_words_and_the_sum_of_the_rest(knowing: Served) -> None:
    text = " ".join(f"word{n}" for n in range(3000))
    (told,) = knowing.post("/v1/explain", {"text": text, "labels": ["l7"]})["explanations"]
    words = [text[word["start"] : word["stop"]] for word in told["words"]]
    assert len(words) == 1000
    assert "word7" in words
    assert words == sorted(words, key=lambda word: int(word[4:]))  # in the order of the text
    with knowing.engine._copies.reading() as state:
        whole = state.model.explain(text, "l7")
    given = sum(word["evidence"] for word in told["words"]) + sum(told["other"].values())
    assert given == pytest.approx(whole.evidence, abs=1e-3)


class Gate:
    """Blocks explanations after the first one until the test opens it."""

    def __init__(self, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.opened, self.labels = threading.Event(), threading.Event(), []
        explain_one = engine.explain_one

        def gated(text: str, label: str) -> Any:
            explained = explain_one(text, label)
            self.labels.append(label)
            self.begun.set()
            assert self.opened.wait(PATIENCE)
            return explained

        monkeypatch.setattr(engine, "explain_one", gated)


def test_learning_goes_on_between_two_labels(
    knowing: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(knowing.engine, monkeypatch)
    body = {"text": "wheat", "top": 3}
    asking = threading.Thread(target=lambda: knowing.client.post("/v1/explain", json=body))
    asking.start()
    try:
        assert gate.begun.wait(PATIENCE)
        knowing.teach(1)  # answered when it is learnt
    finally:
        gate.opened.set()
        asking.join(PATIENCE)
    assert len(gate.labels) == 3


def test_work_ends_when_the_client_disconnects(
    knowing: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(knowing.engine, monkeypatch)
    body = json.dumps({"text": "wheat", "top": LABELS}).encode()
    head = (
        f"POST /v1/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", knowing.port), PATIENCE) as connection:
        connection.sendall(head.encode() + body)
        assert gate.begun.wait(PATIENCE)
    knowing.get("/healthz")  # by now the loop has seen the disconnect
    gate.opened.set()
    counted = 'clasher_requests_total{operation="explain",status="499"} 1.0'
    polls = (knowing.client.get("/metrics").text for _ in range(1000))
    assert any(counted in text for text in polls)
    assert len(gate.labels) < LABELS
