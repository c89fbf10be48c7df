"""Feedback on what was predicted, and taking things back."""

from __future__ import annotations

import pytest

from clasher.errors import ConflictError, LabelError, UnknownDocumentError
from clasher.settings import Settings
from tests.service.conftest import SMALL
from tests.service.lines import GRAIN, STREAM, document
from tests.service.plain import Plain, file_bytes, model_of
from tests.service.test_engine import model_bytes, taught

# ── feedback ─────────────────────────────────────────────────────────────────────────────────────


def predicted(engine, text="corn and gold", **given):
    return engine.predict([document(text, **given)])[0].id


def test_feedback_teaches_a_predicted_document(engine):
    taught(engine)
    name = predicted(engine)
    receipt = engine.feedback(name, ["metal"], who="bob").result()
    expected = Plain(SMALL).teach(engine.log()).model
    assert model_bytes(engine) == file_bytes(expected)
    assert (receipt.id, receipt.before, receipt.after) == (name, None, ["metal"])
    lesson = list(engine.log())[-1]
    assert (lesson.who, lesson.kind, lesson.after, lesson.model_version) == (
        "bob", "feedback", ["metal"], 1,
    )  # fmt: skip
    assert lesson.before is None
    assert set(lesson.predicted) == set(engine.recent()[0].predicted)


def test_a_second_answer_corrects_the_first_and_partial_ones_add_up(engine):
    taught(engine)
    name = predicted(engine)
    engine.feedback(name, {"grain": True}).result()
    assert engine.feedback(name, {"metal": False}).result().after == {"grain": True, "metal": False}
    receipt = engine.feedback(name, ["metal"]).result()
    assert receipt.before == {"grain": True, "metal": False}
    expected = model_of(SMALL)
    expected.learn_many([d.text for d in STREAM], [d.labels for d in STREAM])
    text = "corn and gold"
    expected.learn(text, {"grain": True})
    expected.correct(text, {"grain": True}, {"grain": True, "metal": False})
    expected.correct(text, {"grain": True, "metal": False}, {"metal"})
    assert model_bytes(engine) == file_bytes(expected)


def test_a_receipt_shows_the_changes(engine):
    taught(engine)
    engine.predict([document("zinc", id="other")])
    name = predicted(engine, "quite new words")
    changes = None
    for _ in range(3):  # until other documents of the same words are labelled otherwise
        twin = predicted(engine, "quite new words")
        changes = engine.feedback(name, ["news"]).result().changes
        name = twin
    before, after = {name: moved for name, *moved in changes.probabilities}["news"]
    assert after > before
    assert changes.threshold[0] > 0
    assert {other.id for other in changes.documents} <= {d.id for d in engine.recent()}


def test_feedback_needs_a_document_and_labels(engine):
    with pytest.raises(UnknownDocumentError, match="no document 'x' is kept"):
        engine.feedback("x", ["grain"])
    with pytest.raises(LabelError, match="an answer needs labels"):
        engine.feedback(predicted(engine), None)


def test_waiting_documents_are_bounded_by_number_and_age(opened, clock):
    from clasher.service.structs import QueueBounds

    engine = opened(SMALL, awaiting=QueueBounds(documents=3, seconds=100.0))
    for name in "abcde":
        predicted(engine, id=name)
    assert [document.id for document in engine.recent()] == ["e", "d", "c"]
    assert engine.metrics().awaiting_dropped == 2
    with pytest.raises(UnknownDocumentError, match="send its text with its labels to learn"):
        engine.feedback("a", ["grain"])
    clock.wait(101.0)
    engine.learn([GRAIN]).result()
    assert engine.recent() == []


def test_documents_wait_through_a_restart(opened):
    engine = opened(SMALL)
    name = predicted(engine)
    engine.close()
    engine = opened()
    assert engine.feedback(name, ["grain"]).result().after == ["grain"]
    engine.close()
    engine = opened()
    assert engine.recent()[0].taught == ["grain"]


def test_an_answer_stays_when_the_document_is_predicted_again(engine):
    predicted(engine, id="a")
    engine.feedback("a", ["grain"]).result()
    predicted(engine, id="a")
    assert engine.feedback("a", ["metal"]).result().before == ["grain"]
    predicted(engine, "another text", id="a")
    assert engine.feedback("a", ["metal"]).result().before is None


# ── undo ─────────────────────────────────────────────────────────────────────────────────────────


def test_undo_unlearns_exactly_where_the_model_can(opened):
    engine = taught(opened(Settings(dimensions=256, rule="centroid", weighting="tf")))
    before = dict(engine.predict([document("wheat and zinc", id="x")], top=5)[0].probabilities)
    support = {label.name: label.support for label in engine.labels().labels}
    receipt = engine.feedback(predicted(engine), ["grain", "metal"]).result()
    assert {label.name: label.support for label in engine.labels().labels} != support
    engine.undo(receipt.version, who="ann").result()
    assert {label.name: label.support for label in engine.labels().labels} == support
    again = dict(engine.predict([document("wheat and zinc")])[0].probabilities)
    assert again == pytest.approx(before)
    assert engine.metrics().documents_learned == len(STREAM)
    assert [lesson.kind for lesson in engine.log()][-2:] == ["feedback", "undo"]


def test_only_the_last_answer_can_be_undone_and_an_undo_too(engine):
    taught(engine)
    name = predicted(engine)
    first = engine.feedback(name, ["grain"]).result()
    second = engine.feedback(name, ["metal"]).result()
    with pytest.raises(ConflictError, match="answered again since version 2; undo version 3"):
        engine.undo(first.version).result()
    undone = engine.undo(second.version).result()
    assert engine.recent()[0].taught == ["grain"]
    assert engine.undo(undone.version).result().after == ["metal"]
    with pytest.raises(UnknownDocumentError, match="version 1 is no answer"):
        engine.undo(1).result()


def test_an_undo_takes_back_the_judgement(engine):
    taught(engine)
    judged = engine.metrics().cumulative
    receipt = engine.feedback(predicted(engine), ["grain"]).result()
    assert engine.metrics().cumulative.documents == judged.documents + 1
    engine.undo(receipt.version).result()
    assert engine.metrics().cumulative == judged
