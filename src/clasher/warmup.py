"""Compile ahead what settings use, so that the first document of a new process does not wait.

Small models with these settings do everything that a model can do, so that a kernel that an
operation starts to use needs no entry anywhere.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import NamedTuple

from clasher.errors import SettingError
from clasher.kernels.margin import EVERY
from clasher.learning import memory
from clasher.learning.merge import Sketch
from clasher.metrics import Metrics, RankedMetrics
from clasher.model import Clasher
from clasher.runtime import deltas
from clasher.settings import GIVEN, Settings
from clasher.text.hashing import Hashed

SMALL = 64  # dimensions
NAMES = [f"label {number}" for number in range(memory.FIRST_CAPACITY + 1)]  # room must grow
LABELS = [{name} for name in NAMES]
TEXTS = [f"<b>words &amp; 12 {name}</b> more! https://example.org" for name in NAMES]
FEATURES = [{"length": number + 0.5, "name": name} for number, name in enumerate(NAMES)]


class WarmUp(NamedTuple):
    """What ``warm_up`` did.

    Attributes
    ----------
    compiled : int
        Kernels that it compiled; 0 if all were there already.
    loaded : int
        Kernels that it found on disk.
    seconds : float
        CPU seconds that this took.
    folder : str or None
        The folder that keeps them; None if there is none that can be written.
    """

    compiled: int
    loaded: int
    seconds: float
    folder: str | None


def warm_up(*settings: Settings) -> WarmUp:
    """Compile the kernels that models with these settings use, by default ``Settings()``.

    They are kept on disk: a process that comes later loads them. Kernels are compiled for the
    processor of this machine.

    >>> from clasher import Settings
    >>> from clasher.warmup import warm_up
    >>> done = warm_up(Settings(rule="perceptron"))  # doctest: +SKIP
    >>> done.compiled, done.folder  # doctest: +SKIP
    (33, '/opt/clasher/lib/python3.13/site-packages/clasher/kernels/__pycache__')
    """
    from clasher.kernels.cache import Tally, is_compiling

    if not is_compiling():
        raise SettingError("NUMBA_DISABLE_JIT is set, so nothing can be compiled; unset it")
    start, compiled, loaded = process_time(), Tally.compiled, Tally.loaded
    for each in settings or (Settings(),):
        exercise(each)
    return WarmUp(
        Tally.compiled - compiled, Tally.loaded - loaded, process_time() - start, Tally.folder
    )


def exercise(settings: Settings) -> None:
    """Do everything that a model can do, with small models."""
    model = small(settings)
    learn(model)
    predict(model)
    explain(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        model = Clasher.load(path, tokenizer=settings.analyzer.tokenizer)
    combine(model)
    change(model)
    run_out_of_memory(model)


def small(settings: Settings) -> Clasher:
    """Return a model with these settings, apart from sizes, which change no kernel."""
    settings = replace(
        settings,
        dimensions=min(settings.dimensions, SMALL),
        pending=min(settings.pending, 4),
        max_labels=2 * len(NAMES),
        max_bytes=2**28,  # reserved, not used
    )
    return Clasher(**vars(settings))


def learn(model: Clasher) -> None:
    """Learn documents, and measure the predictions, as an evaluation does."""
    hashed, metrics, ranked = documents(model), Metrics(), RankedMetrics()
    predicted, best = model.step_and_rank_many(hashed, LABELS)
    metrics.update_many(LABELS, predicted)
    ranked.update_many(LABELS, best)
    if model.settings.pending:
        model.observe_many(hashed.part(0, 1), ["late"])
        model.learn_later("late", {NAMES[0]})


def predict(model: Clasher) -> None:
    """Predict and rank labels."""
    hashed = documents(model)
    model.decide_many(hashed)
    model.rank_many(hashed)


def explain(model: Clasher) -> None:
    """Explain a document and describe a label that was learnt."""
    model.neighbours(NAMES[0])
    _ = model.threshold
    if reads_text(model.settings):
        model.explain(TEXTS[0])
    if model.settings.keeps_words:
        model.top_words(NAMES[0])


def combine(model: Clasher) -> None:
    """Merge the model with others, as threads and Spark do."""
    while model.labelled < EVERY:  # with fewer, no threshold is chosen
        learn(model)
    model.merge(model.copy())
    if not model.settings.forgets:
        before = Sketch.of(model.state)
        deltas.make_room(model)
        part = deltas.begin(model, before)
        learn(part)
        model.add_difference(deltas.difference(part, model, before))


def change(model: Clasher) -> None:
    """Learn another document, unlearn one, forget, and merge and retire labels."""
    learn(model)
    if reads_text(model.settings):
        model.correct(TEXTS[0], LABELS[0], LABELS[1])
    model.forget(0.5)
    model.forget(0.5, LABELS[0])
    model.merge_labels(NAMES[0], NAMES[1])
    model.rename_label(NAMES[1], NAMES[0])
    model.retire_label(NAMES[2])


def run_out_of_memory(model: Clasher) -> None:
    """Make room in the memory of the model, as if it were full."""
    memory.make_room(model.state, model.settings, times=1)
    learn(model)


def documents(model: Clasher) -> Hashed:
    """Hash a document for each label, in the form that the settings ask for."""
    settings, many = model.settings, len(NAMES)
    if settings.weighting == GIVEN:
        return model.take_rows(range(many + 1), [0] * many, [1.0] * many)
    return model.hash_features(FEATURES) if settings.analyzer.features else model.hash_many(TEXTS)


def reads_text(settings: Settings) -> bool:
    """Whether documents are text, neither features nor rows of a matrix."""
    return settings.weighting != GIVEN and not settings.analyzer.features
