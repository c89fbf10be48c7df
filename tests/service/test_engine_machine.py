"""A service against a plain model: learn, feedback, undo, restart and crash, in any order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from clasher.errors import LabelError, UnknownDocumentError
from clasher.service import recovery
from clasher.service.documents import Answer, DocumentQueue
from clasher.service.engine import Engine
from clasher.service.structs import Document, EngineOptions
from clasher.settings import Settings
from tests.service.plain import file_bytes, model_of

pytestmark = pytest.mark.compiled

SETTINGS = [
    Settings(dimensions=64, max_labels=8),
    Settings(dimensions=64, max_labels=8, rule="centroid", words=True, detector="window"),
]
MEMORY = Path("/dev/shm")  # whether it is flushed is not the question here
LABELS = ["grain", "metal", "oil"]
texts = st.lists(st.sampled_from(["wheat", "gold", "crude", "news"]), min_size=1, max_size=4).map(
    " ".join
)
label_sets = st.lists(st.sampled_from(LABELS), max_size=2, unique=True)
partial = st.dictionaries(st.sampled_from(LABELS), st.booleans(), min_size=1, max_size=2)


class Service(RuleBasedStateMachine):
    """Make the same requests to the service and to a plain model."""

    predicted = Bundle("predicted")
    answered = Bundle("answered")

    @initialize(chosen=st.sampled_from(SETTINGS))
    def begin(self, chosen):
        self.base = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.number = 0
        self.settings = chosen
        self.plain = model_of(chosen)
        self.learned = 0
        self.taught = {}
        self.keys = {}
        self.engine = self.open()

    def open(self):
        options = EngineOptions(snapshot_documents=5, log_bytes=1)
        return Engine(self.base / str(self.number), self.settings, options=options)

    @rule(pairs=st.lists(st.tuples(texts, st.none() | label_sets | partial), max_size=3))
    def learn(self, pairs):
        documents = [Document(text=text, labels=labels) for text, labels in pairs]
        self.engine.learn(documents).result()
        for text, labels in pairs:
            self.plain.learn(text, labels)
        self.learned += len(pairs)

    @rule(key=st.sampled_from("abc"), text=texts, labels=label_sets)
    def learn_once(self, key, text, labels):
        is_new = key not in self.keys
        text, labels = self.keys.setdefault(key, (text, labels))
        receipt = self.engine.learn([Document(text=text, labels=labels)], key=key).result()
        assert receipt.is_duplicate != is_new
        if is_new:
            self.plain.learn(text, labels)
            self.learned += 1

    @rule(target=predicted, text=texts)
    def predict(self, text):
        prediction = self.engine.predict([Document(text=text)])[0]
        assert set(prediction.labels) == self.plain.predict(text)
        self.engine.learn([]).result()  # with the next commit it is on disk
        return prediction.id, text

    @rule(target=answered, document=predicted, labels=label_sets | partial)
    def feedback(self, document, labels):
        name, text = document
        before = self.taught.get(name)
        after = labels
        if isinstance(labels, dict) and before is not None:
            after = _combined(before, labels)
        receipt = self.engine.feedback(name, labels).result()
        self.change(text, before, after)
        self.taught[name] = after
        return receipt.version, name, text, before, after

    @rule(text=texts, first=label_sets | partial, second=label_sets | partial)
    def answer_twice(self, text, first, second):
        document = self.predict(text)
        for labels in (first, second):
            self.feedback(document, labels)

    @rule(answer=consumes(answered))
    def undo(self, answer):
        version, name, text, before, after = answer
        if self.engine._queue.get(name).taught_by != version:
            return
        try:
            self.engine.undo(version).result()
        except UnknownDocumentError:
            assert version <= self.engine.metrics().log_dropped
            return
        self.change(text, after, before)
        self.taught[name] = before

    def change(self, text, before, after):
        if before is None:
            self.plain.learn(text, after)
        elif after is None:
            self.plain.unlearn(text, before)
        else:
            self.plain.correct(text, before, after)
        self.learned += (after is not None) - (before is not None)

    @rule(label=st.sampled_from(LABELS))
    def rename_and_back(self, label):
        """There and back, so that earlier labels keep their meaning."""
        try:
            self.engine.relabel("rename", label, "new").result()
            self.engine.relabel("rename", "new", label).result()
        except LabelError:
            assert label not in self.plain.labels

    @precondition(lambda self: hasattr(self, "engine"))
    @rule()
    def restart(self):
        self.engine.close()
        self.engine = self.open()

    @precondition(lambda self: hasattr(self, "engine"))
    @rule()
    def crash(self):
        """Copy the files as they are now: all that the next process gets."""
        self.engine._pipeline.call(lambda log: self.copy()).result()
        self.engine, old = self.open(), self.engine
        old.close()

    def copy(self):
        source = self.base / str(self.number)
        self.number += 1
        shutil.copytree(source, self.base / str(self.number))

    @invariant()
    def everything_acknowledged_is_there(self):
        if getattr(self, "engine", None) is None:
            return
        with self.engine._copies.reading() as state:
            assert state.learned == self.learned
            is_same = file_bytes(state.model) == file_bytes(self.plain)
            assert is_same  # without a comparison of megabytes line by line

    def teardown(self):
        if getattr(self, "engine", None) is not None:
            self.engine.close()
            shutil.rmtree(self.base)


def _combined(before, now):
    if isinstance(before, dict):
        return {**before, **now}
    kept = [name for name in before if now.get(name, True)]
    return kept + [name for name, yes in now.items() if yes and name not in before]


def run(examples, **given):
    chosen = settings(max_examples=examples, stateful_step_count=25, deadline=None, **given)
    run_state_machine_as_test(Service, settings=chosen)


def test_a_service_is_its_plain_model():
    run(10)


def forgets_answers(monkeypatch):
    """A second answer is learnt beside the first, not in its place."""
    give = Answer.give

    def forgetful(self, find, *given):
        find().taught = None
        return give(self, find, *given)

    monkeypatch.setattr(Answer, "give", forgetful)


def loses_documents(monkeypatch):
    """Documents that were predicted do not survive."""
    monkeypatch.setattr(DocumentQueue, "load", lambda self, bodies, now: None)


def replays_nothing(monkeypatch):
    """A start is content with the snapshot."""
    replay = recovery._replay

    def lazy(log, state, *more):
        seq = state.seq
        fresh = state.copy()
        replay(log, state, *more)
        state.model = fresh.model
        return state.seq - seq

    monkeypatch.setattr(recovery, "_replay", lazy)


@pytest.mark.trial
@pytest.mark.parametrize("bug", [forgets_answers, loses_documents, replays_nothing])
def test_bugs_are_caught(bug, monkeypatch):
    bug(monkeypatch)
    with pytest.raises(Exception):  # noqa: B017, PT011  # whatever notices first
        run(50, phases=[Phase.generate], report_multiple_bugs=False)
