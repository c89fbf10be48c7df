from __future__ import annotations

import io

import pytest

from clasher import Clasher
from clasher.errors import (
    ConflictError,
    LabelError,
    ModelFileError,
    RefusedError,
    SettingError,
    TextError,
)
from clasher.service import default_settings
from clasher.service.structs import Document
from clasher.settings import Settings
from tests.service.conftest import SMALL
from tests.service.lines import GRAIN, METAL, STREAM, document
from tests.service.plain import file_bytes, model_of


def taught(engine):
    engine.learn(STREAM).result()
    return engine


def model_bytes(engine):
    with engine.model_file().result() as file:
        return file.read()


def by_name(engine):
    return {label.name: label for label in engine.labels().labels}


# ── learning ─────────────────────────────────────────────────────────────────────────────────────


def test_an_acknowledged_request_is_learnt(engine):
    labels = [["grain"], {"metal": True, "grain": False}, None]
    documents = [document(text, labels=some) for text, some in zip("abc", labels, strict=True)]
    receipt = engine.learn(documents, who="ann").result()
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
    with pytest.raises(ConflictError, match="'k1' was used for another request"):
        engine.learn([METAL], key="k1").result()


def test_the_same_key_counts_once_when_all_come_at_once(engine):
    futures = [engine.learn([GRAIN], key="k") for _ in range(50)]
    receipts = [future.result() for future in futures]
    assert [receipt.is_duplicate for receipt in receipts].count(False) == 1
    assert engine.metrics().documents_learned == 1


def test_keys_are_bounded_by_number_and_age(opened, clock):
    engine = opened(SMALL, keys=5, key_seconds=1000.0)
    for number in range(10):
        clock.wait(61.0)
        engine.learn([GRAIN], key=f"k{number}").result()
    clock.wait(61.0)
    engine.learn([GRAIN]).result()
    assert not engine.learn([GRAIN], key="k0").result().is_duplicate
    assert engine.learn([GRAIN], key="k9").result().is_duplicate
    clock.wait(2000.0)
    engine.learn([GRAIN]).result()
    assert not engine.learn([GRAIN], key="k9").result().is_duplicate


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ([Document(text=7)], TextError, "document 0: must be text"),
        ([GRAIN, Document(text="\ud800")], TextError, "document 1: has a lone surrogate"),
        ([document("a", labels=[""])], LabelError, "must be non-empty text"),
        ([document("a", labels={"x": 1})], LabelError, "must be True or False"),
        ([document("a", id="")], SettingError, "'id' parameter"),
    ],
)
def test_an_invalid_request_is_refused_and_not_written(engine, documents, error, message):
    with pytest.raises(error, match=message):
        engine.learn(documents)
    assert engine.metrics().log_entries == 0


def test_too_many_labels_are_refused_before_they_are_written(engine):
    flood = [document("a", labels=[f"label {n}" for n in range(17)])]
    with pytest.raises(RefusedError, match="max_labels is 16"):
        engine.learn(flood)
    assert engine.metrics().log_entries == 0


def test_too_many_labels_that_come_at_once_are_refused_when_applied(opened, monkeypatch):
    """Each of them would find room: whether all do is known in the order of the log only."""
    monkeypatch.setattr("clasher.service.checks.check_room", lambda state, labels: None)
    engine = opened(SMALL)
    futures = [
        engine.learn([document("a", labels=[f"{n} {m}" for m in range(6)])], key=f"k{n}")
        for n in range(4)
    ]
    errors = [future.exception() for future in futures]
    assert [type(error) for error in errors] == [type(None)] * 2 + [RefusedError] * 2
    refused = [lesson.refused is not None for lesson in engine.log()]
    assert refused == [False, False, True, True]
    before = model_bytes(engine)
    engine.close()
    engine = opened()
    assert (model_bytes(engine), engine.metrics().documents_learned) == (before, 2)
    with pytest.raises(RefusedError):
        engine.learn([document("a", labels=[f"3 {m}" for m in range(6)])], key="k3").result()


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


def test_a_file_that_is_no_model_is_refused(engine, folder):
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


def test_spellings_of_a_name_are_one_label(opened):
    with opened() as engine:
        spellings = ["\u00c9", "E\u0301", " \u00c9\u200b"]
        engine.learn([Document(text="oil prices", labels=[name]) for name in spellings]).result()
        [prediction] = engine.predict([Document(text="oil prices")])
        engine.feedback(prediction.id, {"E\u0301": True, "gold ": False}).result()
        assert [(label.name, label.support) for label in engine.labels().labels] == [
            ("\u00c9", 4),
            ("gold", 0),
        ]
        engine.relabel("rename", "E\u0301 ", "oil ").result()
        assert engine.labels().labels[0].name == "oil"
        with pytest.raises(LabelError, match="visible"):
            engine.learn([Document(text="oil prices", labels=["\u200b"])])
        with pytest.raises(LabelError, match="True and False"):
            engine.learn([Document(text="oil prices", labels={"oil": True, "oil ": False})])
        assert [lesson.after for lesson in engine.log()][:3] == [["\u00c9"]] * 3
