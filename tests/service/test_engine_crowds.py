"""Many at once, and what fails."""

from __future__ import annotations

import threading

import pytest

from clasher.errors import BusyError, FolderError, SettingError, StoppedError
from clasher.model import Clasher
from clasher.service.engine import Engine
from clasher.service.log import DatabaseError, Log
from clasher.service.state import ServiceState
from clasher.service.structs import EngineOptions
from tests.service.conftest import SMALL
from tests.service.lines import GRAIN, METAL, document
from tests.service.plain import file_bytes
from tests.service.test_engine import taught

# ── concurrency ──────────────────────────────────────────────────────────────────────────────────


class Gate:
    """Holds up a method until it is opened."""

    def __init__(self, monkeypatch, owner, name):
        self.opened = threading.Event()
        self.reached = threading.Event()
        method = getattr(owner, name)

        def held(*args, **kwargs):
            self.reached.set()
            assert self.opened.wait(60)
            return method(*args, **kwargs)

        monkeypatch.setattr(owner, name, held)


def test_requests_beyond_the_bound_are_refused(opened, monkeypatch):
    engine = opened(SMALL, waiting_requests=3)
    gate = Gate(monkeypatch, Log, "append")
    accepted = [engine.learn([GRAIN]) for _ in range(3)]
    with pytest.raises(BusyError, match="try again in 1 seconds") as busy:
        engine.learn([GRAIN])
    assert busy.value.retry_after == 1.0
    gate.opened.set()
    assert [future.result().documents for future in accepted] == [1, 1, 1]
    engine.learn([GRAIN]).result()
    assert engine.metrics().documents_learned == 4


def test_waiting_requests_are_bounded_by_bytes_too(opened, monkeypatch):
    engine = opened(SMALL, waiting_bytes=1000)
    gate = Gate(monkeypatch, Log, "append")
    large = engine.learn([document("x" * 2000)])  # alone it always finds room
    with pytest.raises(BusyError):
        engine.learn([GRAIN])
    gate.opened.set()
    large.result()


def test_predictions_do_not_wait_for_learning(engine, monkeypatch):
    taught(engine)
    gate = Gate(monkeypatch, ServiceState, "apply")
    learning = engine.learn([GRAIN])
    assert gate.reached.wait(60)
    assert engine.predict([GRAIN])[0].version == 1
    assert not learning.done()
    gate.opened.set()
    learning.result()
    assert engine.predict([GRAIN])[0].version == 2


def test_learning_waits_for_readers_of_the_old_copy(engine):
    taught(engine)
    with engine._copies.reading() as state:
        before = file_bytes(state.model)
        engine.learn([METAL]).result()  # acknowledged, and not yet learnt by the copy in use
        waiting = engine.learn([METAL])
        assert file_bytes(state.model) == before
        assert not waiting.done()
    waiting.result()


def test_learning_and_predicting_go_on_during_a_snapshot(opened, monkeypatch):
    engine = opened(SMALL)
    taught(engine)
    before = file_bytes(engine._copies.front.model)
    gate = Gate(monkeypatch, Clasher, "save")
    download = engine.model_file()
    assert gate.reached.wait(60)
    for version in (2, 3, 4):
        assert engine.learn([METAL]).result(60).version == version
        assert engine.predict([METAL])[0].version == version
    assert not download.done()
    gate.opened.set()
    with download.result(60) as file:
        assert file.read() == before
    engine.learn([GRAIN]).result(60)
    engine.close()
    front, back = engine._copies.front, engine._copies.back
    assert front.seq == back.seq == 5
    assert file_bytes(front.model) == file_bytes(back.model) != before
    assert opened().metrics().version == 5


def test_learning_waits_for_a_snapshot_when_the_next_is_due(opened, monkeypatch):
    engine = opened(SMALL, snapshot_documents=2)
    gate = Gate(monkeypatch, Clasher, "save")
    engine.learn([GRAIN, METAL]).result(60)
    assert gate.reached.wait(60)
    engine.learn([GRAIN, METAL]).result(60)
    waiting = engine.learn([GRAIN])
    assert not waiting.done()
    gate.opened.set()
    assert waiting.result(60).version == 3


def test_closing_finishes_accepted_requests(opened):
    engine = opened(SMALL)
    futures = [engine.learn([GRAIN]) for _ in range(100)]
    engine.close()
    assert {future.result().documents for future in futures} == {1}
    with pytest.raises(StoppedError, match="closed"):
        engine.learn([GRAIN])
    engine.close()
    assert opened().metrics().documents_learned == 100


def test_requests_cannot_be_cancelled_once_accepted(engine):
    future = engine.learn([GRAIN])
    assert not future.cancel()
    assert future.result().documents == 1


def test_a_second_engine_is_refused(opened):
    opened(SMALL)
    with pytest.raises(FolderError, match="in use by process"):
        opened()


# ── failure ──────────────────────────────────────────────────────────────────────────────────────


def test_after_an_error_of_the_log_nothing_is_acknowledged(opened, monkeypatch):
    failures = []
    engine = opened(SMALL, on_failure=failures.append)
    engine.learn([GRAIN]).result()
    subscription = engine.subscribe()

    def failing(self, *given):
        raise DatabaseError("disk I/O error")

    monkeypatch.setattr(Log, "append", failing)
    with pytest.raises(StoppedError, match="disk I/O error"):
        engine.learn([GRAIN]).result()
    monkeypatch.undo()
    with pytest.raises(StoppedError, match="cannot go on"):
        engine.learn([GRAIN])
    with pytest.raises(StoppedError):
        engine.model_file()
    assert subscription.get(timeout=60) is None or subscription.is_over
    engine.close()
    assert failures == [engine.failure]
    engine = opened()
    assert engine.metrics().documents_learned == 1


def test_options_are_checked():
    with pytest.raises(SettingError, match="'waiting_requests' parameter of EngineOptions"):
        EngineOptions(waiting_requests=0)


def test_an_engine_is_a_context(folder):
    with Engine(folder, SMALL) as engine:
        taught(engine)
    with Engine(folder) as engine:
        assert (engine.version, engine.replayed) == (1, 0)
