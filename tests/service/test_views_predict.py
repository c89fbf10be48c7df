"""Predictions show the best labels of the model, and its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.service.state import ServiceState
from clasher.service.structs import Document
from clasher.service.views import predict

WORDS = ["wheat", "gold", "crude", "pipeline", "today", "iron", "zinc"]


@given(st.integers(0, 6), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_predictions_show_the_probabilities_of_the_model(taught_state, top, text):
    shown = predict(taught_state, [Document(text=text)] * 2, top, 1.0)
    scores, own = taught_state.model.probabilities(text), taught_state.model.predict(text)
    ordered = sorted(scores, key=lambda name: (-scores[name], name))
    least = scores[ordered[top - 1]] if top else 1.0
    for document in shown:
        assert list(document.probabilities) == [
            name for name in ordered if name in document.probabilities
        ]
        assert document.probabilities == {name: scores[name] for name in document.probabilities}
        assert own <= document.probabilities.keys()
        best = {name for name in ordered if scores[name] > least}
        assert (
            best <= document.probabilities.keys() if top else document.probabilities.keys() == own
        )
        assert len(document.probabilities.keys() - own) <= top
        assert document.labels == [name for name in ordered if name in own]
    assert len({document.id for document in shown}) == 2


@pytest.fixture(scope="module")
def taught_state():
    model = Clasher(256, rule="centroid", threshold=0.2)
    for place, word in enumerate(WORDS):
        model.learn(f"{word} {WORDS[place - 1]}", {word, WORDS[place - 2]})
    return ServiceState(model)
