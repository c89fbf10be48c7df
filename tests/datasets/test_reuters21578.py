import calendar
import re

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.datasets import load
from clasher.datasets.reuters21578 import FILES, parse, unescape
from clasher.errors import MissingDatasetError, RecordError, StreamError
from clasher.io import BadRecords
from clasher.io.records import FaultError
from tests.datasets.originals import DATA, sgml, sgml_files, story, tar, write, zipped


def parsed(**parts):
    return parse(story(1, **parts).removeprefix("<REUTERS").encode("latin-1"))


def stories_of(folder, *arguments, **options):
    return list(load("reuters21578", folder, *arguments, **options))


@pytest.fixture
def corpus(tmp_path):
    """Writes a corpus of some stories."""
    return lambda *stories: write(tmp_path, sgml_files(stories))


# ── one story ────────────────────────────────────────────────────────────────────────────────────


def test_a_story_has_title_and_body_without_place_author_and_signature():
    found = parsed(title="WHEAT <W>  RISES", body="Wheat rose\nas AT&T message.\n    Corn fell.")
    assert found.text == "WHEAT <W> RISES\nWheat rose as AT&T message. Corn fell."
    assert (found.id, found.date) == ("1", "1987-02-26T15:01:01")
    assert parsed(topics=["grain", "corn", "grain"]).labels == ["grain", "corn"]


@pytest.mark.parametrize(
    "signature", [" Reuter\n&#3;", " REUTER\n&#3;", " REUTER...\n&#3;", "&#3;"]
)
def test_the_signature_is_no_text(signature):
    text = f"<TEXT><TITLE>A</TITLE><BODY>He reported Reuters.\n{signature}</BODY></TEXT>"
    assert parsed(text=text).text == "A\nHe reported Reuters."


def test_a_brief_story_is_its_title():
    brief = (
        '<TEXT TYPE="BRIEF">&#2;\n******<TITLE>FED SETS\nREPURCHASES\n</TITLE>Blah blah blah.\n'
        "&#3;\n\n</TEXT>"
    )
    assert parsed(text=brief).text == "FED SETS REPURCHASES"


def test_an_unprocessed_story_is_all_its_text():
    odd = (
        '<TEXT TYPE="UNPROC">&#2;\nOPEC OUTPUT &lt;O>\n\n    LONDON, June 1 - Output  rose.\n'
        " REUTER\n&#3;</TEXT>"
    )
    assert parsed(text=odd).text == "OPEC OUTPUT <O> LONDON, June 1 - Output rose."


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("26-FEB-1987 15:01:01.79", "1987-02-26T15:01:01"),
        (" 2-MAR-1987 04:59:42.65", "1987-03-02T04:59:42"),
        ("3-MAR-1987  10:16:24.19", "1987-03-03T10:16:24"),
        ("27-MAR-1987 13:49:54.59E RM", "1987-03-27T13:49:54"),
        ("27-MAR-1987 14:01:21.93&#5;&#5;&#5;V RM", "1987-03-27T14:01:21"),
        ("9-APR-1987 00:00:00.00    # date added by S Finch as guesswork", "1987-04-09T00:00:00"),
        ("31-MAR-1987 605:12:19.12", "1987-03-31T05:12:19"),
    ],
)
def test_dates_with_their_known_noise(written, read):
    assert parsed(date=written).date == read


@pytest.mark.parametrize(
    "date", ["", "yesterday", "26-FEV-1987 15:01:01.79", "31-FEB-1987 15:01:01"]
)
def test_an_invalid_date_is_reported(date):
    with pytest.raises(FaultError, match=r"its date is|no <DATE>"):
        parsed(date=date)


@pytest.mark.parametrize("part", ["TOPICS", "DATE", "TEXT"])
def test_a_missing_part_is_reported(part):
    cut = re.sub(f"<{part}>.*?</{part}>", "", story(1), flags=re.S)
    with pytest.raises(FaultError, match=f"it has no <{part}>"):
        parse(cut.removeprefix("<REUTERS").encode("latin-1"))


def test_a_story_without_number_is_reported():
    with pytest.raises(FaultError, match="no NEWID"):
        parse(story(1).replace("NEWID", "OTHER").removeprefix("<REUTERS").encode())


def test_only_what_was_never_indexed_is_unlabelled():
    assert parsed(topics=(), indexed="BYPASS").labels is None
    assert parsed(topics=(), indexed="YES").labels == []
    assert parsed(topics=("oil",), indexed="NO").labels == ["oil"]


@given(st.text(st.characters(codec="latin-1", exclude_categories=["Cc"])))
def test_escaped_text_is_read_as_it_was(text):
    assert unescape(sgml(text)) == text


@given(st.text())
def test_any_text_can_be_unescaped(text):
    assert isinstance(unescape(text), str)


def test_control_characters_are_left_out():
    assert unescape("a&#3;b&#127;c&#;d&#99999999;e&#65;&nonsense;&#10;") == "abcdeA&nonsense;\n"


# ── the files ────────────────────────────────────────────────────────────────────────────────────


def test_stories_of_all_files_come_in_time_order(corpus):
    dates = [
        f"{day}-{month}-1987 10:00:00.00" for month in ("APR", "MAR") for day in range(30, 0, -1)
    ]
    folder = corpus(*(story(number, date) for number, date in enumerate(dates, 1)))
    found = stories_of(folder)
    assert len(found) == 60
    assert [d.date for d in found] == sorted(d.date for d in found)
    assert found[0].id == "60"


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_the_archive_is_read_as_it_is_handed_out(tmp_path, mode):
    files = sgml_files(story(n) for n in range(30)) | {"README.txt": b"read me", "lewis.dtd": b""}
    end = {"w": "tar", "w:gz": "tar.gz", "w:xz": "tar.xz"}[mode]
    (tmp_path / f"reuters21578.{end}").write_bytes(tar(files, mode))
    assert len(stories_of(tmp_path)) == 30


def test_an_archive_within_a_zip_is_read(tmp_path):
    inner = tar(sgml_files(story(n) for n in range(30)))
    name = "reuters+21578+text+categorization+collection.zip"
    (tmp_path / name).write_bytes(zipped({"reuters21578.tar.gz": inner, "README.txt": b""}))
    assert len(stories_of(tmp_path)) == 30
    assert len(stories_of(tmp_path / name)) == 30


def test_a_folder_of_its_name_will_do(tmp_path):
    write(tmp_path / "reuters21578", sgml_files([story(1)]))
    assert len(stories_of(tmp_path)) == 1


def test_odd_bytes_are_latin_1(tmp_path):
    files = sgml_files([story(1, body="Gr\xfcn \x80")])
    assert "Grün" in stories_of(write(tmp_path, files))[0].text


@pytest.mark.parametrize("folder", ["", "missing"])
def test_a_wrong_folder_is_reported_with_the_files_to_get(tmp_path, folder):
    with pytest.raises(MissingDatasetError, match="UCI Machine Learning Repository") as caught:
        stories_of(tmp_path / folder)
    assert "reuters21578.tar.gz" in str(caught.value)
    assert str(tmp_path / folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_are_named(corpus):
    folder = corpus(story(1))
    (folder / "reut2-007.sgm").unlink()
    (folder / "reut2-021.sgm").unlink()
    with pytest.raises(MissingDatasetError, match=r"lacks reut2-007\.sgm, reut2-021\.sgm"):
        stories_of(folder)


def test_a_half_downloaded_file_is_reported(corpus):
    folder = corpus(*(story(n) for n in range(44)))
    path = folder / "reut2-004.sgm"
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(StreamError, match=r"reut2-004\.sgm ends in the middle of a story"):
        stories_of(folder, on_error=BadRecords("skip"))


def test_a_half_downloaded_archive_is_reported(tmp_path):
    content = tar(sgml_files(story(n, body=f"wheat {n} " * 300) for n in range(440)))
    path = tmp_path / "reuters21578.tar.gz"
    for length in (0, 10, len(content) // 2, len(content) - 20):
        path.write_bytes(content[:length])
        with pytest.raises(StreamError, match=r"reuters21578\.tar\.gz.*get it again"):
            stories_of(tmp_path)


def test_a_damaged_file_in_a_sound_archive_is_reported(tmp_path):
    content = bytearray(zipped(sgml_files(story(n) for n in range(22))))
    content[content.find(b"reut2-005.sgm") + 40] ^= 0xFF
    (tmp_path / "reuters21578.zip").write_bytes(content)
    with pytest.raises(StreamError, match=r"reut2-005\.sgm: it is damaged .*get it again"):
        stories_of(tmp_path, on_error=BadRecords("skip"))


def test_an_error_page_in_the_place_of_a_file_is_reported(corpus):
    folder = corpus(story(1))
    (folder / "reut2-003.sgm").write_bytes(b"<html>404 Not Found</html>")
    with pytest.raises(StreamError, match=r"reut2-003\.sgm holds no story.*404"):
        stories_of(folder)


def test_a_bad_story_has_its_place_and_can_be_skipped(corpus, tmp_path):
    folder = corpus(
        *(story(n, "nonsense" if n == 30 else "1-MAR-1987 10:00:00.00") for n in range(44))
    )
    with pytest.raises(RecordError, match=r"reut2-008\.sgm, record 2: its date is 'nonsense'"):
        stories_of(folder)
    with BadRecords(tmp_path / "bad.jsonl") as bad:
        assert len(stories_of(folder, on_error=bad)) == 43
    assert bad.skipped == 1
    assert b'NEWID=\\"30\\"' in (tmp_path / "bad.jsonl").read_bytes()


def test_a_story_that_is_not_closed_does_not_swallow_the_next(corpus):
    stories = [story(n) for n in range(66)]
    stories[22] = stories[22].replace("</REUTERS>", "")
    with BadRecords("skip") as bad:
        found = stories_of(corpus(*stories), on_error=bad)
    assert {d.id for d in found} == {str(n) for n in range(66)} - {"22"}
    assert "not closed" in str(bad.first)


# ── splits ───────────────────────────────────────────────────────────────────────────────────────

ATTRIBUTES = [
    (indexed, lewis, cgi)
    for indexed in ("YES", "NO", "BYPASS")
    for lewis in ("TRAIN", "TEST", "NOT-USED")
    for cgi in ("TRAINING-SET", "PUBLISHED-TESTSET")
]


def definition(split, part, indexed, lewis, cgi):
    """The tables of the README, section VIII."""
    side = {"train": "TRAIN", "test": "TEST"}[part]
    return {
        "lewis": lewis == side and indexed in ("YES", "NO"),
        "apte": lewis == side and indexed == "YES",
        "hayes": cgi == {"train": "TRAINING-SET", "test": "PUBLISHED-TESTSET"}[part],
    }[split]


@pytest.mark.parametrize("split", ["lewis", "apte", "hayes"])
@pytest.mark.parametrize("topics", [(), ("grain",)])
def test_the_splits_are_those_of_the_readme(tmp_path, split, topics):
    stories = [
        story(n, topics=topics, indexed=indexed, lewis=lewis, cgi=cgi)
        for n, (indexed, lewis, cgi) in enumerate(ATTRIBUTES)
    ]
    files = sgml_files([*stories, *(story(1000 + n, lewis="X", cgi="X") for n in range(4))])
    folder = write(tmp_path, files)
    both = set()
    for part in ("train", "test"):
        found = {d.id for d in stories_of(folder, split, part)}
        expected = {
            str(n) for n, values in enumerate(ATTRIBUTES) if definition(split, part, *values)
        }
        assert found == expected
        both |= found
    assert {d.id for d in stories_of(folder, split)} == both


def test_without_a_split_there_are_the_stories_with_topics(corpus):
    folder = corpus(story(1), story(2, topics=()), story(3, topics=(), indexed="BYPASS"))
    documents = load("reuters21578", folder)
    assert [d.id for d in documents] == ["1"]
    assert documents.left_out == 2 + 19  # the other files hold a story without topics each
    assert len(stories_of(folder, unlabelled=True)) == 22


# ── the real corpus ──────────────────────────────────────────────────────────────────────────────


def test_the_real_stories_are_read_as_they_were_prepared(tmp_path):
    path = DATA / "reuters21578.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    rows = [r for r in pq.read_table(path).to_pylist() if "\n" in r["text"]][:3000]
    months = calendar.month_abbr
    stories = []
    for row in rows:
        day, time = row["date"].split("T")
        year, month, number = day.split("-")
        title, body = row["text"].split("\n")
        date = f"{int(number):2}-{months[int(month)].upper()}-{year} {time}.00"
        stories.append(story(int(row["id"]), date, row["labels"], title, body))
    found = stories_of(write(tmp_path, sgml_files(stories)))
    signed = re.compile(r"\n?\s*reuter\W*$", re.I)
    assert [(d.id, d.date, d.labels) for d in found] == [
        (r["id"], r["date"], r["labels"]) for r in rows
    ]
    assert [d.text for d in found if not signed.search(d.text)] == [
        r["text"] for r in rows if not signed.search(r["text"])
    ]


def test_there_are_22_files():
    assert (FILES[0], FILES[-1], len(FILES)) == ("reut2-000.sgm", "reut2-021.sgm", 22)
