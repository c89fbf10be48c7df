"""More labels than there is room for: those unseen for longest are evicted."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import LabelCapacityError
from clasher.kernels.state import LABELS
from tests.models import RULES, dense, state_bytes

EXAMPLES = settings(max_examples=40 if numba.config.DISABLE_JIT else 150)


def evicting(rule="margin", max_labels=2, dimensions=64):
    return Clasher(dimensions, rule=rule, max_labels=max_labels, on_full="evict")


def label_state(model, number):
    """Return the state of one label."""
    state = dense(model)
    return {
        "rows": state.rows[:, :, number],
        "counts": state.counts[number],
        "norms": state.norms[number],
        "scales": state.scales[number],
        "with": state.together[number] if state.together.size else 0,
        "of": state.together[:, number] if state.together.size else 0,
        "seen": state.seen[number],
        "bias": state.bias[:, number],
    }


@pytest.mark.parametrize("rule", RULES)
def test_the_label_unseen_for_longest_is_evicted(rule):
    model = evicting(rule, max_labels=3)
    for label in ["a", "b", "c", "a"]:
        model.learn(f"about {label}", {label})
    model.learn("about d", {"d"})
    assert model.labels == ["a", "d", "c"]
    model.learn("nothing of c", {"c": False})  # spoken of, so seen
    model.learn("about e", {"e"})
    assert model.labels == ["e", "d", "c"]


@pytest.mark.parametrize("rule", RULES)
def test_an_evicted_label_leaves_no_trace(rule):
    """Its number starts from scratch."""
    model = evicting(rule, max_labels=2)
    fresh = Clasher(64, rule=rule, max_labels=2)
    for _ in range(4):
        model.learn("oil prices and wheat prices", {"oil", "wheat"})
        model.learn("wheat harvest", {"wheat"})
        model.learn("oil rig prices", {"oil"})
    model.learn("wheat", {"wheat"})
    unused = label_state(fresh, 0)
    model.learn("", {"gold": False})  # takes the number of oil, and teaches no weight
    assert model.labels == ["gold", "wheat"]
    for name, value in label_state(model, 0).items():
        if name not in ("seen", "bias"):
            np.testing.assert_array_equal(value, unused[name], err_msg=name)
    fresh.learn("", {"gold": False})
    np.testing.assert_array_equal(label_state(model, 0)["bias"], label_state(fresh, 0)["bias"])


@pytest.mark.parametrize("rule", RULES)
def test_labels_of_the_document_are_not_evicted(rule):
    model = evicting(rule, max_labels=3)
    for label in ["a", "b", "c"]:
        model.learn(f"about {label}", {label})
    model.learn("about two", {"a", "d"})  # a is the longest unseen, but of this document
    assert model.labels == ["a", "d", "c"]
    model.learn("about three", ["e", "f", "c"])
    assert sorted(model.labels) == ["c", "e", "f"]


def test_too_many_labels_in_one_document():
    model = evicting(max_labels=2)
    model.learn("about a", {"a"})
    before = state_bytes(model)
    message = "document 0 has 3 labels, and max_labels is 2; raise max_labels"
    with pytest.raises(LabelCapacityError, match=message):
        model.learn("too many", {"x", "y", "z"})
    assert (model.labels, state_bytes(model)) == (["a"], before)
    model.learn("three times two", ["x", "y", "x", "y", "x"])
    assert sorted(model.labels) == ["x", "y"]


@pytest.mark.parametrize("rule", RULES)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["oil", "gas", "corn", "tea"]), max_size=3).map(" ".join),
            st.one_of(
                st.sets(st.sampled_from("abcdef"), max_size=2),
                st.dictionaries(st.sampled_from("abcdef"), st.booleans(), max_size=2),
                st.none(),
            ),
        ),
        max_size=10,
    ),
    st.integers(1, 4),
)
@settings(max_examples=15 if numba.config.DISABLE_JIT else 50)
def test_evicting_does_not_depend_on_how_the_stream_is_cut(rule, stream, cut):
    texts, labels = [text for text, _ in stream], [known for _, known in stream]
    whole, parts, singly = (evicting(rule, 2, 16) for _ in range(3))
    predicted = list(whole.step_many(texts, labels))
    by_parts = []
    for at in range(0, len(texts), cut):
        by_parts += parts.step_many(texts[at : at + cut], labels[at : at + cut])
    one_by_one = []
    for text, known in stream:
        one_by_one.append(singly.predict(text))
        singly.learn(text, known)
    assert predicted == by_parts == one_by_one
    assert whole.labels == parts.labels == singly.labels
    assert state_bytes(whole) == state_bytes(parts) == state_bytes(singly)
    assert whole._state.totals[LABELS] == len(whole.labels) <= 2


def test_memory_stays_bounded_while_labels_come_and_go():
    model = evicting("centroid", max_labels=40, dimensions=32)
    sizes = set()
    for i in range(200):
        model.learn(f"word{i} again", {f"label{i}", f"other{i % 7}"})
        sizes.add(model.nbytes)
        assert len(model.labels) <= 40
    assert max(sizes) < model.max_nbytes
    assert f"label{199}" in model.labels
