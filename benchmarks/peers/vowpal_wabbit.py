"""Run Vowpal Wabbit: linear models in a shared hashed table.

``--multilabel_oaa`` has one model per label. ``--plt`` has one per node of a binary tree whose
leaves are the labels, and follows only the likely branches: a probabilistic label tree.

Its C++ driver reads, predicts and learns the whole file, and parses in a second thread; Python only
starts it, and cannot record the time before it ends. Words are split and lower-cased before the
clock starts. It cannot express "none of the labels", so it does not learn unlabelled documents.
Both reductions predict each line before they learn it: tests check it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.peers.base import Record, System, Task
from benchmarks.peers.decision_rule import decide_online
from benchmarks.peers.ranked import BEST, THRESHOLD
from benchmarks.peers.scikit_learn import label_sets, matrix
from clasher import LabelSets
from clasher.labels import Rankings

BITS = 24
"""2^24 weights in 256 MB. The default of 18 bits is too few for words × labels (arxiv: macro F1 .29
instead of .42); 26 bits gain .003 there, for twice the memory in use."""

WORD = re.compile(r"[^\W_]{2,}")
"""A word, as clasher splits text: two or more letters or digits."""

SPECIAL = re.compile(r"[\s:|]+")
"""Characters with a meaning in Vowpal Wabbit's format, which no word may contain."""


def run(arguments: str, task: Task, record: Record) -> None:
    """Predict the stream progressively, in one pass."""
    with task.scratch() as folder:
        predicted = label_sets_of(task, drive(arguments, task, folder, record))
    record.predicted(slice(0, len(task)), predicted)


def run_tree(arguments: str, task: Task, record: Record) -> None:
    """Predict label sets with a threshold, or also rank the best labels.

    The driver prints either. The clock then runs while it ranks, and label sets come from a second
    pass, which learns the same model, because predicting changes nothing.
    """
    sets = f"--plt N --threshold {THRESHOLD} {arguments}"
    ranking = f"--plt N --top_k {BEST} {arguments}"
    with task.scratch() as folder:
        best = None
        if task.ranked:
            best = Rankings(label_sets_of(task, drive(ranking, task, folder, record)))
        predicted = label_sets_of(task, drive(sets, task, folder, None if best else record))
    record.predicted(slice(0, len(task)), predicted, best)


def drive(arguments: str, task: Task, folder: Path, record: Record | None) -> Path:
    """Run the driver, on the clock of a record if there is one; return its predictions.

    "N" in the arguments stands for the number of labels, which it must know in advance.
    """
    from vowpalwabbit import Workspace

    mask = zlib.crc32(task.learnt.tobytes())
    stream = task.file(f"stream-{len(task)}-{mask:08x}.vw", write)
    stream.read_bytes()  # into the page cache
    predictions, model = folder / "predictions", folder / "model"
    arguments = arguments.replace("N", str(len(task.corpus.label_names)), 1)
    with record or nullcontext():
        driver = Workspace(f"{arguments} -d {stream} -p {predictions} --quiet --no_stdin")
    if record:
        driver.save(str(model))
        record.more["model_bytes"] = model.stat().st_size
    driver.finish()
    return predictions


def label_sets_of(task: Task, predictions: Path) -> LabelSets:
    """Read the labels of all documents, in the order of the file."""
    return LabelSets(task.corpus.label_names, *read_predictions(predictions))


def run_decided(arguments: str, task: Task, record: Record) -> None:
    """Train one binary model per label, and apply our decision rule to their scores.

    ``--multilabel_oaa`` learns the same models, but prints no scores. Each model takes a separate
    pass over the stream, so the time says nothing about Vowpal Wabbit.
    """
    from vowpalwabbit import Workspace

    names, learnt = task.corpus.label_names, task.learnt
    truth = matrix(task.corpus.labels.to_pylist(), names).astype(bool)
    words = [line((), WORD.findall(text.lower())) for text, _ in task.documents()]
    scores = np.empty(truth.shape)
    with task.scratch() as folder, record:
        stream, predictions = folder / "stream", folder / "predictions"
        for number in range(len(names)):
            signs = np.where(learnt, np.where(truth[:, number], "1", "-1"), "")
            lines = (f"{sign}{rest}\n" for sign, rest in zip(signs, words, strict=True))
            stream.write_text("".join(lines), encoding="utf-8")
            Workspace(f"{arguments} -d {stream} -p {predictions} --quiet --no_stdin").finish()
            scores[:, number] = np.loadtxt(predictions, usecols=0, ndmin=1)
        predicted = decide_online(scores, truth, learnt)
    record.predicted(slice(0, len(task)), label_sets(predicted, names))


def write(task: Task, path: Path) -> None:
    """Write labels as numbers of the sorted names; a line without labels is not learnt."""
    numbers = {name: number for number, name in enumerate(task.corpus.label_names)}
    with path.open("w", encoding="utf-8") as file:
        for text, labels in task.documents():
            words = WORD.findall(text.lower())
            file.write(line((numbers[label] for label in labels or ()), words) + "\n")


def line(labels: Iterable[int], words: Iterable[str]) -> str:
    """Make one line; labels must ascend, or Vowpal Wabbit silently learns wrong ones.

    >>> line([10, 2, 2], ["oil", "a:b|c"])
    '2,10 | oil a_b_c'
    """
    written = (SPECIAL.sub("_", word) for word in words)
    return f"{','.join(map(str, sorted(set(labels))))} | {' '.join(written)}"


def read_predictions(path: Path) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Read the label numbers of all documents and their bounds; a line looks like "2,10"."""
    lines = path.read_text().splitlines()
    numbers = [[int(number) for number in line.split(",") if number.strip()] for line in lines]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in numbers]))).astype(np.int64)
    return np.array([number for row in numbers for number in row], np.int32), indptr


def _system(name: str, title: str, arguments: str) -> System:
    return System(
        name=name,
        title=f"Vowpal Wabbit {title}",
        library="vowpalwabbit",
        settings=f"--multilabel_oaa N {arguments}",
        run=partial(run, f"--multilabel_oaa N {arguments}"),
    )


HINGE, LOGISTIC = (f"--loss_function {loss} -b {BITS}" for loss in ("hinge", "logistic"))
TREE = f"{LOGISTIC} -l 2"
SYSTEMS = [
    _system("vw-hinge", "hinge", HINGE),
    _system("vw-hinge-rate-2", "hinge, rate 2", f"{HINGE} -l 2"),
    _system("vw-logistic", "logistic", LOGISTIC),
    _system("vw-logistic-rate-2", "logistic, rate 2", f"{LOGISTIC} -l 2"),
    System(
        name="vw-hinge-decided",
        title="Vowpal Wabbit hinge, our decision rule",
        library="vowpalwabbit",
        settings=f"{HINGE}, one model per label; best label, threshold learnt online",
        run=partial(run_decided, HINGE),
        max_labels=150,
    ),
    System(
        name="vw-plt",
        title="Vowpal Wabbit label tree",
        library="vowpalwabbit",
        settings=f"--plt N --kary_tree 2 --threshold {THRESHOLD} {TREE}",
        run=partial(run_tree, f"--kary_tree 2 {TREE}"),
    ),
]
"""Tried on the first 5,000 documents at several rates (0.5 is the default); macro / micro F1:

    loss      rate  reuters21578  arxiv
    hinge     0.25  .231 / .798   .153 / .531
    hinge      0.5  .241 / .804   .178 / .554
    hinge        2  .262 / .809   .184 / .555
    hinge        8  .270 / .811   .184 / .554
    logistic   0.5  .214 / .779   .147 / .522
    logistic     2  .247 / .763   .205 / .512
    logistic     8  .255 / .754   .199 / .492

On whole streams, none of the rates 0.5, 2 and 8 is best in both measures everywhere. Not better on
both corpora than rate 2 alone: ``--power_t`` of 0, 0.25 and 0.75, ``--l2`` of 1e-8 and 1e-6,
``--ftrl``, ``--coin``, ``--adaptive --invariant``.

Tried ``--plt`` on the first 5,000 documents too; macro / micro F1, precision at 1 and 5:

    rate  arity  nyt                       arxiv
     0.5      2  .001 / .011, .190, .106   .104 / .442, .624, .320
       2      2  .003 / .044, .240, .117   .171 / .516, .629, .313
       8      2  .012 / .102, .230, .110   .196 / .515, .606, .304
       2      8  .006 / .059, .259, .123   ranks labels that do not exist"""
