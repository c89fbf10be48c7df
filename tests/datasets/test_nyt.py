import pytest

from clasher.datasets import load
from clasher.datasets.nyt import parse
from clasher.errors import MissingDatasetError, RecordError, StreamError
from clasher.io import BadRecords
from clasher.io.records import FaultError
from tests.datasets.originals import nitf, tar, write


def nyt(folder, *arguments, **options):
    return list(load("nyt", folder, *arguments, **options))


def article(number, day, month="01", **parts):
    return nitf(number, f"1987{month}{day}T000000", meta=("1987", month, day), **parts)


JANUARY = {
    "01/02/0000003.xml": article(3, "02"),
    "01/01/0000002.xml": article(2, "01"),
    "01/01/0000001.xml": article(1, "01"),
    "01/03/0000004.xml": article(4, "03", descriptors=()),
}
FEBRUARY = {"02/01/0000005.xml": article(5, "01", "02")}
ORDER = [("2", "1987-01-01"), ("1", "1987-01-01"), ("3", "1987-01-02"), ("5", "1987-02-01")]


def test_an_article_is_its_headline_and_full_text():
    raw = nitf(7, headline="Doctors & Nurses Meet", paragraphs=["They  met.", "Café."])
    found = parse("data/1987/01.tgz/01/01/0000007.xml", raw)
    assert found.text == "Doctors & Nurses Meet\nThey met.\nCafé."
    assert (found.id, found.date) == ("7", "1987-01-01")


def test_labels_are_the_general_online_descriptors_and_nothing_else():
    raw = nitf(7, descriptors=["Medicine and Health", "Doctors", " Doctors\n"])
    assert parse("", raw).labels == ["Medicine and Health", "Doctors"]
    assert parse("", nitf(7, descriptors=())).labels is None


def test_entities_of_the_dtd_are_known_though_it_is_never_fetched():
    raw = nitf(7, headline="Cafe").replace(b"<hl1>Cafe", b"<hl1>Caf&eacute; &mdash; Bar")
    assert parse("", raw).text.startswith("Café — Bar\n")


def test_without_a_full_text_there_is_the_lead():
    raw = nitf(7).replace(b'class="full_text"', b'class="online_lead"')
    assert parse("", raw).text == "Doctors Meet\nLEAD: Doctors met."


@pytest.mark.parametrize(
    ("date", "meta", "name", "read"),
    [
        ("19870105T000000", None, "", "1987-01-05"),
        ("1987-01-05", None, "", "1987-01-05"),
        (None, ("1987", "1", "5"), "", "1987-01-05"),
        ("nonsense", ("1987", "1", "5"), "", "1987-01-05"),
        (None, None, "data/1987/01.tgz/01/05/0000007.xml", "1987-01-05"),
        (None, None, "data/1987/01/05/0000007.xml", "1987-01-05"),
        ("19870105T000000", None, "data/1987/01.tgz/01/06/0000007.xml", "1987-01-05"),
        ("19990105T000000", None, "data/1987/01.tgz/01/06/0000007.xml", "1987-01-06"),
        ("19990105T000000", ("1987", "1", "7"), "1987/01/06/0000007.xml", "1987-01-07"),
    ],
)
def test_the_date_is_the_stated_one_if_it_fits_the_month(date, meta, name, read):
    assert parse(name, nitf(7, date, meta=meta)).date == read


@pytest.mark.parametrize("meta", [None, ("", "", ""), ("1987", "13", "1"), ("1987", "x", "1")])
def test_an_article_of_no_day_is_reported(meta):
    with pytest.raises(FaultError, match="it has no date"):
        parse("0000007.xml", nitf(7, None, meta=meta))


def test_an_article_without_its_number_has_that_of_its_file():
    raw = nitf(7).replace(b"<doc-id", b"<other")
    assert parse("01/01/0000007.xml", raw).id == "0000007"


@pytest.mark.parametrize("top", ["", "data/", "nyt_corpus/data/"])
def test_months_are_read_one_after_the_other_and_sorted_by_day(tmp_path, top):
    months = {"1987/02.tgz": tar(FEBRUARY), "1987/01.tgz": tar(JANUARY)}
    write(tmp_path, {top + name: content for name, content in months.items()})
    documents = load("nyt", tmp_path)
    assert [(d.id, d.date) for d in documents] == ORDER
    assert documents.left_out == 1


def test_months_may_be_unpacked(tmp_path):
    for name, content in {**JANUARY, **FEBRUARY}.items():
        write(tmp_path, {f"data/1987/{name}": content})
    assert {d.id for d in nyt(tmp_path)} == {"1", "2", "3", "5"}


def test_the_one_archive_of_all_is_read_too(tmp_path):
    months = {
        "nyt_corpus/data/1987/02.tgz": tar(FEBRUARY),
        "nyt_corpus/data/1987/01.tgz": tar(JANUARY),
        "nyt_corpus/docs/readme.xml.txt": b"read me",
    }
    (tmp_path / "nyt_corpus_LDC2008T19.tgz").write_bytes(tar(months))
    assert [(d.id, d.date) for d in nyt(tmp_path)] == ORDER


def test_odd_days_are_the_test_set(tmp_path):
    write(tmp_path, {"1987/01.tgz": tar(JANUARY)})
    assert {d.date for d in nyt(tmp_path, "days", "test")} == {"1987-01-01"}
    assert {d.date for d in nyt(tmp_path, "days", "train")} == {"1987-01-02"}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (nitf(7)[:-200], "broken XML"),
        (nitf(7, headline="Öl").decode().encode("latin-1"), "invalid UTF-8 at byte"),
        (b"<rss/>", "it is <rss>, not <nitf>"),
        (b"<nitf><head/></nitf>", "it has no <head> or no <body>"),
        (nitf(7).replace(b"Doctors Meet</hl1>", b"&nonsense;</hl1>"), "&nonsense; is unknown"),
    ],
)
def test_a_bad_article_has_its_place_and_can_be_skipped(tmp_path, content, problem):
    write(tmp_path, {"1987/01.tgz": tar({**JANUARY, "01/01/0000007.xml": content})})
    with pytest.raises(RecordError, match=problem) as caught:
        nyt(tmp_path)
    assert f"{tmp_path}/1987/01.tgz/01/01/0000007.xml, record 1: " in str(caught.value)
    with BadRecords("skip") as bad:
        assert len(nyt(tmp_path, on_error=bad)) == 3
    assert bad.skipped == 1


def test_a_month_that_was_cut_off_is_reported_even_when_bad_records_are_skipped(tmp_path):
    content = tar({f"01/01/{n:07}.xml": article(n, "01", headline=f"{n}") for n in range(200)})
    write(tmp_path, {"1987/01.tgz": content[: len(content) // 2]})
    with pytest.raises(StreamError, match=r"1987/01\.tgz is damaged or incomplete"):
        nyt(tmp_path, on_error=BadRecords("skip"))


def test_a_wrong_folder_is_reported_with_the_files_to_get(tmp_path):
    with pytest.raises(MissingDatasetError, match=r"1987/01\.tgz.*Linguistic Data Consortium"):
        nyt(tmp_path)
