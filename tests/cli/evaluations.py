"""Evaluations and samples for reports."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clasher import Clasher
from clasher.cli.report.examples import Sample
from clasher.evaluate import Evaluation, Point, evaluate
from clasher.io import Batch, Fields
from clasher.metrics import Figures, LabelRow

HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "</script><script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "' onmouseover='document.title=1",
    "{{ 7 * 7 }}{% raw %}",
    "a\u202egnp.exe",
    "&lt;b&gt;",
]

TEXTS = {
    "grain": "Wheat and corn prices fell after a good harvest. " * 3,
    "oil": "Crude oil rose, for a pipeline was closed by a storm at sea. " * 3,
    "gold": "Gold and silver are mined in the mountains of the north. " * 3,
}


def figures(f1: float) -> Figures:
    names = Figures.__dataclass_fields__
    return Figures(**dict.fromkeys(names, f1))


def made(rows: Sequence[LabelRow], points: int = 3, every: int = 100) -> Evaluation:
    """Make an evaluation with these labels and a curve of so many points."""

    def at(point: int) -> dict[str, Any]:
        return {
            "documents": point * every,
            "judged": point * every,
            "labels": len(rows),
            "seconds": point / 10,
            "documents_per_second": 10.0 * every,
            "state_bytes": 10_000_000,
            "memory_bytes": 200_000_000,
        }

    shares = [(i, figures(i / points)) for i in range(1, points + 1)]
    curve = [Point(**at(i), cumulative=share, window=share) for i, share in shares]
    return Evaluation(
        **vars(figures(0.8125)),
        **at(points),
        interrupted=False,
        taught=points * every,
        label_probability=1.0,
        every=every,
        window=10,
        clasher="1.2.3",
        settings=Clasher().settings.to_dict(),
        curve=curve,
        per_label=list(rows),
    )


def rows(count: int) -> list[LabelRow]:
    """Make labels from frequent and easy to rare and hard."""
    return [
        LabelRow(f"label number {i}", count - i + 9, count, 0.5, 0.25, round(1 - i / count, 3))
        for i in range(count)
    ]


def batch(labels: Sequence[Any], texts: Sequence[str]) -> Batch:
    return Batch.of([f"d{i}" for i in range(len(texts))], texts, labels, Fields())


def learnt(batches: Sequence[Batch], **settings: Any) -> tuple[Evaluation, Clasher, Sample]:
    """Evaluate a small model on a stream, and keep a sample."""
    model, sample = Clasher(512, max_labels=16, **settings), Sample()
    return evaluate(model, sample.watch(batches), every=10), model, sample


@functools.cache
def learnt_news(names: tuple[str, ...] = (), rule: str = "margin") -> Any:
    """As ``learnt``, of ``news``: shared by tests, which must not change the model."""
    return learnt(news(names or tuple(TEXTS)), rule=rule)


def news(names: Sequence[str] = tuple(TEXTS)) -> list[Batch]:
    """Sixty documents on three topics, the topics called by ``names``."""
    texts = list(TEXTS.values()) * 20
    return [batch([[name] for name in names] * 20, texts)]


def renamed(result: Evaluation, names: Sequence[str]) -> Evaluation:
    """Return the evaluation with other names of labels."""
    pairs = zip(result.per_label, names, strict=True)
    return replace(result, per_label=[row._replace(label=name) for row, name in pairs])
