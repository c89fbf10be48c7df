from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import runner, studies, tables
from benchmarks.__main__ import DOCUMENTS, main
from benchmarks.measure import version
from benchmarks.peers import SYSTEMS, vowpal_wabbit
from benchmarks.peers.base import Record, System, Task, one_run
from benchmarks.peers.clasher_rules import write_json_lines
from benchmarks.prepared import Prepared, prepare
from benchmarks.report import block, fill, stale, update
from benchmarks.runner import Job
from benchmarks.tests.runs import needs
from clasher.metrics import Metrics
from support import corpora
from support.corpora import Corpus, synthetic

BENCHMARKS = Path(__file__).parents[1]
TIMEOUT = 300.0


def stream(documents: int = 60) -> Corpus:
    return synthetic(documents, labels=5, vocabulary=200, words=12)


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(stream(), tmp_path_factory.mktemp("work"))


def write_parquet(corpus: Corpus, folder: Path, name: str) -> None:
    columns = {"id": [str(i) for i in range(len(corpus))], "text": corpus.texts}
    pq.write_table(pa.table({**columns, "labels": corpus.labels}), folder / f"{name}.parquet")


# ── streams ──────────────────────────────────────────────────────────────────────────────────


def test_synthetic_stream_comes_from_its_seed():
    assert stream().texts.equals(stream().texts)
    assert not stream().texts.equals(synthetic(60, 5, vocabulary=200, words=12, seed=1).texts)


def test_synthetic_stream_names_every_label_once_at_first():
    assert len(synthetic(40, 40).label_names) == 40


def test_a_stream_of_many_labels_comes_from_its_seed_and_names_them_all_along():
    one, other = (corpora.zipf(300, 200, words=5, vocabulary=100, seed=seed) for seed in (0, 1))
    assert one.texts.equals(corpora.zipf(300, 200, words=5, vocabulary=100).texts)
    assert not one.texts.equals(other.texts)
    assert len(one.label_names) == 200
    assert 100 < len(one.head(150).label_names) < 200


def test_a_stream_of_many_labels_is_that_of_its_pieces(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpora, "PIECE", 7)
    stream = corpora.zipf(40, 10, words=6, vocabulary=1000)
    sets = stream.labels.to_pylist()
    assert len(stream.texts) == len(sets) == 40
    assert {len(text.split(" ")) for text in stream.texts.to_pylist()} == {6}
    assert {len(own) for own in sets} == {1, 2, 3}
    assert all(len(set(own)) == len(own) for own in sets)
    first = sum("topic000000" in own for own in sets)
    assert first > sum("topic000009" in own for own in sets)


def test_documents_of_a_made_up_label_share_ten_rare_words():
    stream = corpora.zipf(400, 2, words=40)
    documents = list(zip(stream.texts.to_pylist(), stream.labels.to_pylist(), strict=True))
    shared = []
    for name in stream.label_names:
        texts = [set(text.split()) for text, labels in documents if labels == [name]]
        counts = Counter(word for words in texts for word in words if int(word[4:]) >= 100_000)
        shared.append({word for word, count in counts.items() if count > len(texts) / 2})
    assert [len(words) for words in shared] == [10, 10]
    assert shared[0].isdisjoint(shared[1])


def test_corpora_are_found_by_their_columns(tmp_path: Path):
    write_parquet(stream(), tmp_path, "news")
    pq.write_table(pa.table({"other": [1]}), tmp_path / "other.parquet")
    assert [path.name for path in corpora.find(tmp_path)] == ["news.parquet"]


def test_a_corpus_keeps_its_order_unless_it_is_shuffled_with_a_stated_seed(tmp_path: Path):
    write_parquet(stream(), tmp_path, "news")
    news = corpora.load(tmp_path / "news.parquet")
    shuffled = news.shuffled(seed=3)
    assert news.texts.equals(stream().texts)
    assert not shuffled.texts.equals(news.texts)
    assert sorted(shuffled.texts.to_pylist()) == sorted(news.texts.to_pylist())
    assert (news.order, shuffled.order) == ("as stored", "shuffled with seed 3")


def test_a_missing_corpus_is_named(tmp_path: Path):
    write_parquet(stream(), tmp_path, "news")
    with pytest.raises(SystemExit, match=r"no corpus blogs in .* it has: news"):
        studies.Plan(tmp_path, tmp_path, ("blogs",)).paths()


# ── prepared streams ─────────────────────────────────────────────────────────────────────────


def test_vowpal_wabbit_labels_ascend_and_words_are_escaped():
    line = vowpal_wabbit.line([10, 9, 2, 9], ["oil", "a:b", "c|d", "e f\n"])
    assert line == "2,9,10 | oil a_b c_d e_f_"


def test_vowpal_wabbit_file_has_numbers_of_sorted_names_and_lower_cased_words(tmp_path: Path):
    texts = pa.array(["Oil & GAS_prices: a", "Öl|", ""])
    labels = pa.array([["oil", "gas"], ["oil"], []], pa.list_(pa.string()))
    task = Task(Corpus("c", texts, labels, ""), tmp_path)
    path = task.file("c.vw", vowpal_wabbit.write)
    assert path.read_text(encoding="utf-8").split("\n") == [
        "0,1 | oil gas prices", "1 | öl", " | ", "",
    ]  # fmt: skip


def test_prepared_stream_reads_back(small: Prepared):
    corpus = small.corpus()
    assert corpus.texts.equals(stream().texts)
    assert corpus.labels.equals(stream().labels)
    assert len(small.corpus(limit=7)) == 7


def test_json_lines_hold_the_stream(tmp_path: Path):
    path = Task(stream(), tmp_path).file("stream.jsonl", write_json_lines)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["text"] for record in records] == stream().texts.to_pylist()
    assert [record["labels"] for record in records] == stream().labels.to_pylist()


def test_a_file_in_another_format_is_written_once(tmp_path: Path):
    task = Task(stream(), tmp_path)
    path = task.file("a.txt", lambda task, path: path.write_text("first"))
    assert task.file("a.txt", lambda task, path: pytest.fail("written again")) == path
    assert path.read_text() == "first"
    assert [found.name for found in tmp_path.iterdir()] == ["a.txt"]


def test_parallel_runs_on_one_stream_use_different_folders(tmp_path: Path):
    task = Task(stream(), tmp_path)
    with task.scratch() as mine, task.scratch() as theirs:
        assert mine != theirs
    assert not list(tmp_path.iterdir())


def test_vowpal_wabbit_predictions_are_read(tmp_path: Path):
    (tmp_path / "p").write_text("2,10 \n\n3\n")
    ids, indptr = vowpal_wabbit.read_predictions(tmp_path / "p")
    assert (ids.tolist(), indptr.tolist()) == ([2, 10, 3], [0, 2, 2, 3])


# ── tasks ────────────────────────────────────────────────────────────────────────────────────


def test_labels_of_documents_that_are_not_learnt_are_not_given():
    learn = np.arange(60) % 2 == 0
    task = Task(stream(), Path(), learn, test_from=50)
    given = task.given.to_pylist()
    assert [labels is not None for labels in given] == [d % 2 == 0 and d < 50 for d in range(60)]
    assert [labels for labels in given if labels] == stream().labels.to_pylist()[:50:2]
    assert list(task.documents()) == list(zip(stream().texts.to_pylist(), given, strict=True))


def test_all_labels_are_given_by_default():
    assert Task(stream(), Path()).given.equals(stream().labels)


@pytest.mark.parametrize("size", [1, 7, 60, 100])
def test_parts_end_at_points_and_where_the_test_begins(size: int):
    task = Task(stream(), Path(), test_from=33, points=(10, 45))
    with Record(task) as record:
        parts = list(record.parts(size, cuts=(5,)))
    assert [document for part in parts for document in range(part.start, part.stop)] == [*range(60)]
    assert {10, 33, 45, 60, 5} <= {part.stop for part in parts}
    assert max(part.stop - part.start for part in parts) <= size


def test_scores_at_points_are_those_of_the_documents_until_then():
    predicted = [["topic0001"]] * 60
    bit_by_bit, at_once = (Record(Task(stream(), Path(), points=(10, 45))) for _ in range(2))
    with bit_by_bit:
        for part in bit_by_bit.parts(7):
            bit_by_bit.predicted(part, predicted[part])
    with at_once:
        pass
    at_once.predicted(slice(0, 60), predicted)
    for record in (bit_by_bit, at_once):
        points = record.figures()["points"]
        assert [point["documents"] for point in points] == [10, 45, 60]
        for point in points:
            metrics = Metrics()
            metrics.update_many(
                stream().labels[: point["documents"]], predicted[: point["documents"]]
            )
            assert point["micro_f1"] == metrics.micro_f1
            assert point["macro_f1"] == metrics.macro_f1
            assert point["labels"] == len(metrics.labels)
    assert "seconds" not in at_once.figures()["points"][0]
    assert bit_by_bit.figures()["points"][0]["seconds"] >= 0


def test_only_the_test_set_is_judged():
    record = Record(Task(stream(), Path(), test_from=40))
    with record:
        for part in record.parts(60):
            labels = stream().labels[part].to_pylist() if part.start >= 40 else [[]] * 40
            record.predicted(part, labels)
    assert (record.figures()["judged"], record.figures()["micro_f1"]) == (20, 1.0)


def test_a_run_ends_at_its_time_limit_and_is_judged_so_far():
    record = Record(Task(stream(), Path(), seconds=0.0))
    with record:
        for part in record.parts(10):
            record.predicted(part, stream().labels[part])
    figures = record.figures()
    assert (figures["documents"], figures["complete"], figures["micro_f1"]) == (6, False, 1.0)


def test_the_clock_stops_while_predictions_are_judged(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("benchmarks.peers.base.time.perf_counter", lambda: now[0])
    record = Record(Task(stream(), Path()))
    judge = record.metrics.update_many

    def slowly(truth: Any, predicted: Any) -> None:
        now[0] += 100.0
        judge(truth, predicted)

    monkeypatch.setattr(record.metrics, "update_many", slowly)
    with record:
        now[0] += 1.0
        record.predicted(slice(0, 60), stream().labels)
        assert record.seconds == 1.0


# ── runs ─────────────────────────────────────────────────────────────────────────────────────


def any_stream() -> list[str]:
    """The systems that need no test set."""
    return [name for name, system in SYSTEMS.items() if not system.needs_test]


def learners(names: Iterable[str]) -> list[str]:
    """The systems that need no file of their own."""
    return [name for name in names if not name.endswith("-end-to-end")]


def done(system: str, task: Task) -> dict[str, Any]:
    """Run a system in this process; return its figures."""
    needs(SYSTEMS[system].library)
    return one_run(SYSTEMS[system], replace(task, options=SYSTEMS[system].tiny))


@pytest.mark.compiled
@pytest.mark.parametrize("system", any_stream())
def test_a_system_reports_its_figures(system: str, tmp_path: Path):
    result = done(system, Task(stream(), tmp_path))
    assert "failed" not in result, result
    assert (result["system"], result["documents"], result["labels"]) == (system, 60, 5)
    assert 0 < result["macro_f1"] <= 1
    assert 0 < result["micro_f1"] <= 1
    assert result["documents_per_second"] == pytest.approx(60 / result["seconds"])
    assert result["peak_memory_bytes"] >= result["added_memory_bytes"]
    assert result["version"] == version(SYSTEMS[system].library)


@pytest.mark.parametrize("system", ["vw-hinge", "clasher-margin"])
def test_a_limit_gives_the_first_documents(system: str, small: Prepared):
    needs(SYSTEMS[system].library)
    assert runner.run(Job(system, small, limit=30), TIMEOUT)["documents"] == 30


def test_from_memory_and_end_to_end_have_equal_scores(small: Prepared):
    options = {"dimensions": 1024}
    bare, whole = (
        runner.run(Job(name, small, options=options), TIMEOUT)
        for name in ("clasher-mistake", "clasher-mistake-end-to-end")
    )
    for figure in ("macro_f1", "micro_f1", "state_bytes"):
        assert bare[figure] == whole[figure]


def test_a_run_has_a_point_for_each_tenth(small: Prepared):
    result = runner.run(Job("clasher-centroid", small, options={"dimensions": 64}), TIMEOUT)
    assert [point["documents"] for point in result["points"]] == [*range(6, 61, 6)]
    assert result["points"][-1]["text_bytes"] == sum(map(len, stream().texts.to_pylist()))
    assert tables.Cell((result,)).tenths(lambda tenth: tenth["documents"]) == [6] * 10


@pytest.mark.compiled
@pytest.mark.parametrize("system", learners(any_stream()))
def test_a_system_learns_from_given_labels_only(system: str, tmp_path: Path):
    """It knows nothing without labels, and something with some."""
    some = np.random.default_rng(0).random(60) < 0.5
    none, half = (done(system, Task(stream(), tmp_path, learn)) for learn in (some & False, some))
    assert "failed" not in none, none
    assert none["micro_f1"] < half["micro_f1"] < 1


@pytest.mark.compiled
@pytest.mark.parametrize("system", learners(SYSTEMS))
def test_a_system_is_judged_on_a_test_set(system: str, tmp_path: Path):
    """The test set repeats the training set: it must beat guessing."""
    twice = pa.concat_arrays([stream().texts] * 2), pa.concat_arrays([stream().labels] * 2)
    result = done(system, Task(Corpus("twice", *twice, "made up"), tmp_path, test_from=60))
    assert "failed" not in result, result
    assert (result["documents"], result["judged"]) == (120, 60)
    assert result["micro_f1"] > 0.4


@pytest.mark.parametrize("system", sorted(SYSTEMS.keys() - any_stream()))
def test_a_system_that_needs_a_test_set_says_so(system: str, tmp_path: Path):
    failed = done(system, Task(stream(), tmp_path))["failed"]
    assert failed.startswith(f"{system} needs a stream with a test set; set where it begins")


def test_a_failure_is_a_result_with_its_reason(small: Prepared):
    job = Job("clasher-margin", small, options={"dimensions": -1})
    result = runner.run(job, TIMEOUT)
    assert (result["system"], result["corpus"]) == ("clasher-margin", "synthetic-5")
    assert "'dimensions' parameter" in result["failed"]


def test_a_run_that_takes_too_long_is_a_failure(small: Prepared):
    assert "took more than 0 seconds" in runner.run(Job("river-8", small), 1e-6)["failed"]


def test_a_missing_library_names_the_extra(small: Prepared):
    absent = System("x", "X", "no-such-library", "", lambda task, record: pytest.fail("was run"))
    assert one_run(absent, Task(small.corpus(), small.folder))["failed"] == (
        "no-such-library is not installed: pip install 'clasher[bench]'"
    )


# ── studies ──────────────────────────────────────────────────────────────────────────────────


def test_slow_systems_get_a_part_and_the_default_rule_gets_it_too(tmp_path: Path):
    write_parquet(synthetic(5_001, labels=2, vocabulary=50, words=2), tmp_path, "news")
    plan = studies.Plan(tmp_path, tmp_path / "work", systems=("clasher-margin", "river-8"))
    jobs = [(job.system, job.limit) for job in studies.table(plan)]
    assert jobs == [("clasher-margin", None), ("river-8", 5000), ("clasher-margin", 5000)]


def test_flat_runs_the_largest_stream_in_both_orders(tmp_path: Path):
    write_parquet(stream(10), tmp_path, "little")
    write_parquet(stream(60), tmp_path, "much")
    jobs = studies.flat(studies.Plan(tmp_path, tmp_path / "work"))
    assert {job.prepared.folder.name for job in jobs} == {"much", "much-shuffled"}
    one, other = (sorted(jobs[i].prepared.corpus().texts.to_pylist()) for i in (0, -1))
    assert one == other


def test_scaling_varies_dimensions(tmp_path: Path):
    jobs = studies.scaling(studies.Plan(tmp_path, tmp_path / "work", limit=40))
    assert {job.options["dimensions"] for job in jobs} == set(studies.DIMENSIONS)


@pytest.fixture
def label_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs of the study of labels, on a long corpus and on one with more labels."""
    monkeypatch.setattr(studies, "FIRST", 20)
    monkeypatch.setattr(studies, "MOST_MODELS", 40)
    monkeypatch.setattr(studies, "SYNTHETIC", {40: 50, 50: 60})
    write_parquet(synthetic(200, labels=4, vocabulary=50, words=2), tmp_path, "long")
    write_parquet(synthetic(50, labels=30, vocabulary=50, words=2), tmp_path, "wide")
    return studies.labels(studies.Plan(tmp_path, tmp_path / "work"))


def test_the_study_of_labels_compares_systems_on_the_corpus_with_most_labels(label_jobs: list[Job]):
    wide = [job for job in label_jobs if job.prepared.folder.name == "wide" and not job.once]
    assert [(job.system, job.points, job.ranked) for job in wide] == [
        ("clasher-margin", (20, 40), True)
    ]
    others = [(job.system, job.limit, job.seconds) for job in label_jobs if job.once][:4]
    assert others == [(name, part, None) for part in (None, 20) for name in ("vw-hinge", "vw-plt")]
    slow = {job.system for job in label_jobs if job.seconds == studies.SECONDS}
    assert slow == {"napkinxc", "omikuji", "fasttext"}


def test_the_study_of_labels_gives_a_model_per_label_a_part_of_wide_streams(label_jobs: list[Job]):
    made_up = [job for job in label_jobs if job.prepared.folder.name.startswith("zipf-")]
    assert [(job.system, job.prepared.folder.name, job.limit, job.points) for job in made_up] == [
        ("clasher-margin", "zipf-40", None, ()), ("vw-hinge", "zipf-40", None, ()),
        ("clasher-margin", "zipf-50", None, (20,)), ("vw-hinge", "zipf-50", 20, ()),
    ]  # fmt: skip


def test_the_study_of_labels_bounds_memory_on_two_corpora(label_jobs: list[Job]):
    bounded = [job for job in label_jobs if "max_bytes" in job.options]
    found = [(job.prepared.folder.name, job.options["max_bytes"]) for job in bounded]
    assert found == [(name, most) for name in ("wide", "long") for most in studies.MAX_BYTES]
    free = [job for job in label_jobs if job.prepared.folder.name == "long" and not job.options]
    assert [job.system for job in free] == ["clasher-margin"]


def test_a_job_passes_on_that_it_ranks(small: Prepared):
    assert "--ranked" not in Job("clasher-margin", small).command
    job = Job("clasher-margin", small, options={"dimensions": 1024}, ranked=True)
    assert 0 < runner.run(job, TIMEOUT)["precision_at_1"] < 1


def test_table_command_measures_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_parquet(stream(), tmp_path, "news")
    page = tmp_path / "page.md"
    page.write_text("# Mine\n<!-- benchmark:overview -->\n<!-- /benchmark:overview -->\nend\n")
    places = ["--data", tmp_path, "--work", tmp_path / "w", "--results", tmp_path, "--into", page]
    systems = ["--systems", "clasher-centroid", "--repeats", "2"]
    assert main(["table", *map(str, places), *systems]) == 0
    results = json.loads((tmp_path / "table.json").read_text())
    assert [run["system"] for run in results["runs"]] == ["clasher-centroid"] * 2
    assert results["seed"] == 0
    assert {"cpu", "cores"} <= set(results["machine"])
    assert "| clasher centroid | ." in page.read_text()
    assert page.read_text().startswith("# Mine\n")
    assert "2/2  clasher-centroid on news" in capsys.readouterr().err
    assert main(["report", "--check", *map(str, places[-4:])]) == 0
    page.write_text(page.read_text().replace("clasher centroid", "clasher by hand"))
    assert main(["report", "--check", *map(str, places[-4:])]) == 1


def test_a_missing_page_stops_before_the_first_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        main(["table", "--into", str(tmp_path / "page.md")])
    assert "there is no file" in capsys.readouterr().err


# ── the report ───────────────────────────────────────────────────────────────────────────────


def result(system: str, speed: float = 1000.0, **more: Any) -> dict[str, Any]:
    figures = {"documents": 100, "labels": 5, "macro_f1": 0.5256, "micro_f1": 0.6021}
    points = [
        {"documents": 10 * n, "labels": 5, "memory_bytes": 2e8, "text_bytes": 900 * n,
         "seconds": 0.01 * n + 0.001 * (n == 10)}
        for n in range(1, 11)
    ]  # fmt: skip
    return {
        "system": system,
        "corpus": "news",
        "order": "as stored",
        "limit": None,
        "options": {},
        **figures,
        "documents_per_second": speed,
        "added_memory_bytes": 3e7,
        "state_bytes": 2e7,
        "points": points,
    } | more


def failure(system: str, reason: str) -> dict[str, Any]:
    about = {"system": system, "corpus": "news", "order": "as stored", "limit": None}
    return {**about, "options": {}, "failed": reason}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    about = {
        "command": "python -m benchmarks all", "date": "2025-01-01", "seed": 0, "repeats": 3,
        "machine": {"cpu": "Some CPU", "cores": 2, "memory_bytes": 2**34, "system": "Linux x86_64",
                    "python": "3.13.0", "load_before": 0.1},
        "versions": {"clasher": "1.2.3"},
    }  # fmt: skip
    studies_runs = {
        "table": [
            *(result("clasher-margin", speed) for speed in (2000, 9000, 3000)),
            result("clasher-margin-end-to-end", 2700),
            result("vw-hinge", 1500),
            failure("vw-logistic", "was ended by SIGSEGV"),
            result("river-8", 100, limit=50),
            result("clasher-margin", 3000, limit=50),
        ],
        "flat": [result("clasher-margin")],
        "scaling": [result("clasher-margin", options={"dimensions": 4096})],
    }
    for study, runs in studies_runs.items():
        (tmp_path / f"{study}.json").write_text(json.dumps({"study": study, **about, "runs": runs}))
    return tmp_path


def test_table_has_medians_ratios_and_failures(results: Path):
    text = block("table", results)
    assert "| clasher margin | .526 | .602 | 3,000 | 2.00 | 2,700 (90%) | 30 MB |" in text
    assert "| Vowpal Wabbit logistic | failed: was ended by SIGSEGV |" in text
    assert "| River, rate 8, first 50 | .526 | .602 | 100 | 0.07 |" in text
    assert "`python -m benchmarks all`, 2025-01-01, seed 0, medians of 3 runs; Some CPU" in text


def test_overview_has_a_column_per_corpus(results: Path):
    lines = block("overview", results).splitlines()
    assert lines[0] == "|  | news (100; 5 labels) |"
    assert "| clasher margin | .526 / .602, 3.0 k |" in lines
    assert "| Vowpal Wabbit logistic | failed |" in lines
    assert "| River, rate 8 | .526 / .602, 100 (first 50) |" in lines


def test_prefix_compares_the_same_documents(results: Path):
    row = "| news | 50 | River, rate 8 | .526 / .602 | .526 / .602 | 100 | 3,000 |"
    assert row in block("prefix", results)


def test_flat_compares_the_last_tenth_with_the_second(results: Path):
    text = block("flat", results)
    assert "| news, as stored | clasher margin | +10.0% | +10.0% | +0.0% |" in text
    assert "| µs per document | 1000.0 |" in text


def test_scaling_has_the_cost_per_label(results: Path):
    row = "| news | clasher margin | 2^12 | 5 | 1,000 | 200000 | 20 MB | .526 / .602 |"
    assert row in block("scaling", results)


def test_reporting_twice_changes_nothing(results: Path):
    page = results / "page.md"
    page.write_text((BENCHMARKS / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    assert update([page], results) == [page]
    assert "Some CPU" in page.read_text(encoding="utf-8")
    assert update([page], results) == []


def test_a_study_without_results_says_how_to_get_them(tmp_path: Path):
    assert block("flat", tmp_path) == "No results yet: run `python -m benchmarks flat`."


def test_an_unknown_block_is_an_error(tmp_path: Path):
    with pytest.raises(SystemExit, match="no block benchmark:nonsense"):
        fill("<!-- benchmark:nonsense -->\n<!-- /benchmark:nonsense -->", tmp_path)


def test_the_tables_of_the_readme_are_those_of_the_results():
    assert stale(DOCUMENTS, BENCHMARKS / "results") == []
