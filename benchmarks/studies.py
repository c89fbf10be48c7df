"""The three studies of the benchmark: which systems run on which streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.peers import SYSTEMS, TABLE
from benchmarks.prepared import Prepared, prepare
from benchmarks.runner import Job, say
from support import corpora
from support.corpora import Corpus

REFERENCE_RULE = "clasher-margin"
RULES = ("clasher-margin", "clasher-centroid", "clasher-mistake")
LABELS = (100, 1_000, 10_000)
LABELS_DIMENSIONS = 2**12
"""Dimensions when labels vary: 10,000 labels at 2^16 dimensions would take several GB."""
DIMENSIONS = tuple(2**power for power in (12, 14, 16, 18, 20))
SCALING_DOCUMENTS = 10_000


@dataclass(frozen=True)
class Plan:
    """The options of the command line.

    Parameters
    ----------
    data
        Folder with the corpora.
    work
        Folder for prepared streams.
    corpora
        Names of the corpora to run on; empty for all.
    systems
        Names of the systems of the table; empty for those of ``TABLE``.
    limit
        Use at most this many documents per stream, for a quick run.
    """

    data: Path
    work: Path
    corpora: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    limit: int | None = None

    def paths(self) -> dict[str, Path]:
        """Return the chosen corpora by name; none means the synthetic stream."""
        found = {path.stem: path for path in corpora.find(self.data)}
        missing = [name for name in self.corpora if name not in found]
        if missing:
            raise SystemExit(
                f"no corpus {', '.join(missing)} in {self.data}; it has: "
                f"{', '.join(found) or 'none'}. Name another folder with --data."
            )
        return {name: found[name] for name in self.corpora} if self.corpora else found

    def streams(self) -> Iterator[Corpus]:
        """Yield the corpora, or the synthetic stream if there are none."""
        paths = self.paths()
        if not paths:
            say(f"no corpora in {self.data}: using the synthetic stream")
            yield corpora.synthetic().head(self.limit)
        for path in paths.values():
            yield corpora.load(path).head(self.limit)

    def largest(self) -> Corpus:
        """Return the largest corpus, for studies that need only one."""
        paths = self.paths()
        if not paths:
            return next(self.streams())
        path = max(paths.values(), key=lambda path: path.stat().st_size)
        return corpora.load(path).head(self.limit)


def table(plan: Plan) -> list[Job]:
    """Run every system on every corpus, and the default rule on the parts that slow systems get."""
    chosen = [SYSTEMS[name] for name in plan.systems or TABLE]
    jobs = []
    for corpus in plan.streams():
        prepared = _prepare(corpus, plan)
        fit = [s for s in chosen if not s.max_labels or len(corpus.label_names) <= s.max_labels]
        limits = {s.name: _limit(s.limit, corpus) for s in fit}
        jobs += [Job(name, prepared, limit, once=bool(limit)) for name, limit in limits.items()]
        shorter = sorted({limit for limit in limits.values() if limit})
        jobs += [Job(REFERENCE_RULE, prepared, limit) for limit in shorter]
    return jobs


def _limit(limit: int | None, corpus: Corpus) -> int | None:
    return limit if limit is not None and limit < len(corpus) else None


def flat(plan: Plan) -> list[Job]:
    """Run the largest corpus in its order, in which documents and labels change, and shuffled."""
    corpus = plan.largest()
    shuffled = replace(corpus.shuffled(), name=f"{corpus.name}-shuffled")
    return [
        Job(rule, prepared)
        for prepared in (_prepare(corpus, plan), _prepare(shuffled, plan))
        for rule in RULES
    ]


def scaling(plan: Plan) -> list[Job]:
    """Vary the number of labels, and the number of dimensions."""
    documents = min(plan.limit or SCALING_DOCUMENTS, SCALING_DOCUMENTS)
    jobs = []
    for labels in LABELS:
        prepared = _prepare(corpora.synthetic(documents, labels), plan)
        options = {"dimensions": LABELS_DIMENSIONS, "max_labels": labels}
        jobs += [Job(rule, prepared, options=options) for rule in RULES]
    prepared = _prepare(plan.largest().head(documents), plan)
    for dimensions in DIMENSIONS:
        jobs += [Job(rule, prepared, options={"dimensions": dimensions}) for rule in RULES]
    return jobs


def _prepare(corpus: Corpus, plan: Plan) -> Prepared:
    say(f"preparing {corpus.name} ({len(corpus):,} documents)")
    return prepare(corpus, plan.work)


STUDIES = {"table": table, "flat": flat, "scaling": scaling}
