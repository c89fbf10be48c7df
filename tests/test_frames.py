"""Columns and tables of every library with an Arrow interface teach the same model."""

import pyarrow as pa
import pytest

from clasher import Clasher
from clasher.errors import StreamError, TextError
from clasher.evaluate import evaluate
from clasher.frames import batches, columns
from support.environment import optional
from tests.models import state_bytes

TEXTS = ["wheat and corn", "gold", "", "crude oil ☂"]
LABELS = [["grain"], ["metal", "gold"], [], ["energy"]]
DATA = {"text": TEXTS, "labels": LABELS}


def pandas(data):
    return optional("pandas", "test").DataFrame(data)


def pandas_of_arrow(data):
    frame = pandas(data)
    return frame.assign(text=frame["text"].astype("string[pyarrow]"))


def polars(data):
    return optional("polars", "test").DataFrame(data)


def datasets(data):
    return optional("datasets.arrow_dataset", "test").Dataset.from_dict(data)


def shuffled_datasets(data):
    """Return a dataset whose indices restore the order."""
    turned = {name: column[::-1] for name, column in data.items()}
    return datasets(turned).select([3, 2, 1, 0])


class Capsule:
    """A table that only has the Arrow interface."""

    def __init__(self, data):
        self._table = pa.table(data)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


FRAMES = (pa.table, pandas, pandas_of_arrow, polars, datasets, shuffled_datasets, Capsule)


def taught(texts, labels):
    model = Clasher(256, max_labels=8)
    model.learn_many(texts, labels)
    return state_bytes(model)


@pytest.mark.parametrize("frame", FRAMES)
def test_tables_are_learnt_like_lists(frame):
    assert taught(*columns(frame(DATA))) == taught(TEXTS, LABELS)


@pytest.mark.parametrize("frame", [frame for frame in FRAMES if frame is not Capsule])
def test_columns_of_tables_are_learnt_like_lists(frame):
    made = frame(DATA)
    assert taught(made["text"], made["labels"]) == taught(TEXTS, LABELS)


@pytest.mark.parametrize("frame", FRAMES)
def test_tables_are_evaluated_batch_by_batch(frame):
    result = evaluate(Clasher(256, max_labels=8), batches(frame(DATA), size=3))
    assert (result.documents, result.labels) == (4, 4)


@pytest.mark.parametrize("frame", FRAMES)
def test_a_missing_column_lists_the_columns(frame):
    message = "the table has no column 'body'; its columns are 'text', 'labels'"
    with pytest.raises(StreamError, match=message):
        columns(frame(DATA), text="body")


def test_text_without_labels():
    texts, labels = columns(pa.table({"text": TEXTS}), labels=None)
    assert (texts.to_pylist(), labels) == (TEXTS, None)


def test_anything_but_a_table_is_refused():
    with pytest.raises(StreamError, match=r"with named columns is needed\. Got int instead"):
        columns(3)


@pytest.mark.parametrize("frame", [pa.table, pandas, polars, Capsule])
def test_a_table_where_a_column_belongs_says_how_to_take_one(frame):
    with pytest.raises(TextError, match=r"got a table with the columns 'text', 'labels'; take one"):
        Clasher(256).predict_many(frame(DATA))
