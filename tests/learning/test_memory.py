import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher, Settings
from clasher.kernels.state import DOCUMENTS, LABELS
from clasher.learning import memory
from clasher.learning.memory import VECTOR
from tests.models import AXES, RULES, dense, taught


@given(st.integers(0, 3000), st.integers(1, 3000))
def test_capacity_comes_in_steps_of_whole_vectors(labels, max_labels):
    labels = min(labels, max_labels)
    capacity = memory.capacity_for(labels, max_labels)
    assert labels <= capacity < max_labels + VECTOR
    assert capacity % VECTOR == 0
    assert memory.capacity_for(capacity, max_labels) == capacity
    assert capacity <= max(memory.FIRST_CAPACITY, 1.5 * labels + VECTOR)


def test_capacity_grows_a_few_times_only():
    steps = {memory.capacity_for(labels, 100_000) for labels in range(1, 100_000, 7)}
    assert len(steps) < 24


@pytest.mark.parametrize("rule", RULES)
def test_growing_keeps_all_that_is_learnt(rule):
    model = taught(rule, max_labels=200)
    state, settings = model.state, model.settings
    grown = memory.grow(state, settings, 100)
    fresh = memory.allocate(settings, 100)
    assert grown.pool is state.pool
    for name in (name for name in state._fields if name != "pool"):
        old, new, unused = (getattr(each, name) for each in (state, grown, fresh))
        inside = tuple(slice(0, n) for n in old.shape)
        np.testing.assert_array_equal(new[inside], old, err_msg=name)
        outside = np.ones(new.shape, bool)
        outside[inside] = False
        np.testing.assert_array_equal(new[outside], unused[outside], err_msg=name)
    assert grown.totals[DOCUMENTS] == 30


def test_a_state_with_room_does_not_grow():
    model = taught(max_labels=200)
    assert memory.grow(model.state, model.settings, 32) is model.state


@pytest.mark.parametrize("rule", RULES)
def test_growing_changes_no_score(rule):
    model = taught(rule, max_labels=500)
    twin = taught(rule, max_labels=500)
    twin._state = memory.grow(twin.state, twin.settings, 300)
    for text in ("oil and wheat", "corn ☂"):
        assert model.probabilities(text) == twin.probabilities(text)
    model.learn("gold and corn", {"gold"})
    twin.learn("gold and corn", {"gold"})
    assert model.probabilities("gold") == twin.probabilities("gold")


@pytest.mark.parametrize("rule", RULES)
def test_clearing_a_label_touches_no_other(rule):
    model, untouched = taught(rule), taught(rule)
    memory.clear_label(model.state, 1, model.settings)
    fresh = memory.allocate(model.settings)
    states = [dense(each) for each in (model, untouched, fresh)]
    for name, axis in AXES.items():
        cleared, before, unused = (getattr(state, name) for state in states)
        if not cleared.size:
            continue
        pick = (slice(None),) * axis
        np.testing.assert_array_equal(cleared[(*pick, 1)], unused[(*pick, 1)], err_msg=name)
        for other in (0, 2, 3):
            mine, his = cleared[(*pick, other)], before[(*pick, other)]
            if name == "together":
                mine, his = np.delete(mine, 1), np.delete(his, 1)
            np.testing.assert_array_equal(mine, his, err_msg=name)
    if dense(model).together.size:
        assert not dense(model).together[1].any()


def test_the_longest_unseen_label():
    state = memory.allocate(Settings(dimensions=4, max_labels=8))
    state.totals[LABELS] = 4
    state.seen[:4] = [7, 3, 9, 3]
    assert memory.longest_unseen(state, set()) == 1
    assert memory.longest_unseen(state, {1}) == 3
    assert memory.longest_unseen(state, {1, 3}) == 0


def test_an_endless_stream_takes_no_more_memory():
    """All labels appear, and new words never stop."""
    model = Clasher(64, max_labels=40)
    rng = np.random.default_rng(5)
    sizes = []
    for batch in range(30):
        words = rng.integers(0, 10**9, (20, 6))
        texts = [" ".join(f"w{word}" for word in row) for row in words]
        labels = [{f"label{rng.integers(40)}"} for _ in texts]
        model.step_many(texts, labels)
        sizes.append(model.nbytes)
        assert sizes[-1] <= model.max_nbytes
        if batch == 15:
            assert len(model.labels) == 40
    assert len(set(sizes[15:])) == 1


def test_a_model_file_does_not_depend_on_what_lay_in_its_memory_before(tmp_path, monkeypatch):
    """Blocks of cells have gaps, which nobody fills."""
    names = [f"label {number}" for number in range(49)]
    model = Clasher(64, max_labels=64, max_bytes=2**17)
    model.learn_many([f"words and {name}" for name in names], [{name} for name in names])
    model.save(tmp_path / "model")
    new_pool = memory.new_pool

    def used_before(cells, layers):
        pool = new_pool(cells, layers)
        pool.labels[:] = -7
        return pool

    monkeypatch.setattr(memory, "new_pool", used_before)
    again = Clasher.load(tmp_path / "model")
    assert again.predict_many(names) == model.predict_many(names)
