"""The fold depends on the entries alone, not on how they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.service.log import Entry, Feedback, Learn, Relabel, Taught, decode, encode
from clasher.service.state import ServiceState
from clasher.settings import Settings
from tests.service.plain import file_bytes, model_of

LABELS = ["grain", "metal", "oil", "gas", "news"]
WORDS = ["wheat", "gold", "crude", "pipeline", "today"]

texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
sets = st.lists(st.sampled_from(LABELS), max_size=3, unique=True)
labels = sets | st.dictionaries(st.sampled_from(LABELS), st.booleans(), max_size=3)
learns = st.lists(st.builds(Taught, texts, st.none() | labels), max_size=3).map(Learn)
answers = st.builds(
    Feedback, id=st.just("d"), text=texts, predicted=sets, before=st.none() | labels, after=labels,
    is_judged=st.booleans(),
)  # fmt: skip
undone = st.builds(Feedback, id=st.just("d"), text=texts, predicted=sets, before=labels)
names = st.sampled_from([*LABELS, "other"])
relabelled = st.builds(
    Relabel, action=st.sampled_from(["rename", "merge", "retire", "pin", "unpin"]), label=names,
    into=names,
)  # fmt: skip
bodies = st.lists(learns | learns | answers | undone | relabelled, max_size=12)
settings = st.sampled_from(
    [
        Settings(dimensions=32, max_labels=6),
        Settings(dimensions=32, max_labels=4),
        Settings(dimensions=32, max_labels=4, on_full="evict"),
        Settings(dimensions=32, max_labels=4, rule="centroid", half_life=5),
        Settings(dimensions=32, max_labels=6, detector="window"),
    ]
)


def entries_of(contents):
    return [Entry(place, float(place), "ann", body) for place, body in enumerate(contents, 1)]


def restored(state):
    return state.to_plain(), file_bytes(state.model)


@pytest.mark.parametrize("together", [1, 3, 1000])
def test_alarms_have_the_time_of_the_entry_that_rang_them(together):
    mixed = [Taught("wheat", ["grain"]), Taught("gold", ["metal"]), Taught("nothing")]
    turned = [Taught("gold", ["grain"]), Taught("wheat", ["metal"]), Taught("nothing")]
    entries = entries_of([Learn(mixed)] * 300 + [Learn(turned)] * 300)
    state = ServiceState(model_of(Settings(dimensions=32, detector="window")))
    for start in range(0, len(entries), together):
        state.apply(entries[start : start + together])
    rang = {alarm.document for alarm in state.model.alarms}
    assert rang
    assert state.rung == {number: float((number + 2) // 3) for number in sorted(rang)}
    assert state.copy().rung == state.rung


@pytest.mark.compiled
@given(settings, bodies, st.data())
def test_any_cut_gives_the_same(given_settings, contents, data):
    entries = entries_of(contents)
    whole = ServiceState(model_of(given_settings))
    refused = whole.apply(entries)
    parts, start, refused_in_parts = ServiceState(model_of(given_settings)), 0, {}
    while start < len(entries):
        stop = data.draw(st.integers(start + 1, len(entries)))
        refused_in_parts |= parts.apply(entries[start:stop])
        start = stop
        if data.draw(st.booleans()):  # as from a snapshot
            parts = parts.copy()
    assert refused == refused_in_parts
    assert restored(parts) == restored(whole)


@pytest.mark.compiled
@given(settings, bodies)
def test_hashes_of_one_copy_serve_the_other(given_settings, contents):
    first, second, hashes = (
        ServiceState(model_of(given_settings)),
        ServiceState(model_of(given_settings)),
        {},
    )
    assert first.apply(entries_of(contents), hashes) == second.apply(entries_of(contents), hashes)
    assert restored(first) == restored(second)


@pytest.mark.compiled
@given(settings, bodies)
def test_names_and_numbers_stay_one_to_one(given_settings, contents):
    state = ServiceState(model_of(given_settings))
    state.apply(entries_of(contents))
    assert set(state.labels.numbers) == set(state.model.labels)
    assert len(set(state.labels.numbers.values())) == len(state.labels.numbers)
    live = set(state.labels.numbers.values())
    assert set(state.labels.former.values()) | state.labels.pinned <= live
    assert not state.labels.former.keys() & state.labels.numbers.keys()
    counted = {label for pane in (state.quality.all, *state.quality.panes) for label in pane.counts}
    assert counted <= live


@given(bodies)
def test_entries_are_read_as_they_were_written(contents):
    assert [decode(encode(body)) for body in contents] == contents


def test_a_refused_entry_changes_nothing_and_the_others_are_done():
    state = ServiceState(Clasher(64, max_labels=2))
    flood = Learn([Taught("a", ["x"]), Taught("b", ["y", "z"])])
    contents = [Learn([Taught("a", ["x"])]), flood, Learn([Taught("b", ["y"])])]
    refused = state.apply(entries_of(contents))
    assert list(refused) == [2]
    assert "max_labels is 2" in refused[2]
    assert (state.model.labels, state.learned, state.seq) == (["x", "y"], 2, 3)


def test_an_answer_whose_labels_are_gone_is_learnt_all_the_same():
    state = ServiceState(Clasher(64))
    taught = Feedback(id="d", text="wheat", predicted=[], after=["grain"])
    retired = Relabel(action="retire", label="grain")
    corrected = Feedback(id="d", text="wheat", predicted=[], before=["grain"], after=["metal"])
    assert state.apply(entries_of([taught, retired, corrected])) == {}
    assert state.model.support == {"metal": 1}


def test_labels_of_two_merged_ones_count_as_one():
    state = ServiceState(Clasher(64))
    both = Learn([Taught("wheat", ["grain", "cereals"]), Taught("wheat", ["grain"])] * 5)
    state.apply(entries_of([both, Relabel(action="merge", label="grain", into="cereals")]))
    assert state.labels.translate(["grain"]) == ["cereals"]
    assert list(state.quality.all.counts) == [state.labels.numbers["cereals"]]


def test_an_unknown_label_cannot_be_pinned():
    state = ServiceState(Clasher(64))
    refused = state.apply(entries_of([Relabel(action="pin", label="oil")]))
    assert refused == {1: "the model knows no label 'oil'"}
