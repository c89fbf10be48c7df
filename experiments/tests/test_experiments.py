"""Pages match the results, every experiment runs, and no cell is measured twice."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import benchmarks
from benchmarks.peers import SYSTEMS
from benchmarks.tests.runs import needs
from clasher import Clasher
from experiments import claims, html, plots, report, runner, tables
from experiments.__main__ import main
from experiments.cells import Cell
from experiments.config import Claim, Figure, names, read
from experiments.kinds import KINDS, correlation, margin, systems
from experiments.kinds.margin_kernel import Rule, walk
from experiments.measurements import Place, run
from experiments.prequential import prequential
from experiments.rows import Row
from experiments.streams import Stream, by_days, odd_days
from support import corpora

SMALL = Stream("synthetic", documents=120, labels=5)


# ── what is committed ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", names())
def test_a_page_shows_its_results(name: str):
    config = read(name)
    results = report.load(config)
    assert report.fill_page(config, results) == config.page.read_text(encoding="utf-8"), (
        f"stale: run python -m experiments {name} --report"
    )


def test_the_page_of_all_shows_all_results():
    assert report.readme() == report.README.read_text(encoding="utf-8")
    pages = [report.README, *(config.page for config, _ in report.with_results())]
    assert html.index(pages) == (report.HERE / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", names())
def test_pictures_are_drawn_from_the_results(name: str, tmp_path: Path):
    config = read(name)
    pictures = KINDS[config.kind].pictures(config, report.load(config)["cells"])
    assert set(config.figures) <= set(pictures)
    for title, picture in pictures.items():
        plots.save(picture, tmp_path / f"{title}.svg")
        drawn = (tmp_path / f"{title}.svg").read_text(encoding="utf-8")
        assert _shape(drawn) == _shape((report.FIGURES / f"{title}.svg").read_text("utf-8"))


def _shape(svg: str) -> tuple[int, int]:
    """Count lines and marks: fonts and versions may move them a little."""
    return svg.count("<path"), svg.count("<use")


def test_results_say_where_they_come_from():
    for name in names():
        results = report.load(read(name))
        assert results["command"].startswith("python -m experiments")
        assert {"machine", "versions", "seed", "date"} <= set(results)


# ── small runs of everything ─────────────────────────────────────────────────────────────────────


@pytest.mark.compiled
@pytest.mark.parametrize("name", names())
def test_every_experiment_runs_small(name: str, capsys: pytest.CaptureFixture[str]):
    config = read(name, small=True)
    for system in (*config.systems, *config.asymptotes):
        needs(SYSTEMS[system].library)
    assert main([name, "--small"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", names())
def test_a_small_run_leaves_out_whole_corpora(name: str):
    assert read(name, small=True).optional == []


# ── configurations ───────────────────────────────────────────────────────────────────────────────


def test_an_unknown_experiment_lists_the_known_ones():
    with pytest.raises(SystemExit, match=r"no experiment 'figure-9'; choose from: .*figure-1"):
        read("figure-9")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("title = 1\nkind = 'systems'", r"Expected `str`, got `int` - at `\$\.title`"),
        ("title = 'a'\nkind = 'systems'\nsystem = ['knn']", "unknown field `system`"),
        ("title = ", "Invalid value"),
    ],
)
def test_a_bad_configuration_is_one_clear_line(tmp_path: Path, text: str, reason: str):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(SystemExit, match=rf"^mine\.toml: .*{reason}"):
        read("mine", folder=tmp_path)


def test_an_unknown_system_lists_the_known_ones(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        "title = 'a'\nkind = 'systems'\nstreams = ['synthetic']\nsystems = ['nobody']"
    )
    with pytest.raises(SystemExit, match=r"no system 'nobody'; choose from: clasher-margin"):
        runner.cells_of(read("mine", folder=tmp_path), Place(tmp_path, tmp_path))


def test_a_missing_corpus_says_what_to_do(tmp_path: Path):
    with pytest.raises(SystemExit, match=r"figure-3 needs arxiv\.parquet, which is not in"):
        main(["figure-3", "--data", str(tmp_path)])


def test_a_broken_corpus_says_what_to_do(tmp_path: Path):
    path = tmp_path / "arxiv.parquet"
    path.write_bytes(b"PAR1 and not much more")
    with pytest.raises(SystemExit, match=r"not a complete Parquet file: download or make it again"):
        main(["figure-5", "--data", str(tmp_path)])
    pq.write_table(pa.table({"text": ["a"], "tags": [["x"]]}), path)
    with pytest.raises(SystemExit, match=r"figure-5 needs labels in .*, which has no such columns"):
        main(["figure-5", "--data", str(tmp_path)])


def test_a_picture_of_failures_says_so(tmp_path: Path):
    figure = Figure(draw="curves", panels=["micro_f1"])
    picture = plots.draw(figure, [row("knn", 0.5, failed="no Java")], [])
    plots.save(picture, tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").stat().st_size > 0
    (text,) = picture.axes[0].texts
    assert text.get_text() == "every system failed"


def test_optional_streams_run_if_their_files_are_there(tmp_path: Path):
    config = read("figure-3")
    without = runner.cells_of(config, Place(tmp_path, tmp_path))
    (tmp_path / "rcv1.parquet").touch()
    names = {cell.stream.name for cell in runner.cells_of(config, Place(tmp_path, tmp_path))}
    assert names == {cell.stream.name for cell in without} | {"rcv1"}


# ── streams ──────────────────────────────────────────────────────────────────────────────────────


def dated(folder: Path, dates: list[str | None]) -> Path:
    path = folder / "news.parquet"
    texts = [f"text {number}" for number in range(len(dates))]
    labels = pa.array([["a"]] * len(dates), pa.list_(pa.string()))
    pq.write_table(pa.table({"date": dates, "text": texts, "labels": labels}), path)
    return path


def test_odd_days_are_the_test_set(tmp_path: Path):
    dated(tmp_path, ["1996-08-21", "1996-08-22", "1996-08-23T10:00:00", "1996-08-30"])
    corpus, start = Stream("news", order="days").load(tmp_path)
    assert corpus.texts.to_pylist() == ["text 1", "text 3", "text 0", "text 2"]
    assert start == 2


def test_without_dates_every_other_document_is_of_an_odd_day(tmp_path: Path):
    path = dated(tmp_path, ["1996-08-21", None, "1996-08-23"])
    assert odd_days(path, 3).tolist() == [False, True, False]
    assert odd_days(None, 4).tolist() == [False, True, False, True]


def test_both_halves_keep_their_order():
    stream = corpora.synthetic(11, 2)
    split, start = by_days(stream, odd_days(None, 11))
    texts = stream.texts.to_pylist()
    assert split.texts.to_pylist() == texts[::2] + texts[1::2]
    assert start == 6


# ── cells ────────────────────────────────────────────────────────────────────────────────────────


def cell(**more: Any) -> Cell:
    what = {"system": "clasher-centroid", "options": {"dimensions": 256}} | more
    return Cell("systems", what, SMALL)


def test_a_cell_is_measured_in_its_own_process(tmp_path: Path):
    found = run(cell(), Place(tmp_path, tmp_path))
    assert "failed" not in found, found
    assert found["result"]["documents"] == 120
    assert 0 < found["result"]["micro_f1"] < 1


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"options": {"dimensions": -1}}, "'dimensions' parameter"),
        ({"system": "svm-full"}, "test set"),
    ],
)
def test_a_failure_has_a_reason(tmp_path: Path, broken: dict[str, Any], reason: str):
    assert reason in run(cell(**broken), Place(tmp_path, tmp_path))["failed"]


def test_a_cell_that_takes_too_long_is_ended(tmp_path: Path):
    found = run(cell(), Place(tmp_path, tmp_path, timeout=0.01))
    assert found["failed"] == "took more than 0 seconds"


def test_a_cached_cell_is_not_measured_again(tmp_path: Path):
    place, asked = Place(tmp_path, tmp_path), []

    def measure(cell: Cell, place: Place) -> dict[str, Any]:
        asked.append(cell)
        return {"took": 1.0, "result": {}}

    for wanted in ([cell()], [cell(), cell(fraction=0.5)]):
        runner.measure_all(wanted, place, measure)
    assert asked == [cell(), cell(fraction=0.5)]


def test_a_failed_cell_is_tried_again(tmp_path: Path):
    outcomes = iter([{"took": 1.0, "failed": "no luck"}, {"took": 1.0, "result": 7}])
    for expected in ("failed", "result"):
        found = runner.measure_all([cell()], Place(tmp_path, tmp_path), lambda *_: next(outcomes))
        assert [expected in one for one in found.values()] == [True]


def test_timed_cells_run_alone_and_last(tmp_path: Path):
    running, most, order = set(), {}, []
    cells = [msgspec.structs.replace(cell(fraction=n / 10), timed=n % 2 == 0) for n in range(1, 7)]

    def measure(cell: Cell, place: Place) -> dict[str, Any]:
        running.add(cell.what["fraction"])
        most[cell.timed] = max(most.get(cell.timed, 0), len(running))
        order.append(cell.timed)
        running.discard(cell.what["fraction"])
        return {"took": 0.0, "result": {}}

    runner.measure_all(cells, Place(tmp_path, tmp_path), measure, workers=2)
    assert most[True] == 1
    assert order == sorted(order)


@pytest.mark.parametrize("changed", ["question", "documents", "code"])
def test_a_changed_definition_is_another_cell(
    tmp_path: Path, changed: str, monkeypatch: pytest.MonkeyPatch
):
    dated(tmp_path, ["1996-08-21"])
    asked = msgspec.structs.replace(cell(), stream=Stream("news"))
    before = Place(tmp_path).key(asked)
    if changed == "question":
        asked = msgspec.structs.replace(asked, stream=Stream("news", order="shuffled"))
    elif changed == "documents":
        dated(tmp_path, ["1996-08-22"])
    else:
        monkeypatch.setattr(KINDS["systems"], "fingerprint", lambda cell: ["other"])
    assert Place(tmp_path).key(asked) != before


def test_the_code_of_a_system_includes_its_imports():
    peers = Path(benchmarks.__file__).parent / "peers"
    names = {path.name for path in systems.modules(peers / "svm.py")}
    assert {"svm.py", "base.py", "terms.py", "schedule.py"} <= names
    assert "vowpal_wabbit.py" not in names


def test_an_interrupted_run_continues_where_it_stopped(tmp_path: Path):
    """Ctrl-C ends the running cells, and the next run keeps the finished ones."""
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # in any shell
        "import sys, experiments.config as c; from pathlib import Path; "
        "c.HERE = Path(sys.argv[1]); c.read.__kwdefaults__['folder'] = c.HERE; "
        "from experiments.__main__ import main; main(['mine', '--cache', sys.argv[1]])"
    )
    (tmp_path / "mine.toml").write_text(
        "title = 'a'\nkind = 'systems'\nstreams = [{ name = 'synthetic', documents = 50 }]\n"
        "systems = ['clasher-centroid']\n[vary]\n"
        f"fraction = {[n / 100 for n in range(1, 60)]}\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], cwd=corpora.PROJECT, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    done = len(list(tmp_path.glob("*.json")))
    assert 0 < done < 59
    config = read("mine", folder=tmp_path)
    left = []
    runner.measure_all(
        runner.cells_of(config, Place(tmp_path, tmp_path)),
        Place(tmp_path, tmp_path),
        lambda cell, place: left.append(cell) or {"took": 0.0, "result": {}},
    )
    assert len(left) == 59 - done


# ── tables and claims ────────────────────────────────────────────────────────────────────────────


def row(system: str, macro: float, micro: float = 0.5, **more: Any) -> Row:
    points = [
        {"documents": 10 * n, "labels": 5, "text_bytes": 100 * n, "seconds": n / 10,
         "macro_f1": macro * n / 10, "micro_f1": micro}
        for n in range(1, 11)
    ]  # fmt: skip
    result = {"documents": 100, "complete": True, "labels": 5, "macro_f1": macro,
              "micro_f1": micro, "documents_per_second": 2000.0, "points": points}  # fmt: skip
    what = {"options": {}, "fraction": None, "limit": None, "seconds": 60.0}
    failed = more.pop("failed", None)
    return Row(system, "news", what | more.pop("what", {}), failed, result | more, labels=5)


def test_a_claim_is_judged_by_the_figures():
    rows = [row("knn", 0.5), row("vw-hinge", 0.4, 0.6)]
    claim = Claim(says="A", better="knn", than="vw-hinge")
    assert claims.verdict(claim, "news", rows) == ["A", "news", ".500 vs .400", "yes"]
    claim = Claim(says="A", better="knn", than="vw-hinge", measure="micro_f1")
    assert claims.verdict(claim, "news", rows)[2:] == [".500 vs .600", "no"]


def test_a_system_that_was_stopped_is_compared_on_what_it_did():
    rows = [row("knn", 0.5), row("vw-hinge", 0.3, complete=False, documents=40)]
    claim = Claim(says="A", better="knn", than="vw-hinge")
    found = ".200 vs .300 (40 documents in 60 s)"
    assert claims.verdict(claim, "news", rows)[2:] == [found, "no"]


def test_labels_that_a_system_did_not_reach_count_too():
    def cell(system: str, labels: int, scored: dict[str, float]) -> dict[str, Any]:
        point = {"documents": 10, "labels": labels, **scored}
        result = {"documents": 10, "labels": labels, "points": [point]}
        return {"stream": {"name": "news"}, "what": {"system": system}, "result": result}

    rows = Row.all([cell("knn", 4, {"macro_f1": 0.6}), cell("vw-hinge", 8, {})])
    assert rows[0].points[0]["macro_f1_over_all"] == pytest.approx(0.3)
    assert "macro_f1_over_all" not in rows[1].points[0]


def test_a_claim_on_the_first_half_takes_the_mean_of_its_points():
    rows = [row("knn", 0.5), row("vw-hinge", 0.4)]
    claim = Claim(says="A", better="knn", than="vw-hinge", over="first half")
    assert claims.verdict(claim, "news", rows)[2:] == [".150 vs .120", "yes"]


def test_a_claim_about_a_missing_system_is_not_known():
    rows = [row("knn", 0.5, failed="no Java")]
    claim = Claim(says="A", better="knn", than="vw-hinge")
    assert claims.verdict(claim, "news", rows)[3] == "not known"


def test_times_are_flat_or_grow():
    slower = row("knn", 0.5)
    for point in slower.result["points"]:
        point["seconds"] = (point["documents"] / 100) ** 2
    for system, rows, flat, grows in (
        ("vw-hinge", [row("vw-hinge", 0.5)], "yes", "no"),
        ("knn", [slower], "no", "yes"),
    ):
        assert claims.verdict(Claim(says="A", flat=system), "news", rows)[3] == flat
        assert claims.verdict(Claim(says="A", grows=system), "news", rows)[3] == grows


def test_f1_falls_or_keeps_its_level():
    rising, falling = row("knn", 0.5), row("vw-hinge", 0.5)
    for climbs, curve in ((True, rising), (False, falling)):
        for point in curve.result["points"]:
            point["documents"] *= 100
            point["micro_f1"] = (
                point["documents"] / 10_000 if climbs else 1_000 / point["documents"]
            )
    for system, falls, keeps in (("knn", "no", "yes"), ("vw-hinge", "yes", "no")):
        for claim, holds in (({"falls": system}, falls), ({"keeps": system}, keeps)):
            asked = Claim(says="A", measure="micro_f1", **claim)
            assert claims.verdict(asked, "news", [rising, falling])[3] == holds


def test_the_best_is_compared_on_the_documents_that_both_processed():
    mine, stopped = row("clasher-margin", 0.5), row("knn", 0.3, complete=False, documents=40)
    claim = Claim(says="A", best="clasher-margin")
    near = "closest is Vowpal Wabbit hinge, .500 vs .400"
    assert claims.verdict(claim, "news", [mine, row("vw-hinge", 0.4)])[2:] == [near, "yes"]
    near = "closest is kNN, .200 vs .300 (40 documents in 60 s)"
    assert claims.verdict(claim, "news", [mine, row("vw-hinge", 0.4), stopped])[2:] == [near, "no"]
    assert claims.verdict(claim, "news", [mine])[3] == "not known"


def test_f1_is_level_from_a_value_on():
    rows = [
        row("knn", macro, what={"options": {"dimensions": m}})
        for m, macro in ((16, 0.1), (64, 0.48), (256, 0.5))
    ]
    for since, holds in ((16, "no"), (64, "yes")):
        claim = Claim(says="A", level="knn", since=since)
        assert claims.verdict(claim, "news", rows, "dimensions")[3] == holds


def test_a_failed_peer_is_reported_as_failed():
    text = tables.overview([row("knn", 0.5), row("vw-hinge", 0.4, failed="no wheel")])
    assert "| Vowpal Wabbit hinge | failed: no wheel |" in text
    assert ".500 / .500, 2.0 k |" in text


def test_tables_say_which_part_a_system_ran_on():
    stopped = row("knn", 0.5, complete=False, documents=40)
    short = row("river-8", 0.4, documents=50, what={"limit": 50})
    text = tables.overview([stopped, short])
    assert "(40 documents in 60 s)" in text
    assert "(first 50)" in text
    text = tables.overview([row("clasher-margin", 0.5), stopped, short])
    assert "(40 documents in 60 s; clasher margin: .200 / .500)" in text
    assert "(first 50; clasher margin: .250 / .500)" in text


def test_systems_without_the_varied_option_have_their_own_column():
    rows = [row("knn", 0.5, what={"options": {"dimensions": m}}) for m in (16, 64)]
    text = tables.varied([*rows, row("vw-hinge", 0.4)], "dimensions")
    assert "|  | 2^4 | 2^6 | any |" in text
    assert "| Vowpal Wabbit hinge | – | – | .400 / .500 |" in text


def test_the_html_page_is_self_contained():
    text = (report.HERE / "index.html").read_text(encoding="utf-8")
    assert "<svg" in text
    for outside in ('src="http', "<link", "<script", 'href="http'):
        assert outside not in text


# ── inner products ───────────────────────────────────────────────────────────────────────────────


def test_inner_products_are_those_of_dense_rows():
    random = np.random.default_rng(0)
    dense = random.integers(0, 3, (6, 9)) * random.integers(-1, 2, (6, 9))
    rows, columns = np.nonzero(dense)
    indptr = np.searchsorted(rows, np.arange(7))
    pairs = random.integers(0, 6, (20, 2))
    values = dense[rows, columns].astype(float)
    found = correlation.products(indptr, columns, values, pairs)
    np.testing.assert_allclose(found, [dense[a] @ dense[b] for a, b in pairs])


def test_hashing_to_many_dimensions_changes_no_inner_product():
    stream = corpora.synthetic(60, 3, words=10, vocabulary=100)
    found = list(correlation.correlations(stream))
    assert found[-1]["tf"] == pytest.approx(1.0, abs=0.02)
    assert found[-1]["tfidf"] == pytest.approx(1.0, abs=0.02)
    assert found[0]["tf"] < 0.9


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_has_the_given_points():
    scores = prequential(Clasher(256), corpora.synthetic(120, 5), points=(50, 120))
    assert [point["documents"] for point in scores.curve] == [50, 120]
    assert scores.curve[1]["micro_f1"] == scores.micro_f1
    assert scores.to_dict() == {
        "macro_f1": round(scores.macro_f1, 4),
        "micro_f1": round(scores.micro_f1, 4),
    }


# ── the margin rule with switches ────────────────────────────────────────────────────────────────


def test_the_margin_rule_without_switches_equals_the_product():
    stream = corpora.synthetic(1500, 30, words=20)
    found = margin.measure_variants(stream, {"now": margin.PARTS["now"]})["variants"]["now"]
    points = tuple(map(int, found["early"]))
    scores = prequential(Clasher(margin.DIMENSIONS), stream, points)
    assert {name: found[name] for name in ("macro_f1", "micro_f1")} == scores.to_dict()
    for point in scores.curve:
        early = found["early"][str(point["documents"])]
        assert early["macro_f1"] == pytest.approx(point["macro_f1"], abs=1e-4)
        assert early["micro_f1"] == pytest.approx(point["micro_f1"], abs=1e-4)


def test_probabilities_equal_those_of_the_product():
    stream = corpora.synthetic(300, 5, words=20)
    model = Clasher(margin.DIMENSIONS)
    model.step_many(stream.texts, stream.labels)
    hashed = model.hash_many(stream.texts)
    ids, indptr = margin.truth_of(stream)
    arrays = walk(hashed, ids, indptr, 5, margin.DIMENSIONS, Rule())
    np.testing.assert_allclose(arrays.odds, model.state.odds, rtol=1e-3)
    np.testing.assert_allclose(arrays.shared, model.state.shared, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", [*margin.PARTS, *margin.TRIED])
def test_every_variant_of_the_margin_rule_learns(name):
    stream = corpora.synthetic(250, 5, words=20)
    variant = {**margin.PARTS, **margin.TRIED}[name]
    found = margin.measure_variants(stream, {name: variant})["variants"][name]
    assert found["micro_f1"] > 0.4
    assert found["early"]["100"]["micro_f1"] < found["micro_f1"]


def test_calibration_errors_by_hand():
    shades = np.zeros((3, 20))
    shades[:, 4] = [2.0, 3.0, 10.0]  # ten labels at 0.2, three of them true
    shades[:, 18] = [9.0, 9.0, 10.0]
    assert margin.calibration_error(shades) == pytest.approx(1 / 20)
