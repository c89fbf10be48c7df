import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher.errors import RecordError, StreamError
from clasher.io import BadRecords, Fields
from clasher.io.tables import find_column
from tests.io.streams import read_rows

LISTS = [["a", "b"], None, []]
STRING = pa.string()


def save(tmp_path, table, name="a.arrow"):
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def table_of(labels, kind, texts=("x", "y", "z")):
    return pa.table({"text": pa.array(texts, STRING), "labels": pa.array(labels, kind)})


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
        pa.json_(),
    ],
    ids=str,
)
def test_text_of_any_arrow_type(tmp_path, kind):
    texts = pa.array(["é", "", "é"], STRING)
    texts = pa.ExtensionArray.from_storage(kind, texts) if kind == pa.json_() else texts.cast(kind)
    table = pa.table({"text": texts, "labels": pa.array(LISTS), "id": texts})
    wanted = [("é", "é", {"a", "b"}), ("", "", None), ("é", "é", set())]
    assert read_rows(save(tmp_path, table)) == wanted


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(STRING),
        pa.large_list(pa.large_string()),
        pa.list_(pa.string_view()),
        pa.list_view(STRING),
        pa.large_list_view(STRING),
        pa.list_(pa.dictionary(pa.int32(), STRING)),
    ],
    ids=str,
)
def test_labels_as_lists_of_any_arrow_type(tmp_path, kind):
    rows = read_rows(save(tmp_path, table_of(LISTS, kind)))
    assert [labels for *_, labels in rows] == [{"a", "b"}, None, set()]


@pytest.mark.parametrize(
    ("labels", "kind", "wanted"),
    [
        ([["a", "b"], None, ["b", "a"]], pa.list_(STRING, 2), [{"a", "b"}, None, {"a", "b"}]),
        ([[], None, []], pa.list_(pa.null()), [set(), None, set()]),
        ([None, None, None], pa.null(), [None, None, None]),
        (["a| b", "", None], STRING, [{"a", "b"}, None, None]),
        (["a|b", None, "|"], pa.dictionary(pa.int8(), STRING), [{"a", "b"}, None, set()]),
        (
            [[("a", True), ("b", False)], None, []],
            pa.map_(STRING, pa.bool_()),
            [{"a": True, "b": False}, None, {}],
        ),
        (
            [{"a": True, "b": None}, None, {"a": False, "b": True}],
            pa.struct({"a": pa.bool_(), "b": pa.bool_()}),
            [{"a": True}, None, {"a": False, "b": True}],
        ),
    ],
    ids=lambda part: None if isinstance(part, list) else str(part),
)
def test_labels_in_other_forms(tmp_path, labels, kind, wanted):
    rows = read_rows(save(tmp_path, table_of(labels, kind)))
    assert [found for *_, found in rows] == wanted


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.int64()], ids=str)
def test_ids_may_be_integers_or_missing(tmp_path, kind):
    table = table_of(LISTS, None).append_column("id", pa.array([7, None, 9], kind))
    assert [own for own, *_ in read_rows(save(tmp_path, table))] == [7, 2, 9]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_nested_columns_and_their_nulls(tmp_path, name):
    payload = pa.array(
        [{"body": "x", "meta": {"tags": ["a"]}, "key": 5}, {"body": "y", "meta": None, "key": None}]
    )
    table = pa.table({"payload": payload, "other": [1, 2]})
    fields = Fields(text="payload.body", labels="payload.meta.tags", id="payload.key")
    wanted = [(5, "x", {"a"}), (2, "y", None)]
    assert read_rows(save(tmp_path, table, name), fields) == wanted


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_column_with_dots_in_its_name_goes_first(tmp_path, name):
    table = pa.table(
        {
            "a": pa.array([{"b": "nested", "c": ["x"]}]),
            "a.b": ["plain"],
            "labels": pa.array([["l"]]),
        }
    )
    path = save(tmp_path, table, name)
    assert read_rows(path, Fields(text="a.b")) == [(1, "plain", {"l"})]
    assert read_rows(path, Fields(text="a.b", labels="a.c")) == [(1, "plain", {"x"})]


@pytest.mark.parametrize(
    ("labels", "kind", "row", "problem"),
    [
        ([["a"], [None], ["b"]], pa.list_(STRING), 2, "field 'labels': a label must be non-empty"),
        ([["a"], ["b"], [""]], pa.list_(STRING), 3, "field 'labels': a label must be"),
        ([[("a", None)], [], []], pa.map_(STRING, pa.bool_()), 1, "field 'labels': label 'a'"),
    ],
)
def test_bad_labels_are_reported_by_row(tmp_path, labels, kind, row, problem):
    path = save(tmp_path, table_of(labels, kind))
    with pytest.raises(RecordError, match=f"record {row}: {problem}"):
        read_rows(path)
    bad = BadRecords("skip")
    good = [own for own, *_ in read_rows(path, on_error=bad, batch_size=2)]
    assert good == [own for own in (1, 2, 3) if own != row]
    assert bad.skipped == 1


def test_a_null_text_is_reported_with_its_row(tmp_path):
    path = save(tmp_path, table_of(LISTS, None, ["x", "y", None]))
    with pytest.raises(RecordError, match="record 3: field 'text' holds null, not text") as caught:
        read_rows(path)
    assert caught.value.raw == b'{"text":null,"labels":[]}'


def invalid_texts(kind, width):
    offsets = b"".join(n.to_bytes(width, "little") for n in (0, 1, 2, 3))
    return pa.Array.from_buffers(kind, 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"a\xffc")])


@pytest.mark.parametrize(("kind", "width"), [(pa.string(), 4), (pa.large_string(), 8)], ids=str)
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("column", ["text", "labels", "id"])
def test_invalid_utf8_is_reported_by_row(tmp_path, name, kind, width, column):
    columns = {"text": ["x", "y", "z"], "labels": ["a", "b", "c"], "id": ["k", "l", "m"]}
    table = pa.table(columns | {column: invalid_texts(kind, width)})
    path = save(tmp_path, table, name)
    with pytest.raises(RecordError, match=f"record 2: field '{column}' is invalid UTF-8"):
        read_rows(path)
    bad = BadRecords("skip")
    assert len(read_rows(path, on_error=bad)) == 2
    assert bad.skipped == 1


def test_an_array_that_points_outside_its_buffers_is_never_touched(tmp_path):
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 1, 2**31 - 1, 3)))
    wild = pa.Array.from_buffers(STRING, 3, [None, offsets, pa.py_buffer(b"abc")])
    path = save(tmp_path, pa.table({"text": wild, "labels": pa.array(LISTS)}))
    with pytest.raises(StreamError, match=r"a\.arrow: column 'text' is damaged"):
        read_rows(path, on_error=BadRecords("skip"))


def test_damage_in_one_column_does_not_hide_behind_doubts_about_another(tmp_path):
    wild = pa.DictionaryArray.from_arrays(
        pa.array([0, 5, 1], pa.int32()), pa.array(["a", "b"]), safe=False
    )
    table = pa.table({"text": invalid_texts(STRING, 4), "labels": wild})
    with pytest.raises(StreamError, match=r"a\.arrow: column 'labels' is damaged"):
        read_rows(save(tmp_path, table), on_error=BadRecords("skip"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"text": pa.array([1, 2, 3])}, "column 'text' holds int64, not text; .*--text FIELD"),
        ({"text": pa.array([b"x"] * 3)}, "column 'text' holds binary, not text"),
        ({"labels": pa.array([1, 2, 3])}, "column 'labels' holds int64, not labels; .*--labels"),
        ({"labels": pa.array([[1]] * 3)}, "column 'labels' holds list<.*>, not labels"),
        ({"labels": pa.array([{"a": 1}] * 3)}, "column 'labels' holds struct<.*>, not labels"),
        ({"id": pa.array([1.5] * 3)}, "column 'id' holds double, not text or integers; .*--id"),
    ],
)
def test_columns_of_the_wrong_type_are_refused_at_once(tmp_path, change, problem):
    columns = {"text": ["x", "y", "z"], "labels": pa.array(LISTS)}
    path = save(tmp_path, pa.table(columns | change))
    with pytest.raises(StreamError, match=problem):
        read_rows(path, on_error=BadRecords("skip"))


def test_a_column_that_is_all_null_has_bad_texts_not_a_bad_type(tmp_path):
    path = save(tmp_path, table_of(LISTS, None).set_column(0, "text", pa.nulls(3)))
    with pytest.raises(StreamError, match=r"none of the 3 records .* is good; the first: "):
        read_rows(path, on_error=BadRecords("skip"))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (Fields(text="body"), "has no column 'body', its columns are 'text', 'labels'; .*--text"),
        (Fields(labels="tags"), "has no column 'tags', its columns are .*--labels FIELD"),
        (Fields(text="text.body"), r"has no column 'text\.body'"),
        (Fields(text="no.body"), r"has no column 'no\.body'"),
    ],
)
def test_a_missing_column_is_reported_with_the_present_ones(tmp_path, fields, problem):
    path = save(tmp_path, table_of(LISTS, None))
    with pytest.raises(StreamError, match=problem):
        read_rows(path, fields, on_error=BadRecords("skip"))
    assert len(read_rows(path, Fields(labels="none", id="nothing"), labelled=False)) == 3


def test_two_columns_of_one_name_are_refused():
    schema = pa.schema([("text", STRING), ("text", STRING)])
    with pytest.raises(StreamError, match=r"a\.arrow has 2 columns 'text'"):
        find_column(schema, "text", "a.arrow")
