"""Labels written as one text mean the same in every form, however a stream is cut."""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher.errors import RecordError, SettingError, StreamError
from clasher.io import BadRecords, Fields, LabelFormWarning, open_stream, source_at
from clasher.io.label_cells import Detection, read_list
from clasher.io.protocol import Caller

DRAWN = random.Random(7)
NAMES = ["oil", "gas", "crude oil", "gold", "grain", "wheat", "Smith & Co"]
LABELS = [DRAWN.sample(NAMES, DRAWN.choice([1, 1, 1, 2, 3])) for _ in range(1500)]
FORMS = {
    "|": "|".join,
    ";": ";".join,
    "; ": "; ".join,
    ",": ",".join,
    ", ": ", ".join,
    "JSON": json.dumps,
    "Python": repr,
    "tuple": lambda names: repr(tuple(names)),
    "set": lambda names: repr(set(names)),
    "NumPy": lambda names: f"[{' '.join(map(repr, names))}]",
    "Postgres": lambda names: f"{{{','.join(n if n.isalpha() else json.dumps(n) for n in names)}}}",
    "bare list": lambda names: f"[{', '.join(names)}]",
}


def written(path, cells):
    """Write label texts with a text each, in the format of the path."""
    rows = [{"text": f"text {at}", "labels": cell} for at, cell in enumerate(cells)]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".arrow":
        table = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(
            text, ["text", "labels"], dialect="excel" if path.suffix == ".csv" else "excel-tab"
        )
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue())
    return path


def read(path, fields=None, **how):
    notes = []
    batches = open_stream(path, fields, on_labels=notes.append, **how)
    return [labels for batch in batches for labels in batch.labels], notes


def read_known(path, fields):
    """Return whether the labels of each record are known, and the notes."""
    notes = []
    batches = open_stream(path, fields, on_labels=notes.append, batch_size=7)
    return [bool(known) for batch in batches for known in batch.labels.known], notes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_every_form_in_every_format(tmp_path, form, end):
    path = written(tmp_path / f"news.{end}", map(FORMS[form], LABELS))
    found, notes = read(path)
    assert found == [set(labels) for labels in LABELS]
    [understood] = notes
    assert understood.warning() is None
    separator = None if form[0].isalpha() else form.strip()
    assert understood.separator == separator
    assert (f"separated by '{separator}'" if separator else "as lists") in str(understood)


@pytest.mark.parametrize("form", [";", ", "])
def test_how_a_stream_is_cut_makes_no_difference(tmp_path, form):
    path = written(tmp_path / "news.csv", map(FORMS[form], LABELS))
    whole = read(path)
    for size in (1, 7, 999, 5000):
        assert read(path, batch_size=size) == whole


def test_single_labels_stay_single(tmp_path):
    found, notes = read(written(tmp_path / "a.csv", ["oil", "crude oil", "R&amp;D", "1,000 m"]))
    assert found == [{"oil"}, {"crude oil"}, {"R&amp;D"}, {"1,000 m"}]
    assert notes[0].warning() is None


@pytest.mark.parametrize(
    "cells",
    [
        ["oil", "gold"] * 499 + ["Washington, D.C."],
        ["Washington, D.C."] + ["oil", "Washington"] * 499,
        ["Smith, John", "Smith, Jane", "Doe, John", "Doe, Jane"] * 10,
        ["oil"] * 999 + ["a;b"],
    ],
)
def test_a_doubt_is_a_warning_and_no_split(tmp_path, cells):
    path = written(tmp_path / "a.csv", cells)
    found, notes = read(path)
    assert found == [{cell} for cell in cells]
    assert "say Fields(separator=" in notes[0].warning()
    with pytest.warns(LabelFormWarning, match="taken for one label"):
        list(open_stream(path))
    assert read(path, Fields(separator="|")) == (found, [])


def test_blanks_that_may_separate_are_a_warning(tmp_path):
    path = written(tmp_path / "a.csv", ["oil", "oil gas", "gas", "gold oil", "gold"])
    found, notes = read(path)
    assert {"oil gas"} in found
    assert "blanks separate labels, say Fields(separator=' ')" in notes[0].warning()
    assert read(path, Fields(separator=" "))[0][1] == {"oil", "gas"}


@pytest.mark.parametrize(("white", "what"), [("\t", "tabs"), ("\n", "line ends")])
def test_a_doubt_names_the_white_space(tmp_path, white, what):
    cells = ["oil", f"oil{white}gas", "gas", f"gold{white}oil", "gold"]
    path = written(tmp_path / "a.jsonl", cells)
    [understood] = read(path)[1]
    assert f"{what} separate labels, say Fields(separator={white!r})" in understood.warning()
    assert f"say --label-separator {white!r}" in understood.warning(at_terminal=True)
    assert read(path, Fields(separator=white))[0][1] == {"oil", "gas"}


@pytest.mark.parametrize("cell", ['["oil",', "['oil', 'g", '{"oil": tr', "{'oil'"])
def test_a_list_that_was_cut_off_is_a_bad_record(tmp_path, cell):
    path = written(tmp_path / "a.csv", ['["oil"]', cell])
    with pytest.raises(RecordError, match="begins like a list of labels"):
        read(path)


@pytest.mark.parametrize("fields", [None, Fields(separator=";"), Fields(labels_json=True)])
@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
def test_labels_that_are_mostly_blank_are_a_warning(tmp_path, end, fields):
    cells = ['["oil"]' if fields and fields.labels_json else "oil"] * 20 + ["", " "] * 20
    path = written(tmp_path / f"a.{end}", cells)
    known, notes = read_known(path, fields)
    assert known == [True] * 20 + [False] * 40
    assert notes[-1].warning().startswith("40 of 60 records have blank labels")
    assert "say --blank-is-none" in notes[-1].warning(at_terminal=True)
    known, notes = read_known(path, replace(fields or Fields(), blank_is_none=True))
    assert known == [True] * 60
    assert all(note.warning() is None for note in notes)


def test_a_few_blank_labels_and_null_are_no_warning(tmp_path):
    for cells in (["oil", "gas", ""], ["oil", None, None, None]):
        _, [understood] = read(written(tmp_path / "a.jsonl", cells))
        assert understood.warning() is None


def test_another_separator_beside_the_one_found_is_a_warning(tmp_path):
    path = written(tmp_path / "a.csv", ["oil|gas"] + ["oil;gas", "Washington, D.C."] * 20)
    found, notes = read(path)
    assert found[:2] == [{"oil", "gas"}, {"oil;gas"}]
    assert [note.is_late for note in notes] == [False, True]
    assert "';' separates labels" in notes[1].warning()
    path = written(tmp_path / "b.csv", ["oil|gas"] + ["R&amp;D", "Washington, D.C."] * 20)
    assert len(read(path)[1]) == 1


def test_separators_that_come_late_are_a_warning(tmp_path):
    path = written(tmp_path / "a.csv", ["oil"] * 1000 + ["oil;gas"] * 30)
    found, notes = read(path)
    assert found[-1] == {"oil;gas"}
    assert [each.is_late for each in notes] == [False, True]
    assert "';' separates labels" in notes[1].warning()


def test_options_override_detection(tmp_path):
    path = written(tmp_path / "a.csv", ["a;b|c", "b;c", "a;c"])
    assert read(path)[0][0] == {"a", "b|c"}
    assert read(path, Fields(separator="|"))[0] == [{"a;b", "c"}, {"b;c"}, {"a;c"}]
    path = written(tmp_path / "b.csv", ['["a;b"]', '"c"', '{"d": true, "e": false}', "null", ""])
    [batch] = open_stream(path, Fields(labels_json=True))
    given = [batch.labels.as_given(at) for at in range(5)]
    assert given == [{"a;b"}, {"c"}, {"d": True, "e": False}, None, None]
    with pytest.raises(SettingError, match="--labels-json"):
        Fields(separator=";", labels_json=True)


@pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("fields", "cell", "problem"),
    [
        (Fields(labels_json=True), "oil", "is not a JSON list of labels"),
        (Fields(), '["oil", 3]', "Got 3"),
        (Fields(), '["oil", "\\u200b"]', "visible character"),
    ],
)
def test_a_text_that_holds_no_labels_is_a_bad_record(tmp_path, end, fields, cell, problem):
    path = written(tmp_path / f"a.{end}", ['["oil"]', cell, '["gas"]'])
    with pytest.raises(RecordError, match=problem) as notes:
        read(path, fields)
    assert notes.value.position == (3 if end == "csv" else 2)
    with BadRecords("skip") as bad:
        assert read(path, fields, on_error=bad)[0] == [{"oil"}, {"gas"}]


def test_blank_labels_in_lists_are_bad_records(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [["oil"], ["\u200b"], {"oil": True, "oil ": False}, ["oil "]]
    path.write_text("".join(json.dumps({"text": "a", "labels": row}) + "\n" for row in rows))
    with BadRecords("skip") as bad:
        assert read(path, on_error=bad)[0] == [{"oil"}, {"oil"}]
    assert bad.skipped == 2
    assert bad.first is not None
    assert bad.first.position == 2


def test_text_that_is_no_list_stays_text():
    for text in ("[draft] report", "(UK)", "{oil: gas}"):
        assert read_list(text) == text


def test_the_first_doubtful_text_is_held_back_until_it_is_clear():
    detection = Detection(lambda understood: None)
    detection.look(["oil"] * 5)
    assert not detection.holds_back
    detection.look(["oil;gas"])
    assert detection.holds_back
    detection.look(["oil;gas"] * 14)
    assert (detection.holds_back, detection.separator) == (False, ";")


class TestStreamsThatAreTakenUpAgain:
    """They never guess, so that every start and every part reads the same."""

    @staticmethod
    def arrivals(path, fields=None):
        source = source_at(str(path), fields)
        source.open(None, Caller("me"))
        try:
            return list(source.read(1000, 0).records.labels)
        finally:
            source.close()

    @pytest.mark.parametrize("end", ["csv", "jsonl"])
    def test_lists_and_bars_are_read(self, tmp_path, end):
        path = written(tmp_path / f"a.{end}", ['["a;b"]', "['c', 'd']", "e|f;g", "crude oil"])
        assert self.arrivals(path) == [{"a;b"}, {"c", "d"}, {"e", "f;g"}, {"crude oil"}]

    @pytest.mark.parametrize("end", ["csv", "jsonl", "parquet"])
    @pytest.mark.parametrize(("cell", "separator"), [("a;b", ";"), ("a,b", ","), ("a, b", ",")])
    def test_a_doubt_asks_for_the_option(self, tmp_path, end, cell, separator):
        path = written(tmp_path / f"a.{end}", ["oil", cell])
        with pytest.raises(StreamError, match=rf"a\.{end}.*say --label-separator '{separator}'"):
            self.arrivals(path)
        assert self.arrivals(path, Fields(separator=separator)) == [{"oil"}, {"a", "b"}]
        assert self.arrivals(path, Fields(separator="|")) == [{"oil"}, {cell}]

    def test_a_watched_folder_asks_too(self, tmp_path):
        (tmp_path / "in").mkdir()
        written(tmp_path / "in" / "a.csv", ["oil", "a;b"])
        with pytest.raises(StreamError, match="say --label-separator"):
            self.arrivals(f"file:{tmp_path / 'in'}?settle=0")
