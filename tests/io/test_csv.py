import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import RecordError, StreamError
from clasher.io import BadRecords, Fields
from tests.io.streams import read_rows

HEADER = "id,text,labels\n"


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ("1,oil,energy", ("1", "oil", {"energy"})),
        (",oil,energy", (1, "oil", {"energy"})),
        ("1,oil,", ("1", "oil", None)),
        ("1,oil,|", ("1", "oil", set())),
        ("1,oil, a | b c |", ("1", "oil", {"a", "b c"})),
        ("1,,a", ("1", "", {"a"})),
        ('1,"say ""oil"", now",a', ("1", 'say "oil", now', {"a"})),
        ('1,"two\nlines",a', ("1", "two\nlines", {"a"})),
        ('1,"two\r\nlines",a\r', ("1", "two\r\nlines", {"a"})),
        ('1,a "quote" inside,a', ("1", 'a "quote" inside', {"a"})),
        ("1,nul\0,a", ("1", "nul\0", {"a"})),
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_good_rows(write, row, wanted, end):
    assert read_rows(write("a.csv", HEADER + row + end)) == [wanted]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b"1,oil", "the row has 2 cells where the header has 3"),
        (b"1,oil,a,b", "the row has 4 cells where the header has 3"),
        (b'1,"oil" prices,a', "broken quoting: ',' expected after '\"'"),
        (b"1,o\xffl,a", "invalid UTF-8 at byte 4"),
        (b'1,"never closed,a', "broken quoting"),
        (b"1,old\rmac,a", "broken quoting: new-line character seen in unquoted field"),
    ],
)
def test_bad_rows(write, row, problem):
    good = b'0,"two\nlines",a\n'
    path = write("a.csv", HEADER.encode() + good + row + b"\n" + good)
    with pytest.raises(RecordError) as caught:
        read_rows(path)
    assert problem in caught.value.problem
    assert caught.value.position == 4
    assert caught.value.raw == row
    assert "--on-error skip" in caught.value.remedy
    bad = BadRecords("skip")
    rows = read_rows(path, on_error=bad)
    assert rows == [("0", "two\nlines", {"a"})] * 2
    assert bad.skipped == 1


def test_a_stray_quote_costs_one_row_only(write):
    rows = [f"{number},text {number},a\n" for number in range(50)]
    rows[10] = '10,"text 10,a\n'
    bad = BadRecords("skip")
    path = write("a.csv", HEADER + "".join(rows))
    for batch_size in (1, 7, 1000):
        found = read_rows(path, on_error=bad, batch_size=batch_size)
        assert [own for own, *_ in found] == [str(n) for n in range(50) if n != 10]
    assert bad.skipped == 3
    assert bad.first is not None
    assert bad.first.position == 12


def test_invalid_utf8_in_a_row_of_many_lines_costs_that_row(write):
    content = HEADER.encode() + b'1,"a\nb\xff\nc",x\n2,oil,y\n'
    bad = BadRecords("skip")
    assert read_rows(write("a.csv", content), on_error=bad) == [("2", "oil", {"y"})]
    assert bad.first is not None
    assert bad.first.raw == b'1,"a\nb\xff\nc",x'


def test_a_quote_left_open_is_given_up_at_the_limit(write):
    rows = "".join(f"{number},text {number},a\n" for number in range(2000))
    path = write("a.csv", HEADER + '0,"open,a\n' + rows)
    bad = BadRecords("skip")
    found = read_rows(path, on_error=bad, longest=5000)
    assert len(found) == 2000
    assert bad.first is not None
    assert bad.first.problem == "it is longer than 5,000 bytes"
    assert bad.first.position == 2


def test_a_line_past_the_limit_is_a_bad_record(write):
    path = write("a.csv", HEADER + "1,oil,a\n2," + "x" * 5000 + ",a\n3,oil,a\n")
    bad = BadRecords("skip")
    assert [own for own, *_ in read_rows(path, on_error=bad, longest=1000)] == ["1", "3"]
    assert bad.first is not None
    assert bad.first.position == 3


def test_cells_may_be_larger_than_the_csv_module_admits_by_default(write):
    csv.field_size_limit(1000)
    text = "x" * 2000
    assert read_rows(write("a.csv", f"{HEADER}1,{text},a\n"))[0][1] == text


def test_tabs_and_other_columns_and_a_byte_order_mark(write):
    content = "\ufeffbody\tx\ttopics\noil, gold\t\ta;b\n".encode()
    fields = Fields(text="body", labels="topics", separator=";")
    assert read_rows(write("a.tsv", content), fields) == [(1, "oil, gold", {"a", "b"})]


def test_a_column_name_may_have_dots(write):
    path = write("a.csv", "payload.body,labels\noil,a\n")
    assert read_rows(path, Fields(text="payload.body")) == [(1, "oil", {"a"})]


def test_without_labels_the_column_need_not_be_there(write):
    assert read_rows(write("a.csv", "text\noil\n"), labelled=False) == [(1, "oil", None)]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("body,labels", r"has no column 'text', its columns are 'body', 'labels'; .*--text FIELD"),
        ("text,tags", r"has no column 'labels', its columns are .*; .*--labels FIELD"),
        ("text,labels,text", r"has 2 columns 'text'; rename them"),
        ("text,labels,id,id", r"has 2 columns 'id'; rename them"),
        ('text,"labels', r"has no readable header: broken quoting"),
    ],
)
def test_a_bad_header_is_reported(write, header, problem):
    with pytest.raises(StreamError, match=problem):
        read_rows(write("a.csv", f"{header}\n1,2,3\n"), on_error=BadRecords("skip"))


def test_a_header_that_is_not_utf8_is_reported(write):
    with pytest.raises(StreamError, match="no readable header: invalid UTF-8"):
        read_rows(write("a.csv", b"\x89PNG\r\n\x1a\n\0\0"))


rubbish = st.lists(
    st.sampled_from([b'"', b",", b"\n", b"\r", b"a", b"|", b"\xff", b"\0", b"1,oil,x\n", b'""'])
).map(b"".join)


@given(rubbish, st.integers(1, 4), st.integers(5, 60))
def test_rubbish_is_counted_and_never_crashes(tmp_path_factory, content, batch_size, longest):
    path = tmp_path_factory.mktemp("rubbish") / "a.csv"
    path.write_bytes(b"id,text,labels\n" + content)
    bad = BadRecords("skip")
    try:
        rows = read_rows(path, batch_size=batch_size, longest=longest, on_error=bad)
    except StreamError:
        return
    lines = sum(bool(line) for line in content.split(b"\n"))
    assert 1 <= len(rows) + bad.skipped <= lines
    once = read_rows(path, batch_size=1000, longest=longest, on_error=BadRecords("skip"))
    assert rows == once
