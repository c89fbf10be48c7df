"""Nothing is left to compile after a warm-up."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from clasher import Analyzer, Settings
from clasher.warmup import exercise, small

SETTINGS = {
    "default": {},
    "centroid": {"rule": "centroid", "similarity": "euclidean", "on_full": "evict"},
    "mistake": {"rule": "mistake", "weighting": "given"},
    "perceptron": {"rule": "perceptron", "weighting": "tf", "words": True},
    "all": {
        "weighting": "icf", "detector": "window", "half_life": 100.0, "depth": 2, "pending": 8,
        "conservative": True, "analyzer": Analyzer(ngrams=2, strip_html=True, strip_urls=True),
    },
    "features": {"analyzer": Analyzer(features=True)},
    "tokenizer": {"analyzer": Analyzer(tokenizer=shlex.split)},
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_models_of_all_settings_are_exercised(name):
    settings = Settings(**SETTINGS[name])
    exercise(settings)
    model = small(settings)
    assert model.nbytes < 2**23
    assert set(settings.differences(model.settings)) <= {
        "dimensions", "pending", "max_labels", "max_bytes"
    }  # fmt: skip


AFTER_WARM_UP = """
import sys
from numba.core import event
from clasher import Clasher, Settings
from clasher.evaluate import evaluate
from clasher.warmup import warm_up

rules = "margin", "centroid", "mistake", "perceptron"
warm_up(*(Settings(rule=rule) for rule in rules))
texts = [" ".join(f"w{number * at % 4001}" for at in range(20)) for number in range(3000)]
labels = [{f"label {number % 100}", f"label {number % 3}"} for number in range(3000)]
with event.install_recorder("numba:compile") as compiled:
    for rule in rules:
        model = Clasher(dimensions=4096, rule=rule, max_bytes=400_000)
        evaluate(model, [(texts, labels)], ranked=True)
        assert model.dropped_values or rule == "perceptron"
        assert model.explain("some words").label
        model.probabilities("some words")
        model.learn("some words", {"label 1": True, "label 2": False})
        model.learn_many(texts, labels, threads=2)
        model.observe("some words")
        model.correct(texts[0], labels[0], {"new"})
        model.unlearn(texts[1], labels[1])
        model.save(sys.argv[1])
        model = Clasher.load(sys.argv[1])
        model.step_many(texts, labels)
        model.merge(Clasher.load(sys.argv[1]))
        model.merge_labels("label 0", "label 1")
        model.retire_label("label 5")
        model.forget()
        model.copy().predict_many(texts)
print(sorted({entry.data["dispatcher"].py_func.__name__ for _, entry in compiled.buffer}))
"""


@pytest.mark.trial  # compiles everything
@pytest.mark.compiled
def test_nothing_is_left_to_compile_after_the_warm_up(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    done = subprocess.run(
        [sys.executable, "-c", AFTER_WARM_UP, str(tmp_path / "model")],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"
