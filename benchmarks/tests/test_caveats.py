"""Pages state the limits of their figures, and each measurement has one figure."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import caveats
from benchmarks.peers.decision_rule import decide, decide_online
from benchmarks.report import block
from benchmarks.tables import thousands
from experiments import claims, report
from experiments.config import Claim, names, read
from experiments.kinds import KINDS, decisions, seeds
from experiments.rows import Row, benchmark_cell
from support import corpora

PROJECT = corpora.PROJECT
WITHOUT_F1 = {"bounds", "clusters", "figure-1"}
ABOUT_IT = {"rule-stream", "rule-test"}
SEVERAL_SEEDS = {name for name in names() if read(name).seeds > 1}
WITHDRAWN = {
    "online IDF brings ρ back to 1",
    "The perceptron has a higher micro F1 than Mode 1",
    "The perceptron has a higher micro F1 than Mode 1 at the end",
    "Mode 1 has a higher macro F1 than the perceptron",
}


# ── what pages say ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", sorted({*names()} - WITHOUT_F1 - ABOUT_IT - SEVERAL_SEEDS))
def test_a_page_with_f1_says_that_it_is_one_run(name: str):
    assert caveats.short() in read(name).page.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["README.md", "benchmarks/README.md", "experiments/README.md"])
def test_tables_of_all_systems_have_other_seeds_and_the_decision_rule_beside_them(path: str):
    text = (PROJECT / path).read_text(encoding="utf-8")
    assert caveats.full() in text
    assert "no averages" not in text


def test_the_caveat_has_the_figures_of_its_commands():
    caveat = " ".join(caveats.full().split())
    rows = [row for cell in _cells("seeds") for row in cell["result"]]
    assert seeds.summary(rows, "reuters21578", "margin") in caveat
    for experiment, system in [
        ("rule-stream", "vw-hinge-decided"),
        ("rule-test", "svm-full-tuned-decided"),
    ]:
        assert f"python -m experiments {experiment}" in caveat
        assert any(cell["what"]["system"] == system for cell in _cells(experiment))
    for verdict in caveats.WITHDRAWN:
        assert verdict in caveat


def _cells(name: str):
    return report.load(read(name))["cells"]


def test_withdrawn_verdicts_are_stated_nowhere():
    found = set()
    for name in names():
        config = read(name)
        for says, _, _, holds in KINDS[config.kind].verdicts(config, _cells(name)):
            if says in WITHDRAWN:
                found.add(says)
                assert holds == claims.UNKNOWN, (name, says)
    assert found == WITHDRAWN
    readme = (PROJECT / "experiments/README.md").read_text(encoding="utf-8")
    for stated in re.findall(r"\*\*(?:Holds|Does not hold)[^*]*\*\*: ([^*|]*)", readme):
        assert not WITHDRAWN & {claim.strip(" .") for claim in stated.split(";")}


def test_the_balanced_svm_is_not_said_to_have_a_lower_micro_f1():
    for name in ("table-1", "rule-test"):
        config = read(name)
        for says, stream, _, holds in KINDS[config.kind].verdicts(config, _cells(name)):
            if "micro F1" in says and "balanced" in says and stream == "reuters21578":
                assert holds == claims.UNKNOWN, (name, says)


# ── one figure for one thing ─────────────────────────────────────────────────────────────────────


def _row_of(page: str, title: str) -> list[str]:
    text = (PROJECT / page).read_text(encoding="utf-8")
    heads = next(line for line in text.splitlines() if "reuters21578 (" in line)
    line = next(line for line in text.splitlines() if line.startswith(f"| {title} |"))
    columns = [head.strip().split(" (")[0] for head in heads.split("|")]
    cells = dict(zip(columns, (cell.strip() for cell in line.split("|")), strict=True))
    return [cells["arxiv"], cells["reuters21578"]]


@pytest.mark.parametrize("title", ["clasher margin", "clasher perceptron", "Vowpal Wabbit hinge"])
def test_the_front_shows_the_figures_of_the_benchmark(title: str):
    assert _row_of("experiments/front.md", title) == _row_of("README.md", title)


def test_a_speed_is_the_median_of_the_benchmark():
    shared = 0
    for row in Row.all(_cells("front")):
        cell = benchmark_cell(row.stream, row.system)
        if cell is not None:
            assert row.speed == cell["documents_per_second"]
            shared += 1
        elif row.failed is None:
            assert row.benchmarked is None
            assert row.speed == row.result["documents_per_second"]
    assert shared >= 10


def test_a_run_that_the_benchmark_lacks_keeps_its_own_speed():
    """It is shuffled, on a test set, or has other options."""
    (margin, *_) = (row for row in Row.all(_cells("figure-5")) if "shuffled" in row.stream)
    assert margin.benchmarked is None
    assert thousands(margin.speed) in read("figure-5").page.read_text(encoding="utf-8")
    assert all(row.benchmarked is None for row in Row.all(_cells("table-1")))


# ── verdicts ─────────────────────────────────────────────────────────────────────────────────────


def row(system: str, f1: float) -> Row:
    result = {"macro_f1": f1, "micro_f1": f1, "documents": 10, "complete": True}
    return Row(system, "news", {"options": {}, "limit": None}, None, result, 1)


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [(0.5, 0.4, "yes"), (0.4, 0.5, "no"), (0.508, 0.5, "not known"), (0.5, 0.508, "not known")],
)
def test_a_small_lead_decides_nothing(one, other, holds):
    rows = [row("clasher-margin", one), row("knn", other)]
    better = Claim(says="A", better="clasher-margin", than="knn")
    best = Claim(says="A", best="clasher-margin")
    assert claims.verdict(better, "news", rows)[-1] == holds
    assert claims.verdict(best, "news", rows)[-1] == holds


def test_a_withdrawn_claim_says_why():
    claim = Claim(says="A", better="clasher-margin", than="knn", withdrawn="it was unfair")
    *_, found, holds = claims.verdict(claim, "news", [row("clasher-margin", 0.9), row("knn", 0.1)])
    assert holds == claims.UNKNOWN
    assert found == ".900 vs .100; it was unfair"


def test_decisions_without_a_safe_margin_are_not_known():
    bound = {"margin": None, "documents": 0.0, "agreement": None}
    rows = [{"corpus": "news", "lemma_2": bound, "second_moments": bound | {"agreement": 0.5}}]
    assert [line[-1] for line in decisions.verdicts(rows)] == [claims.UNKNOWN, claims.NO]


# ── our decision rule for peers ──────────────────────────────────────────────────────────────────

scores = st.integers(1, 250).flatmap(
    lambda n: st.integers(0, 2**32 - 1).map(
        lambda seed: np.random.default_rng(seed).normal(-0.5, 0.7, (n, 4))
    )
)


@given(scores)
def test_the_best_label_is_always_predicted(z):
    found = decide(z)
    assert (found.sum(axis=1) >= 1).all()
    assert (found[z > 0] == 1).all()
    assert found[np.arange(len(z)), z.argmax(axis=1)].all()


@given(scores, st.integers(0, 2**32 - 1))
def test_a_threshold_is_learnt_from_the_past_only(z, seed):
    """Later documents change nothing, nor do documents without labels."""
    random = np.random.default_rng(seed)
    truth, learnt = random.random(z.shape) < 0.3, random.random(len(z)) < 0.8
    found = decide_online(z, truth, learnt)
    seen = np.cumsum(truth & learnt[:, None], axis=0) - (truth & learnt[:, None]) > 0
    assert (found.any(axis=1) == seen.any(axis=1)).all()
    assert seen[found == 1].all()
    half = len(z) // 2
    later = truth.copy()
    later[half:] ^= True
    assert (decide_online(z, later, learnt)[: half + 1] == found[: half + 1]).all()
    hidden = np.where(learnt[:, None], truth, ~truth)
    assert (decide_online(z, hidden, learnt) == found).all()


def test_a_learnt_threshold_finds_what_a_fixed_one_misses():
    random = np.random.default_rng(0)
    truth = random.random((3000, 5)) < 0.4
    z = np.where(truth, -0.4, -1.2) + random.normal(0, 0.1, truth.shape)
    found = decide_online(z, truth, np.ones(3000, bool))
    assert (found[500:] == truth[500:])[truth[500:].any(axis=1)].mean() > 0.99
    assert decide(z).sum() == 3000


def test_spread_runs_every_seed():
    rows = list(seeds.spread(corpora.synthetic(60, 4), seeds=2, dimensions=256))
    assert {row["seed"] for row in rows} == {0, 1}
    table = seeds.blocks({"spread": rows})["spread"]
    assert "±" in table
    assert seeds.summary(rows, rows[0]["corpus"], "margin") in table


def test_the_caveat_is_a_block_of_the_benchmark():
    assert block("caveat", corpora.PROJECT) == caveats.full()
