"""Views of an engine, and operations on its labels."""

from __future__ import annotations

import pytest

from clasher.errors import LabelError, RefusedError, SettingError
from clasher.service.structs import LabelList
from clasher.settings import Settings
from tests.service.conftest import SMALL
from tests.service.lines import BOTH, GRAIN, METAL, STREAM, document
from tests.service.test_engine import by_name, model_bytes, taught

# ── labels ───────────────────────────────────────────────────────────────────────────────────────


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


def test_impossible_operations_on_labels_are_refused(engine):
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


def test_pinned_labels_are_not_evicted(opened):
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
    with pytest.raises(RefusedError, match="1 of 3 places are pinned"):
        engine.learn([GRAIN, document("f", labels=["f", "g", "h"])]).result()


# ── what is shown ────────────────────────────────────────────────────────────────────────────────


def test_predictions_have_ids_scores_and_a_version(engine):
    taught(engine)
    given, made = engine.predict([document("wheat", id="mine"), document("gold")], top=1)
    assert (given.id, given.version) == ("mine", 1)
    assert made.id != engine.predict([document("gold")])[0].id
    with engine._copies.reading() as state:
        scores = state.model.probabilities("wheat")
        assert set(given.labels) == state.model.predict("wheat")
    shown = dict(given.probabilities)
    assert shown == {name: scores[name] for name in shown}
    assert list(shown.values()) == sorted(shown.values(), reverse=True)
    assert set(given.labels) <= shown.keys()
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
        label: {text[w.start : w.stop]: w.evidence for w in one.words}
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


def test_labels_show_which_is_evicted_next(opened):
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


def test_labels_that_do_not_fade_weigh_one(engine):
    taught(engine)
    assert not any(label.is_next or label.weight != 1 for label in engine.labels().labels)


def test_alarms_show_time_and_frequency(opened, clock):
    engine = opened(Settings(dimensions=256, detector="window"))
    wheat, gold = document("wheat", labels=["grain"]), document("gold", labels=["metal"])
    engine.learn([wheat, gold, gold, gold] * 1000).result()
    clock.wait(60)
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


def test_quality_measures_predictions_made_before_learning(engine):
    taught(engine)
    metrics = engine.metrics()
    assert metrics.cumulative.documents == metrics.recent.documents == len(STREAM)
    assert 0.5 < metrics.cumulative.micro_f1.low < metrics.cumulative.micro_f1.value <= 1
    assert not metrics.cumulative.micro_f1.is_enough
    assert metrics.cumulative.frequent_labels + metrics.cumulative.rare_labels == 2
    engine.learn(STREAM * 3).result()
    assert engine.metrics().cumulative.micro_f1.is_enough


def test_metrics_of_the_service(engine):
    taught(engine)
    engine.predict([GRAIN])
    metrics = engine.metrics()
    assert (metrics.labels, metrics.version, metrics.log_entries) == (2, 1, 1)
    assert 0 < metrics.model_bytes <= metrics.model_bytes_most
    assert 0 < metrics.disk_bytes <= metrics.disk_bytes_most
    assert metrics.memory_bytes > metrics.model_bytes
    assert (metrics.awaiting, metrics.waiting_requests, metrics.subscribers) == (1, 0, 0)
    assert engine.settings == SMALL
