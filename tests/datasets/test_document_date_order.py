import random
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.datasets import load
from clasher.datasets.document import PROGRESS_EVERY, Document, by_date
from clasher.errors import StreamError
from tests.datasets.originals import paper

documents = st.lists(
    st.builds(
        Document,
        id=st.text(max_size=5),
        date=st.none() | st.sampled_from(["1996-08-20", "1987-02-26T15:01:01", "1987-02-26"]),
        text=st.text(max_size=50),
        labels=st.none() | st.lists(st.text(max_size=3), max_size=3),
        marks=st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=2),
    ),
    max_size=40,
)


@given(documents, st.integers(1, 5000))
def test_sorting_in_parts_is_sorting(found, part_bytes):
    ordered = sorted(found, key=lambda d: d.date or "")
    assert list(by_date(found, part_bytes=part_bytes)) == ordered


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder that temporary files go to."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def many(count=2000):
    draw = random.Random(0)
    return [
        Document(str(n), f"1987-{draw.randint(1, 12):02}-01", f"wheat {n} " * 50, ["grain"])
        for n in range(count)
    ]


def test_parts_are_on_disk_and_go_with_the_last_document(scratch):
    stream = by_date(many(), part_bytes=100_000)
    next(stream)
    (folder,) = scratch.iterdir()
    assert len(list(folder.iterdir())) >= 10
    assert len(list(stream)) == 1999
    assert not list(scratch.iterdir())


def test_parts_go_when_nobody_wants_the_rest(scratch):
    stream = by_date(many(), part_bytes=100_000)
    next(stream)
    stream.close()
    assert not list(scratch.iterdir())


def test_parts_go_when_the_source_fails(scratch):
    def failing():
        yield from many()
        raise StreamError("cut off")

    with pytest.raises(StreamError, match="cut off"):
        list(by_date(failing(), part_bytes=100_000))
    assert not list(scratch.iterdir())


def test_a_small_corpus_stays_in_memory(scratch):
    scratch.rmdir()
    assert len(list(by_date(many()))) == 2000


def test_a_scratch_folder_that_cannot_be_written_is_reported(scratch):
    scratch.rmdir()
    with pytest.raises(StreamError, match=r"scratch.* cannot be written: No such file.*TMPDIR"):
        list(by_date(many(), part_bytes=100_000))


def test_progress_is_reported_while_sorting():
    reported = []
    list(by_date(many(), on_held=reported.append))
    assert reported == [PROGRESS_EVERY, 2 * PROGRESS_EVERY]


def test_a_snapshot_larger_than_memory_is_sorted_on_disk(tmp_path, scratch, monkeypatch):
    monkeypatch.setitem(by_date.__kwdefaults__, "part_bytes", 20_000)
    days = list(range(1, 29)) * 20
    random.Random(0).shuffle(days)
    lines = [paper(str(n), f"Mon, {day} Apr 2007 19:18:42 GMT") for n, day in enumerate(days)]
    (tmp_path / "arxiv-metadata-oai-snapshot.json").write_bytes(b"".join(lines))
    stream = load("arxiv", tmp_path)
    first = next(stream)
    assert list(scratch.iterdir())
    found = [first, *stream]
    assert not list(scratch.iterdir())
    assert [int(d.date[8:10]) for d in found] == sorted(days)
    assert sorted(int(d.id) for d in found) == list(range(len(days)))
