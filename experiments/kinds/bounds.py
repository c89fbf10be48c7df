"""Compare the guarantees of the theorems with the hashing of real text."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.tables import NONE, distinct, markdown, power_of_two
from clasher.cli.format import significant
from clasher.theory import CountMin, Idf, Norms, Spread, TfIdf, TfIdfSpread
from clasher.theory.distortion import Distortion, Sample, measure
from experiments.claims import NO, YES
from experiments.kinds import decisions
from support.corpora import Corpus

SIZES = [2**power for power in range(10, 21)]
DOCUMENTS = 2000
SEEDS = 3
CONFIDENCE = 0.9
QUANTILES = {"q63": 1 - np.exp(-1), "q90": 0.9, "q99": 0.99}


def distortions(stream: Corpus) -> list[dict[str, Any]]:
    """Measure a stream at every size, with and without IDF."""
    texts = stream.texts[:DOCUMENTS].to_pylist()
    return [result for idf in (False, True) for result in study(stream.name, texts, idf)]


def decided(stream: Corpus) -> list[dict[str, Any]]:
    """Measure how many documents stay in their regions."""
    return list(decisions.decisions(stream))


def study(name: str, texts: list[str], idf: bool) -> list[dict[str, Any]]:
    sample = Sample(texts, idf=idf)
    about = sample.to_dict() | {"corpus": name, "weighting": "tfidf" if idf else "tf"}
    return [
        about
        | {"dimensions": m, "bounds": bounds(sample, m)}
        | figures([measure(sample, m, seed) for seed in range(SEEDS)])
        for m in SIZES
    ]


def bounds(sample: Sample, m: int) -> dict[str, float | None]:
    words, total = sample.frequencies.tolist(), sample.total
    weight = float(sample.largest_weights.min())
    return {
        "theorem_1_without_eq_6": Norms(m, CONFIDENCE).error,
        "theorem_1": Norms(m, CONFIDENCE, weight).error,
        "spread": TfIdfSpread(m, sample.rarity, CONFIDENCE).error,
        "counts": CountMin(m).error,
        "counts_mean": 1 / m,
        "idf": Idf(m, total).error,
        "idf_stated": Idf(m, total).stated,
        "idf_mean": sum(Idf(m, total, f).expected for f in words) / len(words),
        "proposition_1": TfIdf(m, total).error,
    }


def figures(found: list[Distortion]) -> dict[str, Any]:
    """Compute means and quantiles over all documents, pairs or words and all seeds."""
    result: dict[str, Any] = {}
    for name in ("lengths", "products", "cosines", "counts", "idf"):
        values = np.concatenate([getattr(distortion, name).values for distortion in found])
        parts = {key: float(np.quantile(values, part)) for key, part in QUANTILES.items()}
        result[name] = {"mean": float(values.mean())} | parts
    return result


def blocks(found: dict[str, Any]) -> dict[str, str]:
    results = found["distortions"]
    return {
        "samples": _samples(results),
        "tf": _table(results, False, "lengths", "q90", lambda b: _below_one(b["spread"])),
        "tfidf": _each(results, "lengths", "q90", "spread"),
        "cosines": _table(results, True, "cosines", "q90", None),
        "counts": _table(results, False, "counts", "q63", lambda b: significant(b["counts"])),
        "counts_mean": _table(
            results, False, "counts", "mean", lambda b: significant(b["counts_mean"])
        ),
        "idf": _each(results, "idf", "q63", "idf"),
        "idf_mean": _each(results, "idf", "mean", "idf_mean"),
        "theorem_1": _theorem_1(results),
        "decisions": decisions.table(found["decided"]),
    }


def pictures(found: dict[str, Any]) -> dict[str, Any]:
    """Draw how often decisions stay."""
    return {"decisions": decisions.picture(found["decided"])}


def verdicts(found: dict[str, Any]) -> list[list[str]]:
    """Test whether the measurements stay within the guarantees."""
    lines = []
    for name in _corpora(found["distortions"]):
        for what, says in (
            ("lengths", "Length errors of 90 % of the documents (TF) stay within second moments"),
            ("counts", "Count errors of 63 % of the words stay within Theorem 2"),
        ):
            lines.append([says, name, *_inside(found["distortions"], name, what)])
    return lines + decisions.verdicts(found["decided"])


def _inside(results: list[dict[str, Any]], name: str, what: str) -> list[str]:
    """Return the largest measured error at any size, as a share of its bound."""
    part, bound = {"lengths": ("q90", "spread"), "counts": ("q63", "counts")}[what]
    rows = [r for (_, corpus), r in _at(results, False).items() if corpus == name]
    parts = [r[what][part] / r["bounds"][bound] for r in rows if r["bounds"][bound] is not None]
    return [f"at most {max(parts):.0%} of the bound", YES if max(parts) <= 1 else NO]


def _below_one(error: float | None) -> str:
    return NONE if error is None or error >= 1 else significant(error)


def _corpora(results: list[dict[str, Any]]) -> list[str]:
    return distinct(result["corpus"] for result in results)


def _at(results: list[dict[str, Any]], idf: bool) -> dict[tuple[int, str], dict[str, Any]]:
    kind = "tfidf" if idf else "tf"
    return {(r["dimensions"], r["corpus"]): r for r in results if r["weighting"] == kind}


def _samples(results: list[dict[str, Any]]) -> str:
    rows = []
    for name in _corpora(results):
        plain, weighed = (_at(results, idf)[SIZES[0], name] for idf in (False, True))
        rows.append(
            [
                name,
                f"{plain['documents']:,}",
                f"{plain['words']:,}",
                f"{plain['total_frequency'] / plain['documents']:.0f}",
                significant(plain["least_largest_weight"]),
                f"{weighed['rarity']:,.0f}",
            ]
        )
    heads = ["", "documents", "words", "words per document", "smallest ‖x‖∞ (TF)", "rarity ρ"]
    return markdown(heads, rows)


def _table(results: list[dict[str, Any]], idf: bool, what: str, part: str, bound: Any) -> str:
    """Make a table with one bound for all streams."""
    found, names = _at(results, idf), _corpora(results)
    heads = ["m", *(["guarantee"] if bound else []), *names]
    rows = []
    for m in SIZES:
        cells = [found[m, name] for name in names]
        first = [bound(cells[0]["bounds"])] if bound else []
        rows.append([power_of_two(m), *first, *(significant(cell[what][part]) for cell in cells)])
    return markdown(heads, rows)


def _each(results: list[dict[str, Any]], what: str, part: str, bound: str) -> str:
    """Make a table with a bound per stream: guaranteed / measured."""
    found, names = _at(results, True), _corpora(results)
    rows = []
    for m in SIZES:
        cells = [found[m, name] for name in names]
        limit = 1.0 if what == "lengths" else np.log(DOCUMENTS)
        texts = [
            f"{significant(b) if (b := cell['bounds'][bound]) < limit else NONE} / "
            f"{significant(cell[what][part])}"
            for cell in cells
        ]
        rows.append([power_of_two(m), *texts])
    return markdown(["m", *names], rows)


def _theorem_1(results: list[dict[str, Any]]) -> str:
    rows = []
    for m in SIZES:
        bound, spread = Norms(m, CONFIDENCE), Spread(m, CONFIDENCE)
        words = NONE if bound.largest_weight is None else f"{bound.largest_weight**-2:,.0f}"
        rows.append([power_of_two(m), _below_one(bound.error), words, _below_one(spread.error)])
    heads = ["m", "Theorem 1", "different words a document needs", "second moments"]
    return markdown(heads, rows)
