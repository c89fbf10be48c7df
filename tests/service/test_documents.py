"""Documents to teach: predicted again, leased, and answered as shown."""

from __future__ import annotations

import pytest

from clasher.errors import ConflictError
from clasher.service import documents
from tests.service.conftest import SMALL
from tests.service.lines import STREAM, document
from tests.service.test_engine import taught

TEXTS = {"grain": "wheat and corn harvest", "metal": "gold and zinc from the smelter"}


def predicted_before_anything_was_learnt(engine, number=12):
    """Documents of two subjects wait to be taught; then the model learns both."""
    subjects = list(TEXTS) * (number // 2)
    engine.predict(
        [document(TEXTS[name], id=f"{name}-{place}") for place, name in enumerate(subjects)]
    )
    return taught(engine)


def subject(item):
    return item.id.partition("-")[0]


# ── the queue is predicted again ─────────────────────────────────────────────────────────────────


def test_items_are_predicted_by_the_current_model(engine):
    predicted_before_anything_was_learnt(engine)
    for item in engine.teach("ann", 12):
        assert item.labels == [subject(item)]
        assert dict(item.probabilities) == dict(
            engine.predict([document(item.text)], keep=False)[0].probabilities
        )
    assert engine.teach("bob") == []


def test_the_currently_most_uncertain_comes_first(engine):
    engine.predict([document(TEXTS["grain"], id=f"more-{place}") for place in range(50)])
    engine.predict([document("gold wheat", id="between")])
    predicted_before_anything_was_learnt(engine)
    margins = {}
    for one in engine.recent(100):
        with engine._copies.reading() as state:
            scores = state.model.probabilities(one.text)
            margins[one.id] = min(abs(score - state.model.threshold) for score in scores.values())
    assert margins[engine.teach("ann")[0].id] == min(margins.values())


def test_random_items_judge_the_prediction_that_was_shown(opened):
    engine = predicted_before_anything_was_learnt(opened(SMALL), 40)
    before = engine.metrics().cumulative.documents
    items = engine.teach("ann", 40)
    engine.close()
    engine = opened()  # what was predicted for the lease is kept through a restart
    for item in items:
        engine.feedback(item.id, [subject(item)], who="ann", digest=item.digest).result()
    lessons = [lesson for lesson in engine.log() if lesson.kind == "feedback"]
    assert all(lesson.predicted == lesson.after for lesson in lessons)
    assert {lesson.model_version for lesson in lessons} == {1}
    quality = engine.metrics().cumulative
    assert quality.documents - before == 10  # the random ones
    with engine._copies.reading() as state:
        hits, false_alarms, misses = zip(*state.quality.all.counts.values(), strict=True)
    wrong = sum(false_alarms) + sum(misses)
    assert sum(hits) >= 10
    engine.close()
    engine = opened()
    with engine._copies.reading() as state:
        counts = state.quality.all.counts.values()
        assert sum(one[1] + one[2] for one in counts) == wrong


def test_unasked_answers_judge_the_first_prediction(engine):
    predicted_before_anything_was_learnt(engine)
    engine.teach("ann")
    free = next(one.id for one in engine.recent(20) if one.version == 0)
    engine.feedback(free, ["grain"]).result()
    assert list(engine.log())[-1].model_version == 0


def test_the_work_for_a_lease_is_bounded(opened, monkeypatch):
    engine, asked = opened(SMALL), []
    engine.predict([document("wheat", id=str(place)) for place in range(documents.SAMPLE + 50)])
    again = engine._leases._predict
    monkeypatch.setattr(
        engine._leases, "_predict", lambda texts: asked.append(list(texts)) or again(texts)
    )
    engine.teach("ann", 1)
    monkeypatch.setattr(documents, "SAMPLE_TEXT", 12)
    assert len(engine.teach("ann", 5)) == 2  # texts of five characters
    assert [len(texts) for texts in asked] == [documents.SAMPLE, 2]


def test_a_random_item_may_be_any_of_the_queue(engine):
    engine.predict([document("wheat", id=str(place)) for place in range(600)])
    places = []
    while items := engine.teach("ann", 100):
        places += [int(item.id) for item in items if item.reason == "random"]
    assert len(places) == 150
    early = sum(place < 300 for place in places[:50])
    assert 5 < early < 45


# ── answers are tied to the text that was shown ──────────────────────────────────────────────────


def leased(engine, who="ann"):
    engine.predict([document("wheat and corn", id="a")])
    (item,) = engine.teach(who)
    return item


def test_an_answer_is_learnt_on_the_text_that_was_shown(opened):
    engine = taught(opened(SMALL))
    item = leased(engine)
    engine.predict([document("spam spam spam", id="a")])
    engine.close()
    engine = opened()
    receipt = engine.feedback("a", ["grain"], who="ann", digest=item.digest).result()
    assert list(engine.log())[-1].text == "wheat and corn"
    assert engine.document("a").text == "spam spam spam"
    assert engine.document("a").taught is None
    engine.undo(receipt.version).result()
    assert list(engine.log())[-1].text == "wheat and corn"
    again = engine.feedback("a", ["grain"], who="ann", digest=item.digest).result()
    assert again.before is None


def test_an_answer_without_a_digest_is_never_learnt_on_a_text_that_was_not_shown(engine, clock):
    item = leased(engine)
    engine.predict([document("spam spam spam", id="a")])
    with pytest.raises(ConflictError, match="predicted again with another text"):
        engine.feedback("a", ["grain"], who="ann")
    engine.feedback("a", ["spam"], who="bob").result()  # who holds nothing means the last text
    assert list(engine.log())[-1].text == "spam spam spam"
    engine.feedback("a", ["grain"], who="ann", digest=item.digest).result()
    assert list(engine.log())[-1].text == "wheat and corn"


def test_an_answer_to_a_text_that_is_gone_is_refused(engine):
    engine.predict([document("wheat and corn", id="a")])
    digest = engine.document("a").digest
    engine.predict([document("spam spam spam", id="a")])
    before = engine.version
    with pytest.raises(ConflictError, match="'a' has another text now"):
        engine.feedback("a", ["grain"], who="ann", digest=digest)
    assert engine.version == before


def test_the_same_text_predicted_again_leaves_a_lease_as_it_was(engine):
    item = leased(taught(engine))
    engine.learn(STREAM).result()
    engine.predict([document(item.text, id="a")])
    engine.feedback("a", ["grain"], who="ann", digest=item.digest).result()
    assert list(engine.log())[-1].model_version == 1


def test_texts_that_were_shown_make_room_as_others_do(opened):
    from clasher.service.structs import QueueBounds

    engine = opened(SMALL, awaiting=QueueBounds(documents=3))
    item = leased(engine)
    engine.predict([document("spam", id="a")])
    assert engine.metrics().awaiting == 2
    engine.predict([document("b", id="b"), document("c", id="c")])
    engine.predict([document("d", id="d")])
    assert engine.metrics().awaiting == 3
    engine.predict([document("spam", id="a")])
    with pytest.raises(ConflictError, match="another text"):
        engine.feedback("a", ["grain"], who="ann", digest=item.digest)
    engine.close()
    engine = opened(awaiting=QueueBounds(documents=3))
    assert [one.id for one in engine.recent()] == ["a", "d", "c"]


# ── leases ───────────────────────────────────────────────────────────────────────────────────────


def test_a_lease_can_be_renewed(engine, clock):
    item = leased(engine)
    clock.wait(500.0)
    (lease,) = engine.renew(["a", "unknown"], "ann")
    assert (lease.id, lease.digest, lease.leased_until) == ("a", item.digest, clock.now + 600.0)
    clock.wait(500.0)
    assert engine.teach("bob") == []


def test_a_lease_that_ran_out_can_be_renewed_until_another_has_it(engine, clock):
    leased(engine)
    clock.wait(700.0)
    assert len(engine.renew(["a"], "ann")) == 1
    clock.wait(700.0)
    assert len(engine.teach("bob")) == 1
    assert engine.renew(["a"], "ann") == []


def test_an_answered_document_is_not_renewed(engine):
    leased(engine)
    engine.feedback("a", ["grain"], who="bob").result()
    assert engine.renew(["a"], "ann") == []


def test_a_text_that_was_replaced_can_be_renewed_and_released(engine, clock):
    item = leased(engine)
    engine.predict([document("spam spam spam", id="a")])
    (lease,) = engine.renew(["a"], "ann")
    assert lease.digest == item.digest
    engine.release("a", "ann")
    assert engine.metrics().leased == 0
    assert engine.teach("bob")[0].text == "spam spam spam"
