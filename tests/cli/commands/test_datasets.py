import importlib
import os
import signal
from dataclasses import replace

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher.cli.streams import BATCH, Stream
from clasher.cli.terminal import Bar
from clasher.datasets import DATASETS, Document
from clasher.datasets.document import PROGRESS_EVERY
from clasher.io import Fields
from tests.cli.command import SMALL, one_line, run, start
from tests.cli.test_terminal import Terminal
from tests.datasets.originals import day_zip, newsitem, paper, sgml_files, story, write

COMMAND = importlib.import_module("clasher.cli.commands.datasets").datasets_command


def lines(text):
    return [msgspec.json.decode(line) for line in text.splitlines()]


@pytest.fixture
def corpora(tmp_path):
    """A folder with a folder for each of two datasets."""
    stories = [story(n, topics=() if n == 3 else ("grain", f"t{n % 3}")) for n in range(44)]
    write(tmp_path / "reuters21578", sgml_files(stories))
    days = {
        f"199608{day}.zip": day_zip({day: newsitem(day, f"1996-08-{day}")}) for day in range(20, 24)
    }
    write(tmp_path / "rcv1", days)
    return tmp_path


# ── list and show ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("args", [(), ("list",)])
def test_all_datasets_are_listed(args):
    shown = run("datasets", *args).stdout
    for dataset in DATASETS.values():
        assert dataset.name in shown
    assert "1,855,658" in shown
    assert "not found" not in shown


def test_the_files_in_a_folder_are_listed(corpora):
    shown = run("datasets", "list", corpora).stdout
    table = shown.partition("arXiv Dataset")[0]
    rows = {line.split()[0]: line for line in table.splitlines() if line.split()}
    assert "22 files" in rows["reuters21578"]
    assert "4 files" in rows["rcv1"]
    assert "not found" in rows["nyt"]


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_is_described(name, tmp_path):
    shown = " ".join(run("datasets", "show", name).stdout.split())
    dataset = DATASETS[name]
    assert dataset.title in shown
    assert dataset.licence in shown
    for split in dataset.splits:
        assert f"split {split}" in shown
    assert "not found" in run("datasets", "show", name, tmp_path).stdout


def test_an_unknown_dataset_is_reported():
    assert "did you mean 'rcv1'?" in one_line(run("datasets", "show", "rcv", code=2))


@pytest.mark.parametrize("name", ["list", "show", "read"])
def test_help_fits_80_columns_and_its_examples_parse(name):
    text = run("datasets", name, "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    command = COMMAND.commands[name]
    for line in command.examples.strip().splitlines():
        part = line.split("|")[0].split()
        assert part[0] == "clasher"
        if part[1] == "datasets":
            COMMAND.commands[part[2]].make_context(part[2], part[3:])


# ── read ─────────────────────────────────────────────────────────────────────────────────────────


def test_documents_are_written_as_json_lines(corpora):
    result = run("datasets", "read", "rcv1", corpora)
    assert lines(result.stdout)[0] == {
        "id": "20",
        "date": "1996-08-20",
        "text": "Recovery excitement brings Mexican markets to life.\nEmerging evidence.",
        "labels": ["E11", "ECAT"],
    }
    assert result.stderr == "wrote 4 documents\n"


def test_documents_left_out_are_counted(corpora):
    result = run("datasets", "read", "reuters21578", corpora, "--to", corpora / "out.jsonl")
    assert result.stderr == (
        f"wrote 43 documents to {corpora / 'out.jsonl'}; left out 1 document without labels\n"
    )
    again = run("datasets", "read", "reuters21578", corpora, "--include-unlabelled", "--quiet")
    assert len(lines(again.stdout)) == 44
    assert again.stderr == ""


def test_a_part_of_a_split_is_written_as_parquet(corpora):
    out = corpora / "test.parquet"
    run("datasets", "read", "rcv1", corpora, "--split", "days", "--part", "test", "--to", out)
    assert pq.read_table(out).column("date").to_pylist() == ["1996-08-21", "1996-08-23"]


def test_the_limit_holds(corpora):
    assert len(lines(run("datasets", "read", "rcv1", corpora, "--limit", 3).stdout)) == 3


def test_documents_can_be_piped_into_evaluate(corpora):
    written = run("datasets", "read", "reuters21578", corpora, "--quiet").stdout
    assert "43" in run("evaluate", "-", *SMALL, stdin=written).stdout


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("rcv1", "nowhere"), "rcv1: nowhere does not exist; put 19960820.zip"),
        (("rcv1", "rcv1", "--split", "apte"), "has no split 'apte'; choose from: days, lyrl2004"),
        (("rcv1", "rcv1", "--part", "test"), "with a split"),
        (("rcv1", "rcv1", "--to", "out.csv"), "must be .jsonl or .parquet"),
        (("rcv1", "rcv1", "--to", "nowhere/out.jsonl"), "there is no directory"),
        (("rcv1", "rcv1", "--to", "rcv1"), "is a directory"),
        (("nyt", "rcv1"), "nyt: none of its files is in rcv1; put the folder data"),
    ],
)
def test_impossible_requests_end_in_one_line(corpora, monkeypatch, args, problem):
    monkeypatch.chdir(corpora)
    assert problem in one_line(run("datasets", "read", *args, code=2))


def test_the_corpus_is_not_overwritten(tmp_path):
    name = tmp_path / "arxiv-metadata-oai-snapshot.json"
    name.write_bytes(paper("1"))
    message = one_line(run("datasets", "read", "arxiv", tmp_path, "--to", name, code=2))
    assert "would overwrite a file of the stream" in message
    letters = ("--on-error", "dead-letter", name)
    message = one_line(run("datasets", "read", "arxiv", tmp_path, *letters, code=2))
    assert "would overwrite a file of the stream" in message
    assert name.read_bytes() == paper("1")


def test_bad_records_follow_the_policy(corpora):
    write(corpora / "rcv1", {"19960825.zip": day_zip({1: b"<broken", 2: newsitem(2)})})
    out = corpora / "out.jsonl"
    message = one_line(run("datasets", "read", "rcv1", corpora, "--to", out, code=2))
    assert "19960825.zip/1newsML.xml, record 1: broken XML" in message
    assert not out.exists()
    letters = corpora / "bad.jsonl"
    policy = ("--on-error", "dead-letter", letters)
    result = run("datasets", "read", "rcv1", corpora, "--to", out, *policy)
    assert f"skipped 1 bad record (see {letters})" in result.stderr
    assert lines(letters.read_text())[0]["raw"] == "<broken"
    assert len(lines(out.read_text())) == 5


def test_a_reader_that_goes_away_is_left_quietly(tmp_path):
    big = b"".join(paper(str(n), abstract="wheat " * 200) for n in range(5000))
    (tmp_path / "arxiv-metadata-oai-snapshot.json").write_bytes(big)
    child = start("datasets", "read", "arxiv", tmp_path, "--quiet")
    assert child.stdout.readline().startswith(b'{"id":"0"')
    child.stdout.close()
    assert child.wait() == 141
    assert child.stderr.read() == b""
    child.stderr.close()
    child.stdin.close()


# ── Ctrl-C and progress ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def interrupted(monkeypatch):
    """Makes a dataset during whose reading Ctrl-C is pressed."""

    def read(folder):
        for number in range(BATCH + 500):
            folder.reading.records += 1
            yield Document(str(number), None, "wheat", ["grain"])
        signal.raise_signal(signal.SIGINT)
        yield Document("too late", None, "wheat", ["grain"])

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    dataset = replace(DATASETS["parquet"], reader=read, finder=lambda path: [path])
    monkeypatch.setitem(DATASETS, "parquet", dataset)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("name", ["out.jsonl", "out.parquet"])
def test_ctrl_c_leaves_no_half_file(tmp_path, name):
    out = tmp_path / name
    result = run("datasets", "read", "parquet", tmp_path, "--to", out, code=130)
    assert result.stderr == (
        f"clasher: {out} was not written\nclasher: interrupted after 1,000 documents\n"
    )
    assert not os.listdir(tmp_path)


@pytest.mark.usefixtures("interrupted")
def test_ctrl_c_ends_a_pipe_at_a_whole_line(tmp_path):
    result = run("datasets", "read", "parquet", tmp_path, code=130)
    assert len(lines(result.stdout)) == BATCH
    assert result.stderr == "clasher: interrupted after 1,000 documents\n"


def test_progress_shows_sorting(monkeypatch):
    terminal = Terminal(monkeypatch)
    with Bar(None, shown=True) as bar:
        bar.show_sorting(1_203_000)
    assert "1,203,000 docs read, waiting to be sorted" in terminal.shown()


def test_sorting_is_shown_to_those_who_look(tmp_path, monkeypatch):
    reported = []
    monkeypatch.setattr(Bar, "show_sorting", lambda _, documents: reported.append(documents))
    big = b"".join(paper(str(n)) for n in range(PROGRESS_EVERY))
    (tmp_path / "arxiv-metadata-oai-snapshot.json").write_bytes(big)
    run("datasets", "read", "arxiv", tmp_path, "--to", tmp_path / "out.parquet")
    assert reported == [PROGRESS_EVERY]


# ── as a stream ──────────────────────────────────────────────────────────────────────────────────


def test_any_command_that_takes_a_stream_takes_a_dataset(corpora, tmp_path):
    model = tmp_path / "model.clasher"
    run("learn", corpora, "--format", "reuters21578", "--model", model, *SMALL)
    shown = run("predict", corpora, "--format", "reuters21578", "--model", model, "--quiet").stdout
    assert len(lines(shown)) == 44  # to predict, no labels are needed
    assert "43" in run("evaluate", corpora, "--format", "reuters21578", *SMALL).stdout
    assert "rcv1" in run("evaluate", corpora / "rcv1", "--format", "rcv1", *SMALL).stdout


def test_one_folder_at_a_time(corpora):
    message = one_line(run("evaluate", corpora, corpora, "--format", "rcv1", *SMALL, code=2))
    assert "--format rcv1 reads one folder" in message


def test_a_dataset_that_is_not_there_ends_a_command_in_one_line(tmp_path):
    message = one_line(run("evaluate", tmp_path, "--format", "nyt", *SMALL, code=2))
    assert "Linguistic Data Consortium" in message


def test_parquet_is_still_a_format_of_files(tmp_path):
    path = tmp_path / "table"
    rows = {"body": ["wheat", "oil"], "topics": [["grain"], ["energy"]]}
    pq.write_table(pa.table(rows), path)
    shown = run(
        "evaluate", path, "--format", "parquet", "--text", "body", "--labels", "topics", *SMALL
    ).stdout
    assert "table, margin rule" in shown


def test_progress_knows_how_long_a_dataset_is(monkeypatch, tmp_path):
    monkeypatch.setattr("clasher.cli.terminal.shows_progress", lambda: True)
    how = {"fields": Fields(), "files": {"format": "rcv1"}, "on_error": "stop"}
    for limit, total in ((None, 804_414), (10, 10)):
        stream = Stream(paths=(str(tmp_path),), limit=limit, **how)
        assert stream.bar().total == total
