"""Names that look the same are one label, for every way in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import LabelError
from clasher.labels import LabelSets
from clasher.text.label_names import normal_name, settled_names
from support.environment import optional

NFC, NFD = "\u00c9", "E\u0301"
SPELLINGS = [[NFC], [NFD], [f" {NFC}"], [f"{NFD}\u200b"], [f"\ufeff{NFC}\u00a0"]]
COLUMNS = {
    "lists": SPELLINGS,
    "sets": [set(one) for one in SPELLINGS],
    "mappings": [{one[0]: True} for one in SPELLINGS],
    "numpy": [np.array(one) for one in SPELLINGS],
    "arrow": pa.array(SPELLINGS),
    "arrow dictionary": pa.array(SPELLINGS, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "arrow map": pa.array([[(one[0], True)] for one in SPELLINGS], pa.map_("string", "bool")),
}


@pytest.mark.parametrize("kind", [*COLUMNS, "pandas"])
def test_spellings_of_a_name_are_one_label(kind: str) -> None:
    pandas = kind == "pandas"
    column = optional("pandas", "test").Series(SPELLINGS) if pandas else COLUMNS[kind]
    model = Clasher(1024)
    model.learn_many(["oil prices rise"] * len(SPELLINGS), column)
    assert model.labels == [NFC]
    assert model.support[NFC] == len(SPELLINGS)


def test_one_document_counts_a_label_once() -> None:
    model = Clasher(1024)
    model.learn("oil prices rise", ["oil", "oil ", "\u200boil", "oil\0", "\x7foil"])
    assert model.support == {"oil": 1}


def test_case_and_inner_blanks_stay() -> None:
    assert LabelSets.of([["Oil", "oil", "crude  oil"]])[0] == {"Oil", "oil", "crude  oil"}


@pytest.mark.parametrize(
    "name",
    [" ", "\u200b", "\t\u2060 ", "\ufeff", "\u3164", "\0", "\x1b", "\u115f", "\u034f", "\ufe0f",
     "\U000e0001"],
)  # fmt: skip
def test_an_invisible_name_is_refused(name: str) -> None:
    model = Clasher(1024)
    for labels in ([["oil"], [name]], [{"oil"}, {name: False}], pa.array([["oil"], [name]])):
        with pytest.raises(LabelError, match=r"document 1: .*visible"):
            model.learn_many(["oil", "gold"], labels)
    with pytest.raises(LabelError, match="visible"):
        model.learn("oil", {name})
    assert not model.labels


def test_yes_and_no_to_one_label_is_refused() -> None:
    with pytest.raises(LabelError, match="document 1: label 'oil' is True and False"):
        LabelSets.of([None, {"oil": True, "oil ": False}])
    sets = LabelSets.of([{"oil": True, "oil ": True}, {"oil": False}])
    assert [sets.as_given(at) for at in range(2)] == [{"oil": True}, {"oil": False}]


def test_names_are_looked_up_in_any_spelling() -> None:
    model = Clasher(1024, words=True, pending=1)
    model.learn("oil prices rise", {NFC})
    model.learn("gold prices rise", {"gold"})
    assert model.top_words(NFD) == model.top_words(NFC)
    assert model.explain("oil prices", f"{NFD} ").label == NFC
    model.rename_label(f" {NFD}", "oil\u200b")
    assert model.labels == ["oil", "gold"]
    with pytest.raises(LabelError, match="itself"):
        model.merge_labels("oil", "oil ")
    with pytest.raises(LabelError, match="already"):
        model.rename_label("oil", " gold")
    model.merge_labels("gold ", "oil")
    assert model.labels == ["oil"]


def test_an_old_file_keeps_all_its_labels(tmp_path: Path) -> None:
    model = Clasher(1024, rule="centroid")
    old = {"a": NFD, "b": "oil", "c": "oil ", "d": " ", "e": "gold"}
    for name in old:
        model.learn(f"story of {name}", {name})
    model._index._rewrite(list(old.values()))  # as versions without normal names wrote them
    model.save(tmp_path / "old.clasher")

    loaded = Clasher.load(tmp_path / "old.clasher")
    assert loaded.labels == [NFC, "oil", "oil ", " ", "gold"]
    assert loaded.support == dict.fromkeys(loaded.labels, 1)
    loaded.learn("story of a", {NFD})
    loaded.learn("story of b", {"oil\u200b"})
    assert loaded.support == {NFC: 2, "oil": 2, "oil ": 1, " ": 1, "gold": 1}
    loaded.merge_labels("oil ", "oil")
    loaded.rename_label(" ", "blank")
    loaded.save(tmp_path / "new.clasher")
    assert Clasher.load(tmp_path / "new.clasher").labels == loaded.labels
    assert set(loaded.labels) == {NFC, "oil", "blank", "gold"}


@given(st.text())
def test_normal_names_are_normal(name: str) -> None:
    assert normal_name(normal_name(name)) == normal_name(name)


@given(st.lists(st.text(st.sampled_from(f"a \u200b{NFC}E\u0301")), unique=True))
def test_settled_names_stay_apart(names: list[str]) -> None:
    settled = settled_names(names)
    assert len(set(settled)) == len(names)
    assert settled_names(settled) == settled
    assert {normal_name(name) for name in settled} == {normal_name(name) for name in names}
    assert json.dumps(settled)
