from __future__ import annotations

import io
import threading

import pytest

from clasher import Clasher
from clasher.errors import (
    BusyError,
    ConflictError,
    FolderError,
    LabelError,
    ModelFileError,
    RefusedError,
    SettingError,
    StoppedError,
    TextError,
    UnknownDocumentError,
)
from clasher.service.engine import Engine
from clasher.service.log import LibraryError, Log
from clasher.service.options import Options, default_settings
from clasher.service.state import State
from clasher.service.structs import Document, LabelList
from clasher.settings import Settings
from tests.service.conftest import SMALL
from tests.service.plain import Plain, file_bytes, model_of
from tests.service.saying import BOTH, GRAIN, METAL, STREAM, document


def taught(engine):
    engine.learn(STREAM).result()
    return engine


def model_bytes(engine):
    with engine.model_file().result() as file:
        return file.read()


# ── learning ─────────────────────────────────────────────────────────────────────────────────────


def test_what_is_acknowledged_is_learnt(engine):
    labels = [["grain"], {"metal": True, "grain": False}, None]
    said = [document(text, labels=some) for text, some in zip("abc", labels, strict=True)]
    receipt = engine.learn(said, who="ann").result()
    assert (receipt.version, receipt.documents, receipt.is_duplicate) == (1, 3, False)
    expected = model_of(SMALL)
    expected.learn_many(["a", "b", "c"], labels)
    assert model_bytes(engine) == file_bytes(expected)
    assert engine.metrics().documents_learned == 3


def test_the_same_key_counts_once_also_after_a_restart(opened):
    engine = opened(SMALL)
    assert not engine.learn([GRAIN], key="k1").result().is_duplicate
    assert engine.learn([GRAIN], key="k1").result().is_duplicate
    engine.close()
    engine = opened()
    again = engine.learn([GRAIN], key="k1").result()
    assert (again.is_duplicate, again.version) == (True, 1)
    assert engine.metrics().documents_learned == 1
    with pytest.raises(ConflictError, match="'k1' was used for something else"):
        engine.learn([METAL], key="k1").result()


def test_the_same_key_counts_once_when_all_come_at_once(engine):
    futures = [engine.learn([GRAIN], key="k") for _ in range(50)]
    receipts = [future.result() for future in futures]
    assert [receipt.is_duplicate for receipt in receipts].count(False) == 1
    assert engine.metrics().documents_learned == 1


def test_keys_are_bounded_by_number_and_age(opened, clock):
    engine = opened(SMALL, keys=5, key_seconds=1000.0)
    for number in range(10):
        clock.now += 61.0
        engine.learn([GRAIN], key=f"k{number}").result()
    clock.now += 61.0
    engine.learn([GRAIN]).result()
    assert not engine.learn([GRAIN], key="k0").result().is_duplicate
    assert engine.learn([GRAIN], key="k9").result().is_duplicate
    clock.now += 2000.0
    engine.learn([GRAIN]).result()
    assert not engine.learn([GRAIN], key="k9").result().is_duplicate


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ([Document(text=7)], TextError, "document 0: must be text"),
        ([GRAIN, Document(text="\ud800")], TextError, "document 1: has a lone surrogate"),
        ([document("a", labels=[""])], LabelError, "must be non-empty text"),
        ([document("a", labels={"x": 1})], LabelError, "must be True or False"),
        ([document("a", id="")], SettingError, "'id' parameter"),
    ],
)
def test_what_cannot_be_learnt_is_refused_and_not_written(engine, said, error, message):
    with pytest.raises(error, match=message):
        engine.learn(said)
    assert engine.metrics().log_entries == 0


def test_too_many_labels_are_refused_before_they_are_written(engine):
    flood = [document("a", labels=[f"label {n}" for n in range(17)])]
    with pytest.raises(RefusedError, match="max_labels is 16"):
        engine.learn(flood)
    assert engine.metrics().log_entries == 0


def test_too_many_labels_that_come_at_once_are_refused_by_the_fold(opened, monkeypatch):
    """Each of them would find room: whether all do is known in the order of the log only."""
    monkeypatch.setattr("clasher.service.checking.check_room", lambda state, labels: None)
    engine = opened(SMALL)
    futures = [
        engine.learn([document("a", labels=[f"{n} {m}" for m in range(6)])], key=f"k{n}")
        for n in range(4)
    ]
    told = [future.exception() for future in futures]
    assert [type(error) for error in told] == [type(None)] * 2 + [RefusedError] * 2
    refused = [lesson.refused is not None for lesson in engine.log()]
    assert refused == [False, False, True, True]
    before = model_bytes(engine)
    engine.close()
    engine = opened()
    assert (model_bytes(engine), engine.metrics().documents_learned) == (before, 2)
    with pytest.raises(RefusedError):
        engine.learn([document("a", labels=[f"3 {m}" for m in range(6)])], key="k3").result()


# ── feedback ─────────────────────────────────────────────────────────────────────────────────────


def predicted(engine, text="corn and gold", **given):
    return engine.predict([document(text, **given)])[0].id


def test_feedback_teaches_what_was_predicted(engine):
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
    assert set(lesson.before) == set(engine.recent()[0].predicted)


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


def test_a_receipt_tells_what_changed(engine):
    taught(engine)
    engine.predict([document("zinc", id="other")])
    name = predicted(engine, "quite new words")
    changes = None
    for _ in range(3):  # until other documents of the same words are labelled otherwise
        twin = predicted(engine, "quite new words")
        changes = engine.feedback(name, ["news"]).result().changes
        name = twin
    before, after = changes.scores["news"]
    assert after > before
    assert changes.threshold[0] > 0
    assert {other.id for other in changes.documents} <= {d.id for d in engine.recent()}


def test_feedback_needs_a_document_and_labels(engine):
    with pytest.raises(UnknownDocumentError, match="no document 'x' is kept"):
        engine.feedback("x", ["grain"])
    with pytest.raises(LabelError, match="an answer needs labels"):
        engine.feedback(predicted(engine), None)


def test_documents_that_await_feedback_are_bounded_by_number_and_age(opened, clock):
    from clasher.service.awaiting import Bounds

    engine = opened(SMALL, awaiting=Bounds(documents=3, seconds=100.0))
    for name in "abcde":
        predicted(engine, id=name)
    assert [document.id for document in engine.recent()] == ["e", "d", "c"]
    assert engine.metrics().awaiting_dropped == 2
    with pytest.raises(UnknownDocumentError, match="send its text with its labels to learn"):
        engine.feedback("a", ["grain"])
    clock.now += 101.0
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


def test_what_was_said_of_a_document_holds_when_it_is_predicted_again(engine):
    predicted(engine, id="a")
    engine.feedback("a", ["grain"]).result()
    predicted(engine, id="a")
    assert engine.feedback("a", ["metal"]).result().before == ["grain"]
    predicted(engine, "another text", id="a")
    assert engine.feedback("a", ["metal"]).result().before is None


# ── undo ─────────────────────────────────────────────────────────────────────────────────────────


def test_undo_unlearns_exactly_where_the_model_can(opened):
    engine = taught(opened(Settings(dimensions=256, rule="centroid", weighting="tf")))
    before = engine.predict([document("wheat and zinc", id="x")], top=5)[0].scores
    support = {label.name: label.support for label in engine.labels().labels}
    receipt = engine.feedback(predicted(engine), ["grain", "metal"]).result()
    assert {label.name: label.support for label in engine.labels().labels} != support
    engine.undo(receipt.version, who="ann").result()
    assert {label.name: label.support for label in engine.labels().labels} == support
    assert engine.predict([document("wheat and zinc")])[0].scores == pytest.approx(before)
    assert engine.metrics().documents_learned == len(STREAM)
    assert [lesson.kind for lesson in engine.log()][-2:] == ["feedback", "undo"]


def test_an_undo_can_be_undone_and_the_last_word_only(engine):
    taught(engine)
    name = predicted(engine)
    first = engine.feedback(name, ["grain"]).result()
    second = engine.feedback(name, ["metal"]).result()
    with pytest.raises(ConflictError, match="spoken of again since version 2; undo version 3"):
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


# ── labels ───────────────────────────────────────────────────────────────────────────────────────


def by_name(engine):
    return {label.name: label for label in engine.labels().labels}


def test_a_label_keeps_its_identity_through_a_renaming(opened):
    engine = taught(opened(SMALL))
    before = by_name(engine)["grain"]
    engine.relabel("rename", "grain", "cereals").result()
    engine.learn([GRAIN]).result()  # from a feed that has not heard of it
    after = by_name(engine)["cereals"]
    assert "grain" not in by_name(engine)
    assert (after.id, after.support) == (before.id, before.support + 1)
    engine.close()
    engine = opened()
    engine.relabel("rename", after.id, "grain").result()
    assert by_name(engine)["grain"].id == before.id
    assert engine.label("cereals").label.name == "grain"


def test_labels_are_merged_retired_and_pinned(engine):
    taught(engine)
    engine.learn([document("corn", labels=["maize"])]).result()
    grain, maize = by_name(engine)["grain"], by_name(engine)["maize"]
    engine.relabel("merge", maize.id, "grain").result()
    assert by_name(engine)["grain"].support == grain.support + 1
    engine.relabel("pin", "grain").result()
    assert by_name(engine)["grain"].is_pinned
    engine.relabel("unpin", "maize").result()
    assert not by_name(engine)["grain"].is_pinned
    engine.relabel("retire", "metal").result()
    engine.learn([METAL]).result()
    assert by_name(engine)["metal"].id > maize.id
    assert by_name(engine)["metal"].support == 1


def test_what_cannot_be_done_to_labels_is_refused(engine):
    taught(engine)
    with pytest.raises(LabelError, match="knows no label 'oil'"):
        engine.relabel("retire", "oil")
    with pytest.raises(LabelError, match="knows no label 77"):
        engine.relabel("pin", 77)
    with pytest.raises(LabelError, match="to rename a label needs two"):
        engine.relabel("rename", "grain")
    with pytest.raises(LabelError, match="to pin a label needs one"):
        engine.relabel("pin", "grain", "metal")
    with pytest.raises(RefusedError, match="there is a label 'metal' already"):
        engine.relabel("rename", "grain", "metal").result()
    with pytest.raises(RefusedError, match="cannot be merged with itself"):
        engine.relabel("merge", "grain", "grain").result()


def test_pinned_labels_are_not_given_up(opened):
    engine = opened(Settings(dimensions=64, max_labels=3, on_full="evict"))
    for name in "abc":
        engine.learn([document(name, labels=[name])]).result()
    engine.relabel("pin", "a").result()
    engine.learn([document("d", labels=["d"])]).result()
    assert set(by_name(engine)) == {"a", "c", "d"}
    engine.close()
    engine = opened()
    engine.learn([document("e", labels=["e"])]).result()
    assert set(by_name(engine)) == {"a", "d", "e"}
    with pytest.raises(RefusedError, match="1 of 3 are pinned"):
        engine.learn([GRAIN, document("f", labels=["f", "g", "h"])]).result()


# ── what is shown ────────────────────────────────────────────────────────────────────────────────


def test_predictions_have_ids_scores_and_a_version(engine):
    taught(engine)
    given, made = engine.predict([document("wheat", id="mine"), document("gold")], top=1)
    assert (given.id, given.version) == ("mine", 1)
    assert made.id != engine.predict([document("gold")])[0].id
    with engine._copies.reading() as state:
        scores = state.model.scores("wheat")
        assert set(given.labels) == state.model.predict("wheat")
    assert given.scores == {name: scores[name] for name in given.scores}
    assert list(given.scores.values()) == sorted(given.scores.values(), reverse=True)
    assert set(given.labels) <= set(given.scores)
    assert engine.predict([]) == []


def test_predicting_changes_nothing_and_need_not_be_kept(engine):
    taught(engine)
    before = model_bytes(engine)
    engine.predict([BOTH], keep=False)
    assert (model_bytes(engine), engine.recent()) == (before, [])
    assert engine.metrics().documents_predicted == 1


def test_an_empty_model_predicts_nothing(engine):
    assert engine.predict([GRAIN])[0].labels == []
    assert engine.explain("wheat") == []
    assert engine.labels() == LabelList(labels=[], total=0)


def test_explanations_point_into_the_text(engine):
    taught(engine)
    text = "☂ Smelter, and harvest"
    best, other = engine.explain(text)
    assert {best.label, other.label} == {"grain", "metal"}
    explained = {one.label: one for one in engine.explain(text, ["metal", "grain"])}
    weights = {
        label: {text[w.start : w.stop]: w.weight for w in one.words}
        for label, one in explained.items()
    }
    assert weights["metal"]["Smelter"] > max(0, weights["grain"]["Smelter"])
    assert weights["grain"]["harvest"] > max(0, weights["metal"]["harvest"])
    with pytest.raises(LabelError, match="knows no label 'oil'"):
        engine.explain(text, ["oil"])


def test_labels_are_searched_sorted_and_paged(engine):
    taught(engine)
    engine.learn([document("x", labels=[f"other {n}"]) for n in range(5)]).result()
    assert [label.name for label in engine.labels(most=2).labels] == ["grain", "metal"]
    found = engine.labels("OTHER", sort="name", start=1, most=2)
    assert ([label.name for label in found.labels], found.total) == (["other 1", "other 2"], 5)
    found = engine.labels("other", sort="name", start=1, most=2, descending=True)
    assert [label.name for label in found.labels] == ["other 3", "other 2"]
    found = engine.labels(most=2, descending=False)
    assert ([label.name for label in found.labels], found.total) == (["other 0", "other 1"], 7)
    for sort in ("precision", "recall", "f1"):
        values = [getattr(label, sort).value for label in engine.labels(sort=sort).labels]
        assert values == sorted(values, reverse=True)
    assert {word for word, _ in by_name(engine)["grain"].words} & {"wheat", "corn", "harvest"}
    with pytest.raises(SettingError, match="'sort' parameter of labels"):
        engine.labels(sort="size")


def test_labels_tell_which_is_forgotten_next(opened):
    settings = Settings(dimensions=64, max_labels=3, on_full="evict", half_life=10)
    engine = opened(settings)
    for name in ("iron", "zinc", "gold"):
        engine.learn([document(name, labels=[name])] * 20).result()
    ago = [(label.name, label.unseen) for label in engine.labels(sort="unseen").labels]
    assert ago == [("iron", 40), ("zinc", 20), ("gold", 0)]
    known = by_name(engine)
    assert 0 < known["iron"].weight < known["zinc"].weight < known["gold"].weight < 1
    assert [name for name in known if known[name].is_next] == ["iron"]
    engine.relabel("pin", "iron").result()
    assert by_name(engine)["zinc"].is_next
    engine.learn([document("copper", labels=["copper"])]).result()
    assert set(by_name(engine)) == {"iron", "gold", "copper"}


def test_labels_that_never_make_room_weigh_what_they_did(engine):
    taught(engine)
    assert not any(label.is_next or label.weight != 1 for label in engine.labels().labels)


def test_alarms_tell_when_and_how_often(opened, clock):
    engine = opened(Settings(dimensions=256, detector="window"))
    wheat, gold = document("wheat", labels=["grain"]), document("gold", labels=["metal"])
    engine.learn([wheat, gold, gold, gold] * 1000).result()
    clock.now += 60
    engine.learn([document("gold", labels=["grain"]), gold] * 1000).result()
    alarm = next(alarm for alarm in engine.alarms() if alarm.label == "grain")
    assert (alarm.at, alarm.document > 4000) == (clock.now, True)
    assert alarm.frequency_before == pytest.approx(0.25, abs=0.05)
    assert alarm.frequency == pytest.approx(0.5, abs=0.05)
    everywhere = [alarm for alarm in engine.alarms() if alarm.label is None]
    assert all(alarm.frequency is None for alarm in everywhere)


def test_the_page_of_a_label(engine):
    taught(engine)
    engine.predict([document("wheat corn harvest", id="w"), document("zinc smelter", id="z")])
    page = engine.label("grain")
    assert page.neighbours[0][0] == "metal"
    assert [document.id for document in page.recent] == ["w"]
    engine.feedback("z", ["grain"]).result()
    engine.feedback("w", {"grain": False}).result()
    assert [document.id for document in engine.label("grain").recent] == ["z"]


def test_quality_is_of_predictions_made_before_learning(engine):
    taught(engine)
    metrics = engine.metrics()
    assert metrics.cumulative.documents == metrics.recent.documents == len(STREAM)
    assert 0.5 < metrics.cumulative.micro_f1.low < metrics.cumulative.micro_f1.value <= 1
    assert not metrics.cumulative.micro_f1.is_enough
    assert metrics.cumulative.frequent_labels + metrics.cumulative.rare_labels == 2
    engine.learn(STREAM * 3).result()
    assert engine.metrics().cumulative.micro_f1.is_enough


def test_figures_of_the_service(engine):
    taught(engine)
    engine.predict([GRAIN])
    metrics = engine.metrics()
    assert (metrics.labels, metrics.version, metrics.log_entries) == (2, 1, 1)
    assert 0 < metrics.model_bytes <= metrics.model_bytes_most
    assert 0 < metrics.disk_bytes <= metrics.disk_bytes_most
    assert metrics.memory_bytes > metrics.model_bytes
    assert (metrics.awaiting, metrics.waiting_requests, metrics.subscribers) == (1, 0, 0)
    assert engine.settings == SMALL


# ── the model as a whole ─────────────────────────────────────────────────────────────────────────


def test_the_model_is_downloaded_and_replaced(opened, folder):
    engine = taught(opened(SMALL))
    grain = by_name(engine)["grain"].id
    raw = model_bytes(engine)
    engine.learn([*STREAM, document("x", labels=["extra"])]).result()
    other = Clasher(128, rule="centroid")
    other.learn("wheat", {"grain"})
    engine.replace_model(io.BytesIO(file_bytes(other)), who="admin").result()
    assert engine.settings.rule == "centroid"
    assert {name: label.id for name, label in by_name(engine).items()} == {"grain": grain}
    assert engine.metrics().cumulative.documents == 0
    engine.learn([GRAIN]).result()
    expected = model_bytes(engine)
    engine.close()
    engine = opened()
    assert model_bytes(engine) == expected
    engine.replace_model(io.BytesIO(raw)).result()
    assert model_bytes(engine) == raw
    engine.learn([GRAIN]).result()
    engine.close()
    opened().close()
    assert list((folder / "models").iterdir()) == []


def test_what_is_no_model_is_refused(engine, folder):
    before = model_bytes(taught(engine))
    with pytest.raises(ModelFileError):
        engine.replace_model(io.BytesIO(b"no model"))
    assert model_bytes(engine) == before
    assert list((folder / "models").iterdir()) == []


def test_settings_belong_to_the_folder(opened):
    assert opened().settings == default_settings()


def test_other_settings_are_refused(opened):
    opened(SMALL).close()
    with pytest.raises(SettingError, match=r"made with other settings \(dimensions\)"):
        opened(Settings(dimensions=512, max_labels=16, words=True))


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


def test_past_a_bounded_queue_others_are_sent_away(opened, monkeypatch):
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


def test_the_queue_is_bounded_by_bytes_too(opened, monkeypatch):
    engine = opened(SMALL, waiting_bytes=1000)
    gate = Gate(monkeypatch, Log, "append")
    large = engine.learn([document("x" * 2000)])  # alone it always finds room
    with pytest.raises(BusyError):
        engine.learn([GRAIN])
    gate.opened.set()
    large.result()


def test_predictions_do_not_wait_for_learning(engine, monkeypatch):
    taught(engine)
    gate = Gate(monkeypatch, State, "apply")
    learning = engine.learn([GRAIN])
    assert gate.reached.wait(60)
    assert engine.predict([GRAIN])[0].version == 1
    assert not learning.done()
    gate.opened.set()
    learning.result()
    assert engine.predict([GRAIN])[0].version == 2


def test_learning_waits_for_whoever_still_reads(engine):
    taught(engine)
    with engine._copies.reading() as state:
        before = file_bytes(state.model)
        engine.learn([METAL]).result()  # acknowledged, and not yet learnt by the copy in use
        waiting = engine.learn([METAL])
        assert file_bytes(state.model) == before
        assert not waiting.done()
    waiting.result()


def test_closing_finishes_what_was_accepted(opened):
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
    told = []
    engine = opened(SMALL, on_failure=told.append)
    engine.learn([GRAIN]).result()
    subscription = engine.subscribe()

    def failing(self, *given):
        raise LibraryError("disk I/O error")

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
    assert told == [engine.failure]
    engine = opened()
    assert engine.metrics().documents_learned == 1


def test_options_are_checked():
    with pytest.raises(SettingError, match="'waiting_requests' parameter of Options"):
        Options(waiting_requests=0)


def test_an_engine_is_a_context(folder):
    with Engine(folder, SMALL) as engine:
        taught(engine)
    with Engine(folder) as engine:
        assert (engine.version, engine.replayed) == (1, 0)
