"""The kernels that add up two models, against NumPy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clasher.kernels.merge import add_columns, blend_columns, blend_learnt, sum_squares
from clasher.kernels.room import take_values
from clasher.learning import memory


@st.composite
def pairs(draw):
    """Two arrays of three rows, and which columns of the second go where in the first."""
    mine, theirs = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    kept = draw(st.permutations(range(theirs)))[: draw(st.integers(0, min(mine, theirs)))]
    places = draw(st.permutations(range(mine)))[: len(kept)]
    random = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = [
        random.normal(size=(3, columns)).astype(np.float32) for columns in (mine, theirs)
    ]  # fmt: skip
    squares = [
        (random.random((3, columns)) * random.integers(0, 2, (3, columns))).astype(np.float32)
        for columns in (mine, theirs)
    ]
    return arrays, squares, np.array(kept, np.int64), np.array(places, np.int64)


@given(pairs())
def test_columns_add_up(pair):
    (mine, theirs), _, kept, places = pair
    expected = mine.copy()
    expected[:, places] += theirs[:, kept]
    add_columns(mine, theirs, kept, places)
    np.testing.assert_allclose(mine, expected, rtol=1e-6)


@given(pairs())
def test_columns_blend(pair):
    (mine, theirs), _, kept, places = pair
    shares = np.linspace(0, 1, len(kept))
    expected = mine.copy()
    expected[:, places] = (1 - shares) * mine[:, places] + shares * theirs[:, kept]
    blend_columns(mine, theirs, kept, places, shares)
    np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)


@given(pairs())
def test_weights_blend_by_what_is_behind_them(pair):
    (mine, theirs), (my_squares, their_squares), kept, places = pair
    expected = mine.copy()
    for row in range(3):
        for there, here in zip(kept, places, strict=True):
            a, b = my_squares[row, here] ** 0.5, their_squares[row, there] ** 0.5
            if b > 0:
                expected[row, here] = (a * mine[row, here] + b * theirs[row, there]) / (a + b)
    blend_learnt(mine, theirs, my_squares, their_squares, kept, places)
    np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)


@given(pairs())
def test_squares_are_summed_for_some_columns(pair):
    (mine, _), _, _, places = pair
    labels = mine.shape[1]
    heads, pool = np.zeros((3, 4), np.int32), memory.new_pool(200, 1)
    take_values(heads, 0, mine, mine[:0], pool, labels)
    norms = np.full(labels, 7.0)
    expected = norms.copy()
    expected[places] = (mine[:, places].astype(np.float64) ** 2).sum(axis=0)
    sum_squares(heads, pool, np.isin(np.arange(labels), places), norms)
    np.testing.assert_allclose(norms, expected)
