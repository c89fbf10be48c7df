import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import RecordError, StreamError
from clasher.io import BadRecords, Fields
from clasher.io.formats import Reading
from clasher.io.jsonl import RecordDecoder
from clasher.io.records import FaultError, Record
from tests.io.streams import plain_labels, read_rows

GOOD = b'{"text": "oil", "labels": ["energy"]}'


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (GOOD, (1, "oil", {"energy"})),
        (b'{"labels": [], "text": "", "id": "x"}', ("x", "", set())),
        (b'{"text": "a", "labels": null, "id": 7}', (7, "a", None)),
        (b'{"text": "a", "labels": null, "id": null}', (1, "a", None)),
        (b'{"text": "a", "labels": {"b": true, "c": false}}', (1, "a", {"b": True, "c": False})),
        (b'{"text": "a", "labels": {}}', (1, "a", {})),
        (b'{"text": "a", "labels": "b| c"}', (1, "a", {"b", "c"})),
        (b'{"text": "a", "labels": ""}', (1, "a", None)),
        (b'{"text": "a", "labels": ["b", "b"]}', (1, "a", {"b"})),
        (b'{"text": "a", "text": "b", "labels": []}', (1, "b", set())),
        (b'{"text": "\\ud83d\\ude00\\u0000", "labels": []}', (1, "😀\0", set())),
        ('{"text": "a\u2028b\u0085c", "labels": []}'.encode(), (1, "a\u2028b\u0085c", set())),
        (b' {"text": "a", "labels": []}\t\r', (1, "a", set())),
        (b'{"text": "a", "labels": [], "other": {"text": 3}}', (1, "a", set())),
        (b'{"text": "a", "labels": [], "other": "\xff"}', (1, "a", set())),
        (b'{"text": "a", "labels": [], "id": 1234567890123456789012}', None),
    ],
)
def test_good_lines(write, line, row):
    row = row or (1234567890123456789012, "a", set())
    assert read_rows(write("a.jsonl", line)) == [row]
    # The same next to a bad record, where the batch is read line by line.
    bad = BadRecords("skip")
    again = read_rows(write("b.jsonl", line + b"\nrubbish\n"), on_error=bad)
    assert again == [row]
    assert bad.skipped == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"rubbish", "broken JSON: invalid character (byte 0)"),
        (b"{", "broken JSON: Input data was truncated"),
        (GOOD + b"}", "broken JSON: trailing characters"),
        (GOOD + b" " + GOOD, "broken JSON: trailing characters"),
        (b"[" + GOOD + b"]", "it is not an object"),
        (b'"text"', "it is not an object"),
        (b"null", "it is not an object"),
        (b"{}", "field 'text' is missing (the record is empty)"),
        (b'{"labels": [], "body": "a"}', "field 'text' is missing (there is 'labels', 'body')"),
        (b'{"text": "a"}', "field 'labels' is missing (there is 'text')"),
        (b'{"text": null, "labels": []}', "field 'text' holds null, not text"),
        (b'{"text": 1, "labels": []}', "field 'text' holds a number, not text"),
        (b'{"text": "a", "labels": 1}', "field 'labels' holds a number, not labels"),
        (
            b'{"text": "a", "labels": ["b", 1]}',
            "label must be non-empty text, without lone surrogates. Got 1",
        ),
        (b'{"text": "a", "labels": [""]}', "field 'labels': a label must be non-empty text"),
        (
            b'{"text": "a", "labels": {"b": "yes"}}',
            "field 'labels': label 'b' must be true or false",
        ),
        (b'{"text": "a", "labels": [], "id": 1.5}', "field 'id' holds a number; an id is text"),
        (b'{"text": "a\xff", "labels": []}', "invalid UTF-8 at byte 12"),
        (b'{"text": "\xed\xa0\x80", "labels": []}', "invalid UTF-8 at byte 11"),
        (b'{"text": "\\ud800", "labels": []}', "broken JSON: unexpected end of escaped utf-16"),
        (b'{"text": "\\udc00", "labels": []}', "broken JSON: invalid utf-16 surrogate pair"),
        (b'{"text": "a\0b", "labels": []}', "broken JSON: invalid character"),
        (b'{"text": NaN, "labels": []}', "broken JSON: invalid character"),
        (b'{"text": ' + b"[" * 100_000, "it is nested too deeply"),
        (b'{"text": "a", "labels": [], "id": ' + b"9" * 5000 + b"}", "Integer value out of range"),
        (b"{'text': 'a', 'labels': []}", "broken JSON"),
        (b"\xef\xbb\xbf" + GOOD, "broken JSON"),
    ],
)
def test_bad_lines(write, line, problem):
    path = write("a.jsonl", b"\n".join([GOOD, b"", line, GOOD]))
    with pytest.raises(RecordError) as caught:
        read_rows(path)
    assert problem in caught.value.problem
    assert str(caught.value).startswith(f"{path}, record 3: {caught.value.problem}; ")
    assert caught.value.raw == line
    bad = BadRecords("skip")
    assert [row[0] for row in read_rows(path, on_error=bad)] == [1, 3]
    assert bad.skipped == 1


@pytest.mark.parametrize("content", [b"[\n" + GOOD + b"\n]", b'{\n  "text": "a"\n}\n'])
def test_json_that_is_not_lines_is_reported_with_a_remedy(write, content):
    with pytest.raises(RecordError, match=r"record 1: .*write one whole object a line"):
        read_rows(write("a.json", content))


def test_blank_lines_are_no_records_and_keep_the_count_of_lines(write):
    content = b"\n \r\n" + GOOD + b"\n\n\t\n" + GOOD + b"\n\n" + b"bad\n\n"
    bad = BadRecords("skip")
    assert [own for own, *_ in read_rows(write("a.jsonl", content), on_error=bad)] == [1, 2]
    assert bad.first is not None
    assert bad.first.position == 8


def test_a_record_without_id_has_its_number_also_after_skipped_ones(write):
    content = b"\n".join([GOOD, b"bad", GOOD, b'{"text": "a", "labels": [], "id": "x"}', GOOD])
    for size in (1, 2, 3, 10):
        rows = read_rows(write("a.jsonl", content), batch_size=size, on_error=BadRecords("skip"))
        assert [own for own, *_ in rows] == [1, 3, "x", 5]


def test_nested_fields(write):
    fields = Fields(text="payload.body", labels="payload.meta.tags", id="payload.key")
    lines = [
        b'{"payload": {"body": "a", "meta": {"tags": ["x"]}, "key": 9}}',
        b'{"payload": {"body": "b", "meta": {"tags": null}}}',
        b'{"payload.body": "c", "payload": {"body": "no", "meta": {"tags": []}}}',
        b'{"payload.body": "d", "payload.meta.tags": ["y"], "payload.key": 8, "payload": 3}',
    ]
    wanted = [(9, "a", {"x"}), (2, "b", None), (3, "c", set()), (8, "d", {"y"})]
    assert read_rows(write("a.jsonl", b"\n".join(lines)), fields) == wanted
    with pytest.raises(RecordError, match=r"field 'payload\.body' is missing"):
        read_rows(write("b.jsonl", b'{"payload": "text"}'), fields)


@pytest.mark.parametrize("name", ['a"b', "a\\b", "naïve", "a b", "a\tb", "..", "a."])
def test_fields_of_any_name_can_be_read(write, name):
    line = msgspec.json.encode({name: "oil", "labels": ["energy"]})
    assert read_rows(write("a.jsonl", line), Fields(text=name)) == [(1, "oil", {"energy"})]


def test_without_labels_the_field_is_not_looked_at(write):
    path = write("a.jsonl", b'{"text": "a"}\n{"text": "b", "labels": 3}')
    assert read_rows(path, labelled=False) == [(1, "a", None), (2, "b", None)]


def test_without_an_id_field_records_are_numbered(write):
    path = write("a.jsonl", b'{"text": "a", "labels": [], "id": 1.5}\n' + GOOD)
    assert [own for own, *_ in read_rows(path, Fields(id=None))] == [1, 2]


def test_a_line_past_the_limit_is_a_bad_record_and_the_next_is_read(write):
    endless = b'{"text": "' + b"x" * 200_000 + b'", "labels": []}'
    path = write("a.jsonl", b"\n".join([GOOD, endless, GOOD]))
    with pytest.raises(RecordError, match="record 2: it is longer than 1,000 bytes") as caught:
        read_rows(path, longest=1000)
    assert caught.value.raw is not None
    assert endless.startswith(caught.value.raw)
    bad = BadRecords("skip")
    rows = read_rows(path, longest=1000, on_error=bad)
    assert [own for own, *_ in rows] == [1, 3]
    assert len(read_rows(path)) == 3


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.text("ab|", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "labels", "id", "a", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
objects = st.dictionaries(
    st.sampled_from(["text", "labels", "id", "p", "p.text", "other"]), values, max_size=5
)


@given(
    objects,
    st.booleans(),
    st.booleans(),
    st.sampled_from([Fields(), Fields(text="p.text", id="p.id")]),
)
def test_the_fast_way_and_the_careful_way_agree(record, labelled, required, fields):
    line = msgspec.json.encode(record)
    reading = Reading(fields, labelled, required)
    decoder = RecordDecoder(reading)
    try:
        wanted: Record | None = reading.judge(record)
    except FaultError:
        wanted = None
        with pytest.raises(FaultError):
            decoder.decode(line)
    if wanted is not None:
        assert decoder.decode(line) == wanted
    try:
        batch = decoder.batch([line], [1])
    except msgspec.ValidationError:
        return  # left to the careful way
    assert wanted is not None
    wanted_labels = set(wanted.labels) if isinstance(wanted.labels, list) else wanted.labels
    assert batch.ids == [1 if wanted.id is None else wanted.id]
    assert batch.texts.to_pylist() == [wanted.text]
    assert plain_labels(batch.labels) == [wanted_labels]


rubbish = st.lists(
    st.binary(max_size=20)
    | st.sampled_from(
        [GOOD, b"\n", b"{}", b'{"text":', b'"labels":[', b"\\ud800", b"[[[", b"1e999"]
    )
).map(b"".join)


@given(rubbish, st.integers(1, 5), st.integers(1, 60))
def test_rubbish_is_counted_and_never_crashes(tmp_path_factory, content, batch_size, longest):
    path = tmp_path_factory.mktemp("rubbish") / "a.jsonl"
    path.write_bytes(content)
    bad = BadRecords("skip")
    try:
        good = len(read_rows(path, batch_size=batch_size, longest=longest, on_error=bad))
    except StreamError:
        return
    lines = [line for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    assert good + bad.skipped == len(lines)
