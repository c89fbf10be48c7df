import errno
import os
import subprocess
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import StreamError
from clasher.io.writers import LineWriter, PredictionWriter, sorted_lists
from clasher.labels import LabelSets
from clasher.text.label_names import normal_name

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(normal_name).filter(bool)
labels = st.none() | st.sets(names) | st.dictionaries(names, st.booleans())
IDS = st.integers() | st.text(st.characters(exclude_categories=["Cs"]))


class Encoded(PredictionWriter):
    def write_bytes(self, lines):
        self.lines = lines


def encode_predictions(*columns):
    with Encoded(os.devnull) as writer:
        writer.write(*columns)
    return writer.lines


def decoded(lines):
    return [msgspec.json.decode(line) for line in lines.split(b"\n")[:-1]]


@given(st.lists(st.tuples(IDS, labels)))
def test_every_document_becomes_a_line_with_its_labels_in_order(documents):
    ids = [own for own, _ in documents]
    found = decoded(encode_predictions(ids, LabelSets.of([value for _, value in documents])))
    assert [line["id"] for line in found] == ids
    for (_, value), line in zip(documents, found, strict=True):
        yes = [k for k, v in value.items() if v] if isinstance(value, dict) else value or ()
        assert line == {"id": line["id"], "labels": sorted(yes)}


def test_names_that_no_document_has_do_no_harm():
    every = LabelSets.of([["z"], ["b", "a"], ["c"]])
    assert sorted_lists(every[1:]) == [["a", "b"], ["c"]]
    assert sorted_lists(every[:0]) == []


def test_probabilities_are_rounded_and_named():
    scores = np.array([[0.1, 1e-9], [1.0, 2 / 3]], np.float32)
    lines = encode_predictions([1, 2], LabelSets.of([["b"], []]), scores, ["b", "a"])
    assert lines == (
        b'{"id":1,"labels":["b"],"probabilities":{"b":0.1,"a":0.0}}\n'
        b'{"id":2,"labels":[],"probabilities":{"b":1.0,"a":0.666667}}\n'
    )


@pytest.mark.parametrize(
    ("ids", "scores", "columns"),
    [([1], None, []), ([1, 2], np.zeros((2, 2)), ["a"]), ([1, 2], np.zeros((1, 1)), ["a"])],
)
def test_columns_of_different_lengths_are_never_cut_short(ids, scores, columns):
    with pytest.raises(ValueError, match="zip"):
        encode_predictions(ids, LabelSets.of([["a"], ["b"]]), scores, columns)


def test_batches_are_appended_and_flushed(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("what was there before")
    with PredictionWriter(path) as writer:
        writer.write([1], LabelSets.of([["a"]]))
        assert decoded(path.read_bytes()) == [{"id": 1, "labels": ["a"]}]
        writer.write([2], LabelSets.of([[]]))
    assert [line["id"] for line in decoded(path.read_bytes())] == [1, 2]


def test_standard_output_gets_bytes_and_stays_open(capfdbinary):
    with PredictionWriter("-") as writer:
        writer.write(["ü"], LabelSets.of([["é"]]))
    print("still open", flush=True)
    assert capfdbinary.readouterr().out == '{"id":"ü","labels":["é"]}\nstill open\n'.encode()


def test_a_file_that_cannot_be_opened_is_one_clear_line(tmp_path):
    with pytest.raises(StreamError, match="cannot be written: Is a directory"):
        PredictionWriter(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_one_clear_line():
    with (
        pytest.raises(StreamError, match="/dev/full cannot be written: No space left"),
        PredictionWriter("/dev/full") as writer,
    ):
        writer.write([1], LabelSets.of([["a"]]))


@pytest.mark.parametrize(
    ("error", "raised"), [(errno.EPIPE, BrokenPipeError), (errno.ENOSPC, StreamError)]
)
def test_only_a_broken_pipe_is_left_to_the_caller(monkeypatch, error, raised):
    class Broken:
        def write(self, text):
            raise OSError(error, os.strerror(error))

    monkeypatch.setattr("sys.stdout", Broken())
    with pytest.raises(raised):
        PredictionWriter("-").write([1], LabelSets.of([["a"]]))


def test_a_reader_that_went_away_is_a_broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    file = LineWriter(f"/dev/fd/{writer}")
    os.close(writer)
    with pytest.raises(BrokenPipeError):
        file.write_bytes(b"line\n")
    file.close()


def test_a_reader_of_standard_output_that_went_away_is_a_broken_pipe():
    program = (
        "import sys\n"
        "from clasher.io import PredictionWriter\n"
        "from clasher.labels import LabelSets\n"
        "sys.stdin.read()\n"
        "try:\n"
        "    PredictionWriter('-').write([1], LabelSets.of([['a']]))\n"
        "except BrokenPipeError:\n"
        "    sys.stderr.write('the reader went away')\n"
        "    sys.stderr.flush()\n"
        "    import os; os._exit(0)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin
    assert child.stdout
    assert child.stderr
    with child:
        child.stdout.close()
        child.stdin.close()
        assert child.stderr.read() == b"the reader went away"
