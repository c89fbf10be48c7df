"""Similar against comparing with every document of the window."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import HashedTfidf, Similar
from clasher.errors import LabelError, SettingError
from tests.strategies import cuts, text, words

M = 32
streams = st.lists(words, min_size=1, max_size=30)


def by_hand(texts, window, entries):
    """Return, for each document, its cosines with the documents remembered then."""
    rows = HashedTfidf(M).step_arrays(texts).to_dense(M).astype(float)
    sizes = (rows != 0).sum(axis=1)
    made = []
    for n in range(len(rows)):
        kept = [
            d for d in range(max(0, n - window), n) if sizes[d:n].sum() <= entries
        ]  # fmt: skip
        made.append({d: float(rows[n] @ rows[d]) for d in kept})
    return made


def remembering(window, per_document):
    """Patch the room per document; at least one document fits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clasher.unsupervised.similar.ENTRIES_PER_DOCUMENT", per_document)
        return Similar(window, M)


@given(streams, st.integers(1, 12), st.sampled_from([1, 4, 100]))
def test_the_most_similar_is_that_of_the_window(documents, window, per_document):
    texts = [text(document) for document in documents]
    found = remembering(window, per_document).add_many(texts)
    entries = max(window * per_document, M)
    for match, cosines in zip(found, by_hand(texts, window, entries), strict=True):
        best = max(cosines.values(), default=0.0)
        if best < 1e-5:
            assert match is None or match.similarity < 1e-4
        else:
            assert match.similarity == pytest.approx(best, abs=1e-5)
            assert cosines[match.id] == pytest.approx(best, abs=1e-5)


@given(streams, words, st.integers(1, 12), st.sampled_from([1, 100]))
def test_all_similar_ones_are_found(documents, last, window, per_document):
    texts = [text(document) for document in documents]
    similar = remembering(window, per_document)
    similar.add_many(texts, [f"d{n}" for n in range(len(texts))])
    found = similar.most_similar(text(last), n=100)
    cosines = by_hand([*texts, text(last)], window, max(window * per_document, M))[-1]
    expected = {f"d{d}": cosine for d, cosine in cosines.items() if cosine > 1e-5}
    assert {m.id: m.similarity for m in found if m.similarity > 1e-5} == pytest.approx(
        expected, abs=1e-5
    )
    assert found == sorted(found, key=lambda match: -match.similarity)
    assert similar.most_similar(text(last), n=2) == found[:2]
    assert len(similar) <= min(window, len(texts))


@given(st.data(), streams, st.integers(1, 9))
def test_matches_do_not_depend_on_batches(data, documents, window):
    texts = [text(document) for document in documents]
    expected = Similar(window, M).add_many(texts)
    parts = Similar(window, M)
    found = [parts.add_many(texts[cut]) for cut in data.draw(cuts(len(texts)))]
    assert [match for part in found for match in part] == expected


def test_near_duplicates_are_named_by_id():
    similar = Similar(100, 4096)
    texts = ["first of all", "oil prices rise", "wheat falls", "Oil, prices rise.", "gold"]
    found = similar.near_duplicates(texts, ids=["a", "b", "c", "d", "e"], threshold=0.99)
    assert [(copy.id, copy.of) for copy in found] == [("d", "b")]
    later = similar.near_duplicates(["wheat falls", "wheat falls"])
    assert [(copy.id, copy.of) for copy in later] == [(5, "c"), (6, "c")]


def test_documents_outside_the_window_are_forgotten():
    similar = Similar(2, 4096)
    similar.add_many(["first of all", "oil prices", "wheat", "corn"])
    assert len(similar) == 2
    assert [match.id for match in similar.most_similar("oil wheat corn")] == [2, 3]


def test_most_similar_changes_nothing():
    similar = Similar(10, M)
    similar.add_many(["first of all", "oil prices", "wheat corn"])
    before = [array.tobytes() for array in similar._ring]
    assert similar.most_similar("wheat oil") == similar.most_similar("wheat oil")
    assert [array.tobytes() for array in similar._ring] == before
    assert similar.documents == 3


def test_memory_never_grows():
    similar = Similar(20, M)
    before = similar.nbytes
    similar.add_many([f"word{i} word{i * 7 % 40} word{i % 5}" for i in range(300)])
    assert similar.nbytes == before
    assert len(similar) == 20
    assert len(similar._ids) == 20


def test_documents_may_be_hashed_ahead():
    similar, other = Similar(5, M), Similar(5, M)
    texts = ["first of all", "oil prices", "oil"]
    assert similar.add_many(similar.hash_many(texts)) == other.add_many(texts)


def test_nothing_to_compare_with():
    similar = Similar(5, M)
    assert similar.most_similar("oil") == []
    assert similar.add_many([]) == []
    assert similar.add_many(["", "oil", ""]) == [None, None, None]
    assert repr(similar) == "<Similar window=5 documents=3>"


@pytest.mark.parametrize("window", [0, -1, 1.5, True, 10**8])
def test_windows_out_of_range(window):
    with pytest.raises(SettingError, match="'window' parameter of Similar must be an integer"):
        Similar(window, M)


@pytest.mark.parametrize("threshold", [0, 1.1, None, np.nan])
def test_thresholds_out_of_range(threshold):
    with pytest.raises(SettingError, match="'threshold' parameter of near_duplicates"):
        Similar(5, M).near_duplicates(["oil"], threshold=threshold)


def test_every_document_needs_an_id():
    with pytest.raises(LabelError, match="Got 2 documents and 1 ids"):
        Similar(5, M).add_many(["oil", "gas"], ids=["a"])
