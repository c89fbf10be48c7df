import calendar
import lzma

import pyarrow.parquet as pq
import pytest

from clasher.datasets import load
from clasher.datasets.arxiv import ALIASES, parse
from clasher.errors import MissingDatasetError, RecordError, StreamError
from clasher.io import BadRecords
from clasher.io.records import FaultError
from tests.datasets.originals import DATA, gz, paper, zipped

NAME = "arxiv-metadata-oai-snapshot.json"
SNAPSHOT = b"".join(
    [
        paper("0704.0002", "Sat, 31 Mar 2007 02:26:18 GMT", "math.CO cs.CG"),
        paper("0704.0001", "Mon, 2 Apr 2007 19:18:42 GMT"),
        paper("acc-phys/9411001", "Tue, 1 Nov 1994 05:00:00 GMT", "acc-phys physics.acc-ph"),
        paper("0704.0003", "Sat, 31 Mar 2007 02:26:18 GMT", "math.IT cs.IT"),
    ]
)
ORDER = ["acc-phys/9411001", "0704.0002", "0704.0003", "0704.0001"]


def arxiv(folder, *arguments, **options):
    return list(load("arxiv", folder, *arguments, **options))


def test_a_paper_is_its_title_and_abstract():
    found = parse(paper("0704.0001"))
    assert found.text == (
        "Calculation of prompt diphoton production cross sections\n"
        "A fully differential calculation is presented."
    )
    assert (found.id, found.date) == ("0704.0001", "2007-04-02T19:18:42")


@pytest.mark.parametrize(("alias", "canonical"), ALIASES.items())
def test_aliases_are_merged_to_the_canonical_name(alias, canonical):
    assert parse(paper("1", categories=f"{alias} {canonical} quant-ph")).labels == [
        canonical, "quant-ph",
    ]  # fmt: skip
    assert parse(paper("1", categories=alias)).labels == [canonical]


def test_there_are_six_aliases_as_arxiv_lists_them():
    assert len(ALIASES) == 6
    assert not ALIASES.keys() & set(ALIASES.values())


WRAPPINGS = {
    NAME: SNAPSHOT,
    f"{NAME}.gz": gz(SNAPSHOT),
    f"{NAME}.xz": lzma.compress(SNAPSHOT),
    f"{NAME}.zip": zipped({NAME: SNAPSHOT}),
    "archive.zip": zipped({NAME: SNAPSHOT}),
    "arxiv-metadata-oai-snapshot-2020-08-14.json": SNAPSHOT,
}


@pytest.mark.parametrize("name", WRAPPINGS)
def test_papers_come_in_the_order_of_their_first_versions(tmp_path, name):
    (tmp_path / name).write_bytes(WRAPPINGS[name])
    assert [d.id for d in arxiv(tmp_path)] == ORDER
    assert [d.id for d in arxiv(tmp_path / name)] == ORDER


def test_days_split_the_papers(tmp_path):
    (tmp_path / NAME).write_bytes(SNAPSHOT)
    assert [d.id for d in arxiv(tmp_path, "days", "train")] == ["0704.0001"]


BAD = {
    "broken JSON": (paper("1")[:-20] + b"\n", "JSON is malformed|truncated"),
    "not an object": (b"[1]\n", "Expected `object`"),
    "no categories": (paper("1", categories=" "), "field 'categories' is empty"),
    "no abstract": (paper("1", abstract=None), r"Expected `str`, got `null` - at `\$.abstract`"),
    "no versions": (paper("1", versions=[]), "it has no version"),
    "versions without dates": (paper("1", versions=["v1"]), r"at `\$.versions\[0\]`"),
    "no such day": (paper("1", "Mon, 31 Feb 2007 19:18:42 GMT"), "first version has date 'Mon, 31"),
    "no date": (paper("1", "yesterday"), "its first version has date 'yesterday'"),
    "odd encoding": (paper("1").replace(b"Calculation", b"Calcul\xe9"), "invalid UTF-8 at byte"),
    "too long": (paper("1", abstract="x" * (17 << 20)), "longer than 16,777,216 bytes"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_has_its_place_and_can_be_skipped(tmp_path, bad):
    line, problem = BAD[bad]
    (tmp_path / NAME).write_bytes(SNAPSHOT + b"\n" + line + paper("2"))
    with pytest.raises(RecordError, match=problem) as caught:
        arxiv(tmp_path)
    assert f"{NAME}, record 6: " in str(caught.value)
    assert "\n" not in str(caught.value)
    with BadRecords("skip") as policy:
        assert len(arxiv(tmp_path, on_error=policy)) == 5
    assert policy.skipped == 1


def test_deep_nesting_is_a_bad_line():
    with pytest.raises(FaultError):
        parse(b'{"id":' + b"[" * 100_000)


@pytest.mark.parametrize("name", [f"{NAME}.gz", f"{NAME}.xz", "archive.zip"])
def test_a_half_downloaded_snapshot_is_reported(tmp_path, name):
    content = WRAPPINGS[name]
    for length in (0, 30, len(content) // 2, len(content) - 5):
        (tmp_path / name).write_bytes(content[:length])
        with pytest.raises(StreamError, match=name):
            arxiv(tmp_path, on_error=BadRecords("skip"))


def test_a_plain_snapshot_that_was_cut_off_is_reported(tmp_path):
    (tmp_path / NAME).write_bytes(SNAPSHOT[:-100])
    with pytest.raises(RecordError, match=r"record 4: .*truncated"):
        arxiv(tmp_path)


def test_a_zip_of_something_else_is_reported(tmp_path):
    (tmp_path / "archive.zip").write_bytes(zipped({"other.json": b"{}"}))
    with pytest.raises(StreamError, match=r"archive\.zip holds 0 files arxiv-metadata"):
        arxiv(tmp_path)


def test_of_several_snapshots_one_has_to_be_named(tmp_path):
    for name in (NAME, "arxiv-metadata-oai-snapshot-2020-08-14.json"):
        (tmp_path / name).write_bytes(SNAPSHOT)
    with pytest.raises(StreamError, match="more than one snapshot"):
        arxiv(tmp_path)
    assert len(arxiv(tmp_path / NAME)) == 4


def test_a_wrong_folder_is_reported_with_the_files_to_get(tmp_path):
    with pytest.raises(MissingDatasetError, match=r"oai-snapshot\.json.*Cornell University"):
        arxiv(tmp_path)


def test_the_real_papers_are_read_as_they_were_prepared(tmp_path):
    path = DATA / "arxiv.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    rows = next(pq.ParquetFile(path).iter_batches(2000)).to_pylist()
    lines = []
    for row in rows:
        title, abstract = row["text"].split("\n")
        year, month, day = row["date"].split("-")
        created = f"Mon, {int(day)} {calendar.month_abbr[int(month)]} {year} 00:00:00 GMT"
        lines.append(paper(row["id"], created, " ".join(row["labels"]), title, abstract))
    (tmp_path / NAME).write_bytes(b"".join(lines))
    found = arxiv(tmp_path)
    assert [(d.id, d.date[:10]) for d in found] == [(r["id"], r["date"]) for r in rows]
    assert [d.text.split() for d in found] == [r["text"].split() for r in rows]
    assert {label for d in found for label in d.labels} == {
        ALIASES.get(label, label) for r in rows for label in r["labels"]
    }
