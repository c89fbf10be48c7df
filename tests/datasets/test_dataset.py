import datetime
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher.datasets import DATASETS, Document, load, open_dataset
from clasher.datasets.document import day
from clasher.datasets.parquet import SCHEMA, DocumentWriter
from clasher.errors import MissingDatasetError, RecordError, SettingError, StreamError
from clasher.io import BadRecords
from clasher.labels import UNLABELLED
from tests.datasets.originals import DATA, day_zip, newsitem, sgml_files, story, write
from tests.io.streams import plain_labels

ROWS = [
    {"id": "a", "date": "1996-08-20", "text": "wheat", "labels": ["grain"]},
    {"id": "b", "date": "1996-08-21", "text": "oil", "labels": None},
    {"id": "c", "date": "1996-08-21", "text": "gas", "labels": []},
    {"id": "d", "date": "1996-08-22", "text": "corn", "labels": ["grain", "corn"]},
]


@pytest.fixture
def table(tmp_path):
    """A Parquet file of some rows."""

    def put(rows=ROWS, schema=SCHEMA, name="news.parquet"):
        path = tmp_path / name
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
        return path

    return put


# ── every dataset ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_dataset_says_what_it_is_and_where_it_is_from(dataset):
    for text in (dataset.title, dataset.about, dataset.labels, dataset.licence, dataset.source):
        assert text
        assert "\n" not in text
    assert dataset.files
    assert all(split.about for split in dataset.splits.values())
    assert "days" in dataset.splits
    assert DATASETS[dataset.name] is dataset


@pytest.mark.parametrize("name", DATASETS)
def test_a_missing_dataset_is_reported_at_once_in_one_line(tmp_path, name):
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(MissingDatasetError) as caught:
            load(name, folder)
        message = str(caught.value)
        assert message.startswith(f"{name}: ")
        assert str(folder) in message
        assert DATASETS[name].source in message
        assert "\n" not in message


@pytest.mark.parametrize("name", DATASETS)
def test_rubbish_of_the_right_name_is_reported(tmp_path, name):
    rubbish = {
        "arxiv": "arxiv-metadata-oai-snapshot.json.gz",
        "nyt": "1987/01.tgz",
        "parquet": "news.parquet",
        "rcv1": "19960820.zip",
        "reuters21578": "reuters21578.tar.gz",
    }[name]
    write(tmp_path, {rubbish: b"rubbish " * 1000})
    with pytest.raises(StreamError) as caught:
        list(load(name, tmp_path))
    assert rubbish in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_reported():
    with pytest.raises(SettingError, match="unknown dataset 'rcv2', did you mean 'rcv1'"):
        load("rcv2", ".")
    with pytest.raises(SettingError, match="'xyz', choose from arxiv, nyt, parquet, rcv1"):
        load("xyz", ".")


def test_an_unknown_split_or_part_is_reported(table):
    path = table()
    with pytest.raises(SettingError, match="parquet has no split 'apte'; choose from: days"):
        load("parquet", path, "apte")
    for split, part in [(None, "train"), ("days", "middle")]:
        with pytest.raises(SettingError, match="'train' or 'test', with a split"):
            load("parquet", path, split, part)


# ── documents ────────────────────────────────────────────────────────────────────────────────────


def test_documents_are_those_with_labels_unless_all_are_wanted(table):
    documents = load("parquet", table())
    assert [d.id for d in documents] == ["a", "d"]
    assert (documents.delivered, documents.left_out) == (2, 2)
    assert [d.labels for d in load("parquet", table(), unlabelled=True)] == [
        ["grain"], None, [], ["grain", "corn"],
    ]  # fmt: skip


def test_an_empty_stream_is_reported(table):
    with pytest.raises(StreamError, match="has no documents"):
        list(load("parquet", table([])))
    with pytest.raises(StreamError, match=r"none of the 2 documents in .* has labels"):
        list(load("parquet", table(ROWS[1:3])))
    with pytest.raises(StreamError, match="has labels in this part of 'days'"):
        list(load("parquet", table(), "days", "test"))
    rows = [{"id": None, "date": None, "text": None, "labels": None}] * 3
    with pytest.raises(StreamError, match=r"all 3 records in .* are bad; the first"):
        list(load("parquet", table(rows), on_error=BadRecords("skip")))


def test_documents_can_be_left_in_the_middle(table):
    documents = load("parquet", table(ROWS * 1000))
    assert next(documents) == Document("a", "1996-08-20", "wheat", ["grain"])
    documents.close()
    assert list(documents) == []


@pytest.mark.parametrize(
    ("parts", "expected"), [(("1987", "FEB", "26"), datetime.date(1987, 2, 26)),
                          (("2007", "04", "2"), datetime.date(2007, 4, 2)),
                          (("2007", "Apr", "31"), None), (("2007", "", "3"), None),
                          (("0", "1", "1"), None)],
)  # fmt: skip
def test_days(parts, expected):
    assert day(*parts) == (expected and expected.isoformat())


# ── batches ──────────────────────────────────────────────────────────────────────────────────────


def test_batches_are_those_of_other_streams(table):
    batches = list(open_dataset("parquet", table(ROWS * 3), batch_size=4))
    assert [batch.ids for batch in batches] == [["a", "d", "a", "d"], ["a", "d"]]
    assert plain_labels(batches[0].labels)[:2] == [{"grain"}, {"grain", "corn"}]
    assert batches[1].texts.to_pylist() == ["wheat", "corn"]


def test_batches_without_labels_have_all_documents(table):
    (batch,) = open_dataset("parquet", table(), labelled=False)
    assert batch.ids == ["a", "b", "c", "d"]
    assert (batch.labels.known == UNLABELLED).all()


def test_the_limit_holds_to_the_document(table):
    for limit in (1, 2, 3, 5):
        batches = open_dataset("parquet", table(ROWS * 3), batch_size=2, limit=limit)
        assert sum(map(len, batches)) == limit


def test_a_batch_of_long_texts_is_closed_early(table, monkeypatch):
    monkeypatch.setattr("clasher.datasets.BATCH_BYTES", 8)
    batches = list(open_dataset("parquet", table()))
    assert [batch.ids for batch in batches] == [["a", "d"]]
    assert [b.ids for b in open_dataset("parquet", table(ROWS * 2))] == [["a", "d"], ["a", "d"]]


# ── Parquet ──────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_with_one_file_will_do(table):
    assert len(list(load("parquet", table().parent))) == 2


def test_of_several_files_one_has_to_be_named(table):
    table(name="other.parquet")
    with pytest.raises(StreamError, match=r"more than one .*news\.parquet, other\.parquet"):
        list(load("parquet", table().parent))


@pytest.mark.parametrize("column", SCHEMA.names)
def test_a_missing_column_is_named(table, column):
    schema = pa.schema([field for field in SCHEMA if field.name != column])
    rows = [{k: v for k, v in row.items() if k != column} for row in ROWS]
    with pytest.raises(StreamError, match=f"has no column '{column}'"):
        list(load("parquet", table(rows, schema)))


def test_a_bad_row_has_its_place(table):
    rows = [*ROWS, {"id": "e", "date": None, "text": None, "labels": ["grain"]}, ROWS[0]]
    with pytest.raises(RecordError, match=r"news\.parquet, record 5: .*`\$\.text`"):
        list(load("parquet", table(rows)))
    with BadRecords("skip") as bad:
        assert len(list(load("parquet", table(rows), on_error=bad))) == 3
    assert bad.skipped == 1


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"date": "yesterday"}, "its date is 'yesterday', not a day"),
        ({"date": ""}, "its date is ''"),
        ({"labels": ["grain", ""]}, "one of its labels is empty"),
    ],
)
def test_odd_values_are_reported(table, row, problem):
    with pytest.raises(RecordError, match=f"record 2: {problem}"):
        list(load("parquet", table([ROWS[0], ROWS[0] | row]), "days"))


def test_undated_rows_cannot_be_split_by_days(table):
    rows = [dict(row, date=None) for row in ROWS]
    with pytest.raises(SettingError, match=r"'days' needs dates.*no dates to split it by"):
        list(load("parquet", table(rows), "days"))


@pytest.mark.parametrize(
    ("name", "documents", "labels"),
    [("reuters21578", 11_367, 120), ("debtags", 30_300, 598), ("goemotions", 54_263, 28)],
)
def test_the_real_corpora_are_read_whole(name, documents, labels):
    path = DATA / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    found = list(load("parquet", path))
    assert len(found) == documents
    assert len({label for d in found for label in d.labels}) == labels
    if name == "reuters21578":
        parts = [len(list(load("parquet", path, "days", part))) for part in ("train", "test")]
        assert sum(parts) == documents
        assert [d.date for d in found] == sorted(d.date for d in found)


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    """A corpus of many files is read with one of them in memory."""
    stories = {n: newsitem(n, paragraphs=["wheat " * 500]) for n in range(100)}
    content = day_zip(stories)
    for number in range(1, 11):
        (tmp_path / f"199609{number:02}.zip").write_bytes(content)
    peaks = []
    for _ in range(3):  # other threads of this process may allocate meanwhile
        tracemalloc.start()
        try:
            assert sum(1 for _ in load("rcv1", tmp_path)) == 1000
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert min(peaks) < 1_000_000  # of 3 MB


def test_reuters_agrees_with_the_parquet_file_that_is_written_of_it(tmp_path):
    folder = write(tmp_path / "sgml", sgml_files(story(n, body=f"wheat {n}") for n in range(50)))
    found = list(load("reuters21578", folder))
    with DocumentWriter(tmp_path / "reuters.parquet") as writer:
        writer.write(found)
        writer.finish()
    again = list(load("parquet", tmp_path / "reuters.parquet"))
    assert [(d.id, d.date, d.text, d.labels) for d in again] == [
        (d.id, d.date, d.text, d.labels) for d in found
    ]
