import ast
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clasher
from clasher.errors import ClasherError

CORE = (
    "datasets.archives", "datasets.dataset", "datasets.document", "datasets.parquet",
    "datasets.rcv1", "datasets.synthetic", "errors",
    "evaluate", "kernels.state", "labels", "learning.drift", "learning.explain",
    "learning.hashed_model", "learning.late_labels", "learning.memory", "learning.merge",
    "learning.model_file",
    "metrics", "model", "runtime.deltas", "runtime.shards", "settings",
    "text.analyzer", "text.hashing", "text.label_names", "text.tokens",
    "theory.bounds", "theory.distortion", "theory.plan",
    "unsupervised.clusters", "unsupervised.similar", "unsupervised.vectors", "version",
    "vocabulary",
)  # fmt: skip
OPTIONAL = (
    "click", "rich", "plotly", "psutil", "pandas", "polars", "sklearn", "river", "pytest",
    "hypothesis", "Stemmer", "stop_words", "apsw", "pyspark", "rdflib",
)  # fmt: skip


def documented_classes():
    """The classes of the core that the reference documents."""
    pages = (Path(__file__).parents[1] / "docs" / "reference").glob("api*.md")
    listed = re.findall(r"^::: .*?(\w+)$", "".join(page.read_text() for page in pages), re.M)
    for module in CORE:
        names = vars(importlib.import_module(f"clasher.{module}"))
        for name, value in names.items():
            is_ours = getattr(value, "__module__", "") == f"clasher.{module}"
            if inspect.isclass(value) and is_ours and name in listed:
                yield value


def test_the_public_names():
    assert clasher.__all__ == sorted(clasher.__all__)
    assert dir(clasher) == clasher.__all__
    for name in clasher.__all__:
        value = getattr(clasher, name)
        assert name == "__version__" or value.__doc__
    with pytest.raises(AttributeError, match="module 'clasher' has no attribute 'nothing'"):
        clasher.nothing  # noqa: B018


def test_names_are_loaded_once():
    assert clasher.Clasher is clasher.Clasher
    assert "Clasher" in vars(clasher)


@pytest.mark.parametrize("value", list(documented_classes()), ids=lambda value: value.__name__)
def test_every_class_and_method_has_a_docstring(value):
    assert value.__doc__
    for name, member in vars(value).items():
        if not name.startswith("_") and (
            inspect.isfunction(member) or isinstance(member, property)
        ):
            assert inspect.getdoc(member), f"{value.__name__}.{name}"


@pytest.mark.parametrize("name", [n for n in clasher.__all__ if n != "__version__"])
def test_every_public_class_has_an_example(name):
    value = getattr(clasher, name)
    if not issubclass(value, ClasherError):  # errors are raised, not made
        assert ">>>" in value.__doc__


def test_every_error_has_one_root():
    errors = importlib.import_module("clasher.errors")
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, Exception):
            assert issubclass(value, ClasherError)
            assert name in errors.__doc__


WITHOUT_EXTRAS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import clasher
from clasher import *
model = Clasher(64, max_labels=4)
model.learn_many(["oil", "wheat"], [{{"energy"}}, {{"grain"}}])
model.step_many(["oil"], [{{"energy"}}])
model.predict("oil"), model.probabilities_many(["oil"]), model.explain("oil")
model.unlearn("oil", {{"energy"}})
model.merge_labels("energy", "grain")
model.learn_many(["oil", "wheat"], [{{"energy"}}, {{"grain"}}], threads=2)
model.save(sys.argv[1])
assert Clasher.load(sys.argv[1]).labels == model.labels
from clasher.evaluate import evaluate
from clasher.datasets import load
print("works")
"""


def test_the_core_works_without_any_extra(tmp_path):
    script = WITHOUT_EXTRAS.format(blocked=OPTIONAL)
    run = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "model"], capture_output=True, text=True
    )
    assert (run.stdout, run.returncode) == ("works\n", 0), run.stderr


def test_importing_the_package_loads_nothing_heavy():
    script = "import sys, clasher; print({'numba', 'numpy', 'pyarrow'} & sys.modules.keys())"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ
    )
    assert run.stdout == "set()\n"


def test_numba_is_imported_with_the_first_document_only():
    script = """
import sys
from clasher import Clasher, LabelSets
LabelSets.of([{"oil"}])
assert "numba" not in sys.modules
Clasher(64, max_labels=4).observe("oil")
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nothing_is_pickled():
    """Neither written nor read: a model file cannot run code."""
    for module in pkgutil.walk_packages(clasher.__path__, "clasher."):
        source = importlib.util.find_spec(module.name).origin
        with open(source, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        imported = {
            name.name if isinstance(node, ast.Import) else node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in node.names
        }
        assert not imported & {"pickle", "marshal", "shelve", "joblib", "dill"}, module.name
