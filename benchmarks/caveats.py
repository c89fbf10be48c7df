"""State the limits of the F1 figures beside each table.

The figures in these caveats come from experiments too, so a command makes every figure of a page.
"""

from __future__ import annotations

import json
from textwrap import fill
from typing import Any

from benchmarks.tables import both_f1, distinct, f1_spread
from support.corpora import PROJECT

RESULTS = PROJECT / "experiments" / "results"
WIDTH = 120

WARNING = "**Single runs.**"
WITHDRAWN = (
    "micro F1 against the balanced SVM",
    "the perceptron against Mode 1",
    "that online IDF restores inner products",
)
"""Verdicts of earlier pages that the measurements do not decide."""


def full() -> str:
    """Return the long caveat, with figures, for pages with tables of all systems."""
    streams = _seeds("margin")
    spread = ", ".join(f"{figures} on {corpus}" for corpus, figures in streams.items())
    vw = _pair("rule-stream", "goemotions", "vw-hinge", "vw-hinge-decided")
    svm = _pair("rule-test", "reuters21578", "svm-full-tuned", "svm-full-tuned-decided")
    ours = _scores("rule-test", "reuters21578", "clasher-margin")
    paragraphs = (
        f"{WARNING} F1 comes from one run with seed 0. The seed decides which words share a "
        "bucket, and which labels are hidden where only a few are given. Over the seeds 0 to 7, "
        f"clasher margin has (mean ± standard deviation, macro / micro) {spread} "
        "(`python -m experiments seeds`).",
        "The peers ran without the decision rule of clasher margin, which always predicts the "
        "best label and learns its threshold online. With it, Vowpal Wabbit hinge has "
        f"{vw} on goemotions (`python -m experiments rule-stream`). The balanced SVM has "
        f"{svm} on the odd days of reuters21578 if it always predicts the best label; clasher "
        f"margin has {ours} there (`python -m experiments rule-test`).",
        "The experiments will be repeated with several seeds, and with this rule for all "
        f"systems. Until then, these verdicts are withdrawn: {'; '.join(WITHDRAWN)}.",
    )
    return "\n\n".join(map(_wrap, paragraphs))


def short() -> str:
    """Return the short caveat, with links, for the page of one experiment."""
    text = (
        f"{WARNING} Every figure comes from one run with seed 0. [Other seeds](seeds.md) move F1 "
        "by a few thousandths, so a difference of less than .010 decides nothing. The peers ran "
        "without the decision rule of Mode 3; see what it changes [on a stream](rule-stream.md) "
        "and [on a test set](rule-test.md)."
    )
    return _wrap(text)


def _wrap(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _seeds(rule: str) -> dict[str, str]:
    """Compute mean ± standard deviation over seeds, by corpus."""
    rows = [row for cell in _results("seeds")["cells"] for row in cell["result"]]
    return {
        corpus: f1_spread([row for row in rows if (row["corpus"], row["rule"]) == (corpus, rule)])
        for corpus in distinct(row["corpus"] for row in rows)
    }


def _pair(experiment: str, corpus: str, without: str, with_rule: str) -> str:
    plain, decided = (_scores(experiment, corpus, system) for system in (without, with_rule))
    return f"{decided} instead of {plain}"


def _scores(experiment: str, corpus: str, system: str) -> str:
    """Find macro F1 / micro F1 of a system in the results of an experiment."""
    for cell in _results(experiment)["cells"]:
        if (cell["stream"]["name"], cell["what"]["system"]) == (corpus, system):
            return both_f1(cell["result"])
    raise SystemExit(f"no {system} on {corpus}: run python -m experiments {experiment}")


def _results(experiment: str) -> dict[str, Any]:
    path = RESULTS / f"{experiment}.json"
    if not path.exists():
        raise SystemExit(f"no results yet: run python -m experiments {experiment}")
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results
