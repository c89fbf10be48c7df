import gzip
from functools import partial

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.datasets import load
from clasher.datasets.rcv1 import CODES, Judgements, closed, parse_story, read_hierarchy
from clasher.errors import MissingDatasetError, RecordError, SettingError, StreamError
from clasher.io import BadRecords
from tests.datasets.originals import HIERARCHY, day_zip, gz, newsitem, qrels, tar, tokens, write

TOKENS = {
    "train": {2286: "recov excit mexic", 2287: "stock\nmarket"},
    "test_pt0": {26151: "wheat", 26154: "corn"},
    "test_pt1": {26152: "oil"},
    "test_pt2": {400000: "gas"},
    "test_pt3": {810596: "gold"},
}
TOPICS = {n: ["E11", "ECAT"] for part in TOKENS.values() for n in part} | {2287: ["M11", "MCAT"]}


def rcv1(folder, *arguments, **options):
    return list(load("rcv1", folder, *arguments, **options))


def token_files(end=".gz", topics=TOPICS):
    pack = gz if end else bytes
    files = {f"lyrl2004_tokens_{part}.dat{end}": pack(tokens(t)) for part, t in TOKENS.items()}
    return files | {f"rcv1-v2.topics.qrels{end}": pack(qrels(topics))}


def days(**stories):
    """Zips of days, named ``d19960820``."""
    return {f"{day[1:]}.zip": day_zip(some) for day, some in stories.items()}


TWO_DAYS = days(
    d19960821={9: newsitem(9, "1996-08-21"), 10: newsitem(10, "1996-08-21", ["C1511"])},
    d19960820={2286: newsitem(2286), 300: newsitem(300), 2287: newsitem(2287, topics=())},
)


# ── token files ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", ["", ".gz"])
def test_token_files_give_all_documents_in_the_order_of_their_numbers(tmp_path, end):
    found = rcv1(write(tmp_path, token_files(end)))
    assert [int(d.id) for d in found] == [2286, 2287, 26151, 26152, 26154, 400000, 810596]
    assert found[0].text == "recov excit mexic"
    assert found[1].text == "stock\nmarket"
    assert found[1].labels == ["M11", "MCAT"]
    assert {d.date for d in found} == {None}


def test_the_lyrl2004_split_ends_at_26150(tmp_path):
    folder = write(tmp_path, token_files())
    assert [d.id for d in rcv1(folder, "lyrl2004", "train")] == ["2286", "2287"]
    assert len(rcv1(folder, "lyrl2004", "test")) == 5


def test_tokens_have_no_days_to_split_by(tmp_path):
    with pytest.raises(SettingError, match=r"'days' needs dates.*zips of days.*'lyrl2004'"):
        rcv1(write(tmp_path, token_files()), "days", "train")


@pytest.mark.parametrize(
    "name", ["lyrl2004_tokens_test_pt2.dat.gz", "lyrl2004_tokens_train.dat.gz",
             "rcv1-v2.topics.qrels.gz"],
)  # fmt: skip
def test_a_token_file_that_is_missing_is_named(tmp_path, name):
    (write(tmp_path, token_files()) / name).unlink()
    with pytest.raises(MissingDatasetError, match=rf"lacks {name};.*'RCV1-v2/LYRL2004'"):
        rcv1(tmp_path)


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("name", ["lyrl2004_tokens_test_pt0.dat", "rcv1-v2.topics.qrels"])
def test_a_half_downloaded_file_is_reported(tmp_path, name, end):
    path = write(tmp_path, token_files(end)) / f"{name}{end}"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(StreamError, match=rf"{name}{end}"):
        rcv1(tmp_path, on_error=BadRecords("skip"))


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "is empty"), (b"<html>404</html>\n", "record 1: it starts with b'<html>404</html>'")],
)
def test_a_token_file_without_documents_is_reported(tmp_path, content, problem):
    folder = write(tmp_path, token_files(""))
    (folder / "lyrl2004_tokens_test_pt3.dat").write_bytes(content)
    with pytest.raises(StreamError, match=rf"test_pt3\.dat.*{problem}"):
        rcv1(folder)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (b".I abc\n.W\nwheat\n\n", r"it starts with b'\.I abc', not with \.I and a number"),
        (b".I 7\nwheat\n\n", r"document 7 has no \.W"),
        (b".I 7\n.W\nwheat\n\n", r"document 7 has no topics in .*qrels"),
    ],
)
def test_a_bad_token_record_has_its_place(tmp_path, record, problem):
    folder = write(tmp_path, token_files(""))
    path = folder / "lyrl2004_tokens_train.dat"
    path.write_bytes(path.read_bytes() + record)
    with pytest.raises(RecordError, match=rf"tokens_train\.dat, record 3: {problem}"):
        rcv1(folder)
    with BadRecords("skip") as bad:
        assert len(rcv1(folder, on_error=bad)) == 7
    assert bad.skipped == 1


# ── topics ───────────────────────────────────────────────────────────────────────────────────────


def test_there_are_103_topics():
    assert len(CODES) == 103


@given(st.dictionaries(st.integers(1, 10**6), st.sets(st.sampled_from(sorted(CODES)), min_size=1)))
def test_judgements_are_found_whatever_their_order(tmp_path_factory, topics):
    lines = qrels({n: sorted(some) for n, some in topics.items()}).splitlines(keepends=True)
    path = tmp_path_factory.mktemp("qrels") / "rcv1-v2.topics.qrels"
    path.write_bytes(b"".join(sorted(lines)) + b"GOBIT 7777777 0\n")
    judgements = Judgements(path)
    assert {n: set(judgements.of(n)) for n in topics} == topics
    assert judgements.of(7777777) == judgements.of(0) == []


@pytest.mark.parametrize("content", [b"", b"E11\n", b"E11 x 1\n", b"E11 2286 1\nE11 2287\n"])
def test_invalid_judgements_are_reported(tmp_path, content):
    path = tmp_path / "rcv1-v2.topics.qrels"
    path.write_bytes(content)
    with pytest.raises(StreamError, match=r"qrels is damaged or incomplete"):
        Judgements(path)


def test_the_hierarchy_adds_what_lies_above(tmp_path):
    path = tmp_path / "rcv1.topics.hier.orig"
    path.write_bytes(HIERARCHY)
    parents = read_hierarchy(path)
    assert closed(["C1511", "E11"], parents) == ["C1511", "E11", "C151", "C15", "CCAT", "ECAT"]
    assert closed([], parents) == []


def test_an_invalid_hierarchy_is_reported(tmp_path):
    path = tmp_path / "rcv1.topics.hier.orig"
    path.write_bytes(HIERARCHY + b"<html>\n")
    with pytest.raises(StreamError, match="line 8 is not 'parent"):
        read_hierarchy(path)


# ── the stories themselves ───────────────────────────────────────────────────────────────────────


def test_a_story_is_its_headline_and_paragraphs():
    raw = newsitem(7, headline="Öl & Gas", paragraphs=["It  rose.\n", '"Now" it fell.'])
    found = parse_story("19960820.zip/7newsML.xml", raw, None, None)
    assert found.text == 'Öl & Gas\nIt rose.\n"Now" it fell.'
    assert (found.id, found.date, found.labels) == ("7", "1996-08-20", ["E11", "ECAT"])


def test_a_story_without_headline_has_its_title():
    raw = newsitem(7).replace(b"<headline>", b"<x>").replace(b"</headline>", b"</x>")
    assert parse_story("", raw, None, None).text.startswith("MEXICO: Recovery")


def test_days_come_in_order_and_their_stories_by_number(tmp_path):
    found = rcv1(write(tmp_path, TWO_DAYS))
    assert [(d.id, d.date) for d in found] == [
        ("300", "1996-08-20"), ("2286", "1996-08-20"), ("9", "1996-08-21"), ("10", "1996-08-21"),
    ]  # fmt: skip


def test_stories_without_topics_are_left_out_and_counted(tmp_path):
    documents = load("rcv1", write(tmp_path, TWO_DAYS))
    assert [d.id for d in documents] == ["300", "2286", "9", "10"]
    assert documents.left_out == 1
    found = {d.id: d.labels for d in rcv1(tmp_path, unlabelled=True)}
    assert found["2287"] is None


def test_odd_days_are_the_test_set(tmp_path):
    folder = write(tmp_path, TWO_DAYS)
    assert {d.date for d in rcv1(folder, "days", "test")} == {"1996-08-21"}
    assert {d.date for d in rcv1(folder, "days", "train")} == {"1996-08-20"}
    assert len(rcv1(folder, "days")) == 4


def test_judgements_beside_the_stories_make_rcv1_v2_of_them(tmp_path):
    judged = {300: ["GCAT"], 10: ["CCAT", "C15"], 2287: ["MCAT"]}
    folder = write(tmp_path, TWO_DAYS | {"rcv1-v2.topics.qrels.gz": gz(qrels(judged))})
    assert {int(d.id): d.labels for d in rcv1(folder)} == judged


def test_the_hierarchy_beside_the_stories_adds_topics(tmp_path):
    folder = write(tmp_path, TWO_DAYS | {"rcv1.topics.hier.orig.txt": HIERARCHY})
    found = {d.id: d.labels for d in rcv1(folder)}
    assert found["10"] == ["C1511", "C151", "C15", "CCAT"]


def test_stories_are_preferred_to_tokens(tmp_path):
    folder = write(tmp_path, TWO_DAYS | token_files())
    assert [d.id for d in rcv1(folder)] == ["2286", "2287"]


def test_zips_may_lie_on_their_discs_and_be_unpacked(tmp_path):
    write(tmp_path, {f"CD{n}/{name}": c for n, (name, c) in enumerate(TWO_DAYS.items())})
    write(tmp_path, {"CD1/codes.zip": b"PK", "19960822/11newsML.xml": newsitem(11, "1996-08-22")})
    assert [d.id for d in rcv1(tmp_path)] == ["300", "2286", "9", "10", "11"]


def test_topics_may_lie_beside_the_stories_or_in_their_appendix(tmp_path):
    judged = {300: ["GCAT"]}
    topics = gz(qrels(judged))
    write(tmp_path / "rcv1", {f"xml/{name}": content for name, content in TWO_DAYS.items()})
    for place in ("rcv1/rcv1-v2.topics.qrels.gz", "rcv1/a08-topic-qrels/rcv1-v2.topics.qrels.gz"):
        write(tmp_path, {place: topics})
        for folder in (tmp_path, tmp_path / "rcv1"):
            assert {int(d.id): d.labels for d in rcv1(folder)} == judged
        (tmp_path / place).unlink()
    write(tmp_path, {"rcv1/rcv1-v2.topics.qrels.gz": topics})
    assert {int(d.id): d.labels for d in rcv1(tmp_path / "rcv1" / "xml")} == judged


def test_token_files_may_lie_in_their_appendices(tmp_path):
    files = token_files()
    judged = "rcv1-v2.topics.qrels.gz"
    write(tmp_path, {f"a12-token-files/{name}": c for name, c in files.items() if name != judged})
    write(tmp_path, {f"a08-topic-qrels/{judged}": files[judged]})
    assert len(rcv1(tmp_path)) == 7


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_one_archive_of_all_days_is_sorted(tmp_path, mode):
    files = {f"rcv1/{name}": content for name, content in TWO_DAYS.items()}
    (tmp_path / "rcv1.tar").write_bytes(tar(files, mode))
    assert [d.id for d in rcv1(tmp_path)] == ["300", "2286", "9", "10"]


ODD = {
    "broken XML": (newsitem(8)[:300], "broken XML: no element found|broken XML: unclosed"),
    "nothing": (b"", "broken XML: no element found"),
    "something else": (b"<html/>", "it is not a <newsitem itemid"),
    "no number": (newsitem(8).replace(b"itemid", b"other"), "it is not a <newsitem itemid"),
    "no codes": (newsitem(8).replace(b"metadata", b"other"), "no <metadata>, so no codes"),
    "a code of nothing": (
        newsitem(8).replace(b'code="E11"', b""),
        "<code> without the attribute code",
    ),
    "unknown encoding": (newsitem(8).replace(b"iso-8859-1", b"klingon"), "encoding is unknown"),
    "wrong encoding": (
        newsitem(8, headline="Öl").replace(b"iso-8859-1", b"UTF-8"),
        "invalid UTF-8 at byte",
    ),
    "control characters": (newsitem(8, headline="\x03"), "broken XML: not well-formed"),
    "entities of its own": (
        b'<!DOCTYPE n [<!ENTITY a "aaaa">]><newsitem itemid="8">&a;</newsitem>',
        "it declares an entity, 'a'",
    ),
    "a giant": (newsitem(8, paragraphs=["x" * (17 << 20)]), "longer than 16,777,216 bytes"),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_member_has_its_place_and_can_be_skipped(tmp_path, odd):
    content, problem = ODD[odd]
    folder = write(tmp_path, days(d19960820={7: newsitem(7), 8: content, 9: newsitem(9)}))
    with pytest.raises(RecordError, match=problem) as caught:
        rcv1(folder)
    assert f"{folder}/19960820.zip/8newsML.xml, record 1: " in str(caught.value)
    assert "\n" not in str(caught.value)
    with BadRecords("skip") as bad:
        assert [d.id for d in rcv1(folder, on_error=bad)] == ["7", "9"]
    assert bad.skipped == 1


def test_a_damaged_member_of_a_sound_zip_is_a_bad_record(tmp_path):
    content = bytearray(day_zip({7: newsitem(7), 8: newsitem(8)}))
    content[content.find(b"8newsML.xml") + 60] ^= 0xFF
    (tmp_path / "19960820.zip").write_bytes(content)
    with BadRecords("skip") as bad:
        assert [d.id for d in rcv1(tmp_path, on_error=bad)] == ["7"]
    assert "8newsML.xml, record 1: it is damaged" in str(bad.first)


@pytest.mark.parametrize("length", [0, 100, -30])
def test_a_zip_that_was_cut_off_is_reported(tmp_path, length):
    content = day_zip({7: newsitem(7)})
    (tmp_path / "19960820.zip").write_bytes(content[:length])
    with pytest.raises(StreamError, match=r"19960820\.zip is damaged or incomplete.*get it"):
        rcv1(tmp_path, on_error=BadRecords("skip"))


def test_odd_encodings_are_read_as_they_say():
    for encoding in ("iso-8859-1", "utf-8", "windows-1252"):
        raw = newsitem(7, headline="Café Ölpreis", encoding=encoding)
        assert parse_story("", raw, None, None).text.startswith("Café Ölpreis")


def test_a_date_is_that_of_the_zip_or_of_the_story():
    parse = partial(parse_story, judgements=None, parents=None)
    assert parse("rcv1/19960821.zip/7newsML.xml", newsitem(7)).date == "1996-08-21"
    assert parse("rcv1/7newsML.xml", newsitem(7)).date == "1996-08-20"


@pytest.mark.parametrize("date", ["", "1996-02-31", "yesterday"])
def test_a_story_without_a_day_is_reported(tmp_path, date):
    (tmp_path / "rcv1.tar").write_bytes(tar({"7newsML.xml": newsitem(7, date)}))
    with pytest.raises(RecordError, match=r"it has no date|its date is"):
        rcv1(tmp_path)


def test_a_wrong_folder_is_reported_with_the_files_to_get(tmp_path):
    with pytest.raises(MissingDatasetError, match=r"19960820\.zip.*NIST.*trec\.nist\.gov"):
        rcv1(tmp_path)


def test_token_files_may_be_of_several_gzip_members(tmp_path):
    folder = write(tmp_path, token_files())
    name = "lyrl2004_tokens_train.dat.gz"
    parts = [gzip.compress(tokens({n: t})) for n, t in TOKENS["train"].items()]
    (folder / name).write_bytes(b"".join(parts))
    assert len(rcv1(folder)) == 7


def test_an_archive_is_closed_when_a_story_is_refused(tmp_path):
    folder = write(tmp_path, days(d19960820={7: b"<odd/>", 8: newsitem(8)}))
    with pytest.raises(RecordError) as caught:
        rcv1(folder)
    assert [file.path for file in psutil.Process().open_files() if "19960820" in file.path] == []
    assert caught.value  # whose frames have kept nothing open
