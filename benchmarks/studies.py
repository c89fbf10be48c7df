"""The studies of the benchmark: which systems run on which streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.peers import SYSTEMS, TABLE
from benchmarks.prepared import Prepared, prepare
from benchmarks.runner import Job, say
from support import corpora
from support.corpora import Corpus

REFERENCE_RULE = "clasher-margin"
RULES = ("clasher-margin", "clasher-centroid", "clasher-mistake")
DIMENSIONS = tuple(2**power for power in (12, 14, 16, 18, 20))
SCALING_DOCUMENTS = 10_000

SYNTHETIC = {100: 100_000, 1_000: 100_000, 10_000: 100_000, 100_000: 1_000_000}
"""Labels and documents of the made-up streams of the study of labels."""

MOST_DOCUMENTS = 100_000
"""Longer made-up streams run once."""
MOST_MODELS = 1_000
"""With more labels, Vowpal Wabbit's one model per label gets the first documents only."""
FIRST = 10_000
"""All systems are compared on this many documents too: slow ones finish little more."""
RETRAINED: dict[str, dict[str, Any]] = {"napkinxc": {}, "omikuji": {}, "fasttext": {"lr": 0.2}}
"""The systems that cannot learn online, and their options. On nyt, fastText fails with NaN at its
rate of 1, and at 0.5. On the first 5,000 documents, trained every 2,000, it has a macro / micro F1
of .008 / .073 at 0.2, and of .003 / .035 at 0.1."""
SECONDS = 300.0
"""The time limit of those."""
MAX_BYTES = tuple(megabytes * 10**6 for megabytes in (400, 200, 100, 50, 25))


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

    def most_labels(self) -> Corpus:
        """Return the corpus with the most labels."""
        paths = self.paths()
        if not paths:
            return next(self.streams())
        whole = map(corpora.load, paths.values())
        return max(whole, key=lambda corpus: len(corpus.label_names)).head(self.limit)


def table(plan: Plan) -> list[Job]:
    """Run every system on every corpus, and the default rule on the parts that slow systems get."""
    chosen = [SYSTEMS[name] for name in plan.systems or TABLE]
    jobs = []
    for corpus in plan.streams():
        if len(corpus.label_names) > MOST_MODELS and not plan.corpora:
            say(f"leaving {corpus.name} to the study of labels")
            continue
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
    """Vary the number of dimensions."""
    documents = min(plan.limit or SCALING_DOCUMENTS, SCALING_DOCUMENTS)
    prepared = _prepare(plan.largest().head(documents), plan)
    return [
        Job(rule, prepared, options={"dimensions": dimensions})
        for dimensions in DIMENSIONS
        for rule in RULES
    ]


def labels(plan: Plan) -> list[Job]:
    """Run streams with many labels, and the default rule in less and less memory."""
    most, largest = plan.most_labels(), plan.largest()
    streams = {corpus.name: _prepare(corpus, plan) for corpus in (most, largest)}
    jobs = _many_labels(streams[most.name], len(most))
    for count, documents in SYNTHETIC.items():
        documents = min(plan.limit or documents, documents)
        prepared = _prepare(corpora.zipf(documents, count), plan)
        first = FIRST if count > MOST_MODELS and documents > FIRST else None
        points = (FIRST,) if first else ()
        once = documents > MOST_DOCUMENTS
        jobs.append(Job(REFERENCE_RULE, prepared, points=points, ranked=True, once=once))
        jobs.append(Job("vw-hinge", prepared, first, once=True))
    if largest.name != most.name:
        jobs.append(Job(REFERENCE_RULE, streams[largest.name], ranked=True))
    return jobs + [
        Job(REFERENCE_RULE, prepared, options={"max_bytes": most_bytes}, ranked=True, once=True)
        for prepared in streams.values()
        for most_bytes in MAX_BYTES
    ]


def _many_labels(prepared: Prepared, documents: int) -> list[Job]:
    """Compare all systems that can have so many labels, on all documents and on the first."""
    points = tuple(range(FIRST, documents, FIRST))
    jobs = [Job(REFERENCE_RULE, prepared, points=points, ranked=True)]
    jobs += [
        Job(name, prepared, limit, ranked=True, once=True)
        for limit in ([None, FIRST] if points else [None])
        for name in ("vw-hinge", "vw-plt")
    ]
    jobs += [
        Job(name, prepared, options=options, points=points, seconds=SECONDS, ranked=True, once=True)
        for name, options in RETRAINED.items()
    ]
    return jobs


def _prepare(corpus: Corpus, plan: Plan) -> Prepared:
    say(f"preparing {corpus.name} ({len(corpus):,} documents)")
    return prepare(corpus, plan.work)


STUDIES = {"table": table, "flat": flat, "scaling": scaling, "labels": labels}
