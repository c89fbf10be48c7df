"""Run fastText, a logistic regression per label over averaged word vectors, retrained periodically.

fastText cannot learn online: each training starts from scratch on all labelled documents so far, at
the times of section 6.5, and is timed. A test set is judged after one training on all documents
before it. Words are split and lower-cased before the clock starts. A task that asks for rankings
gets the best labels from one call, and label sets from the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from benchmarks.peers.base import Record, System, Task, bytes_of
from benchmarks.peers.ranked import SEARCHED, THRESHOLD, Probable, decide
from benchmarks.peers.schedule import trainings
from benchmarks.peers.vowpal_wabbit import WORD

SETTINGS: dict[str, Any] = {"loss": "ova", "epoch": 25, "lr": 1.0, "wordNgrams": 1, "thread": 1}
"""Tried on the first 5,000 documents, trained every 1,000; macro / micro F1:

    rate  epochs  reuters21578  arxiv
    0.1       25  .041 / .568   .037 / .271
    0.5        5  .040 / .567   .035 / .260
    0.5       25  .129 / .670   .083 / .371
    0.5       50  .165 / .680   .100 / .381
    0.5      100  .182 / .685   .101 / .382
    1         25  .168 / .685   .100 / .386    with pairs of words: .122 / .658, .067 / .337
    1         50  .184 / .691   .104 / .396
    2         25  fails with NaN

Fifty epochs are twice as slow and do not help later: after training on the first 20,000 of arxiv,
the next 5,000 have .262 / .420 with 10 epochs, .268 / .408 with 25 and .255 / .390 with 50. All
runs with one thread are equal; with two, almost twice as fast, they differ by up to .006."""
BATCH = 1000
PREFIX = "__label__"


def run(task: Task, record: Record) -> None:
    """Predict with the last trained model, and nothing before the first."""
    from fasttext import train_supervised

    schedule = {name: task.options[name] for name in ("first", "every") if name in task.options}
    settings = SETTINGS | {name: task.options[name] for name in task.options.keys() - schedule}
    times = when(task, **schedule)
    names = task.corpus.label_names
    texts, examples = words_and_examples(task)
    asked: dict[str, Any] = {"k": SEARCHED} if task.ranked else {"k": -1, "threshold": THRESHOLD}
    model, trained = None, list[int]()
    with (
        task.scratch() as folder,
        record,
        (folder / "examples").open("w", encoding="utf-8") as file,
    ):
        for part in record.parts(BATCH, cuts=times):
            rows: list[Probable] = [() for _ in texts[part]]
            if model is not None:
                rows = probable(*model.predict(texts[part], **asked))
            predicted, best = decide(names, rows)
            record.predicted(part, predicted, best if task.ranked else None)
            file.writelines(examples[part])
            file.flush()
            if part.stop in times and file.tell():
                model = train_supervised(input=file.name, verbose=0, **settings)
                trained.append(part.stop)
    record.more["trained_at"] = trained
    if model is not None:
        with task.scratch() as folder:
            model.save_model(str(folder / "model"))
            record.more["model_bytes"] = bytes_of(folder)


def probable(labels: Any, probabilities: Any) -> list[Probable]:
    """Read the labels and probabilities that fastText returns for each document.

    >>> probable([("__label__2", "__label__0")], [[0.9, 0.1]])
    [[(2, 0.9), (0, 0.1)]]
    """
    rows = zip(labels, probabilities, strict=True)
    return [[(int(name[len(PREFIX) :]), p) for name, p in zip(*row, strict=True)] for row in rows]


def when(task: Task, **schedule: int) -> tuple[int, ...]:
    """Return the numbers of documents after which to train."""
    if task.test_from is not None:
        return (task.test_from,)
    return tuple(takewhile(lambda documents: documents < len(task), trainings(**schedule)))


def words_and_examples(task: Task) -> tuple[list[str], list[str]]:
    """Return the words of each document, and its training line, which is empty without labels."""
    numbers = {name: number for number, name in enumerate(task.corpus.label_names)}
    texts, examples = [], []
    for text, labels in task.documents():
        texts.append(" ".join(WORD.findall(text.lower())))
        examples.append(example([numbers[label] for label in labels or ()], texts[-1]))
    return texts, examples


def example(labels: Sequence[int], words: str) -> str:
    r"""Make a training line; labels are numbers, because names may have spaces.

    >>> example([2, 10], "crude oil")
    '__label__2 __label__10 crude oil\n'
    >>> example([], "crude oil")
    ''
    """
    return " ".join([*(f"{PREFIX}{label}" for label in labels), words]) + "\n" if labels else ""


SYSTEMS = [
    System(
        name="fasttext",
        title="fastText, retrained",
        library="fasttext-community",
        settings=", ".join(f"{name}={value}" for name, value in SETTINGS.items())
        + f", threshold {THRESHOLD}; trained at 4,000, every 2,000 to 20,000, then every 20,000",
        run=run,
        tiny={"first": 10, "every": 10},
    )
]
