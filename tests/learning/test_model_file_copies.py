"""Models can be copied and pickled; the copy has learnt the same."""

import copy
import multiprocessing
import pickle

import pytest

from clasher import Analyzer, Clasher, Clusters, HashedTfidf, Similar
from clasher.errors import SettingError
from tests.models import LABELS, RULES, TEXTS, UNSEEN, taught

WAYS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
}
every_way = pytest.mark.parametrize("again", WAYS.values(), ids=WAYS)


def halves(text):
    """Split at blanks."""
    return text.split()


class Cutter:
    def halves(self, text):
        return text.split()


def learnt(model, tmp_path):
    """Return the bytes of a model's file."""
    model.save(tmp_path / "model")
    return (tmp_path / "model").read_bytes()


@every_way
@pytest.mark.parametrize("rule", RULES)
def test_copies_of_models_are_equal_and_independent(rule, again, tmp_path):
    model = taught(rule, words=True, pending=4, detector="window")
    model.observe("wheat that waits", id="w")
    model.pinned = {"oil"}
    before = learnt(model, tmp_path)
    twin = again(model)
    assert type(twin) is Clasher
    assert twin.pinned == {"oil"}
    assert learnt(twin, tmp_path) == before
    twin.learn_later("w", {"grain"})
    twin.learn_many(TEXTS, LABELS)
    twin.pinned.add("gold")
    assert learnt(model, tmp_path) == before
    assert model.pinned == {"oil"}
    model.learn_later("w", {"grain"})
    model.learn_many(TEXTS, LABELS)
    assert learnt(model, tmp_path) == learnt(twin, tmp_path)
    assert twin.predict_many(UNSEEN) == model.predict_many(UNSEEN)


@every_way
@pytest.mark.parametrize(
    "made",
    [lambda: HashedTfidf(64, lead=True, words=True), lambda: Clusters(3, 64)],
    ids=["HashedTfidf", "Clusters"],
)
def test_copies_of_vectors_and_clusters_are_independent(made, again, tmp_path):
    model = made()
    learn = getattr(model, "partial_fit", None) or model.learn_many
    learn(TEXTS)
    before = learnt(model, tmp_path)
    twin = again(model)
    assert learnt(twin, tmp_path) == before
    assert getattr(twin, "lead", None) == getattr(model, "lead", None)
    (getattr(twin, "partial_fit", None) or twin.learn_many)(UNSEEN)
    assert learnt(model, tmp_path) == before


@every_way
def test_copies_of_similar_are_independent(again):
    similar = Similar(window=10, dimensions=64)
    similar.add_many(["gold is found", "wheat harvest falls"], ids=["a", "b"])
    twin = again(similar)
    assert twin.most_similar("a harvest of wheat") == similar.most_similar("a harvest of wheat")
    twin.add_many(["a harvest of wheat"], ids=["c"])
    assert [match.id for match in similar.most_similar("a harvest of wheat")] == ["b"]
    assert twin.most_similar("a harvest of wheat")[0].id == "c"


def test_an_importable_tokenizer_is_copied_and_pickled():
    model = Clasher(64, analyzer=Analyzer(tokenizer=halves))
    model.learn("wheat/corn", {"grain"})
    for again in WAYS.values():
        assert again(model).settings.analyzer.tokenizer is halves


@pytest.mark.parametrize("made", [Clasher, HashedTfidf, Clusters])
def test_an_unimportable_tokenizer_is_copied_but_not_pickled(made):
    model = made(dimensions=64, analyzer=Analyzer(tokenizer=Cutter().halves))
    assert copy.deepcopy(model).settings == model.settings
    with pytest.raises(SettingError) as raised:
        pickle.dumps(model)
    message = str(raised.value)
    assert f"this {made.__name__} cannot be pickled: its tokenizer" in message
    assert f"Cutter.halves is not found under that name in {__name__}" in message
    assert "top of a module" in message
    assert f"{made.__name__}.load(…, tokenizer=…)" in message


def predicted(model):
    return model.predict("gold and silver")


def test_a_model_goes_to_other_processes():
    model = taught()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(predicted, [model]) == predicted(model)


def test_an_altered_pickle_is_refused():
    sent = pickle.dumps(taught())
    place = len(sent) - 100
    altered = sent[:place] + bytes([sent[place] ^ 1]) + sent[place + 1 :]
    with pytest.raises(Exception, match=r"checksum|intact|altered"):
        pickle.loads(altered)
