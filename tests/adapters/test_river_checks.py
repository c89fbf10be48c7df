"""All checks of River."""

import pytest
from river import checks, compose, datasets, preprocessing

from clasher.adapters.river import ClasherClassifier
from tests.adapters.river_streams import Music

pytestmark = pytest.mark.compiled

MODELS = {
    "margin": lambda: ClasherClassifier(1024),
    "centroid": lambda: ClasherClassifier(1024, rule="centroid"),
    "perceptron": lambda: ClasherClassifier(1024, rule="perceptron"),
    "words": lambda: ClasherClassifier(1024, weighting="tfidf", depth=2, words=True),
    "scaled": lambda: compose.Pipeline(preprocessing.StandardScaler(), ClasherClassifier(1024)),
}


def pytest_generate_tests(metafunc):
    patch = pytest.MonkeyPatch()
    patch.setattr(datasets, "Music", Music)  # which River would download
    try:
        given = [
            pytest.param(make(), check, id=f"{name}-{check.__name__}-{number}")
            for name, make in MODELS.items()
            for number, check in enumerate(checks.yield_checks(make()))
        ]
    finally:
        patch.undo()
    metafunc.parametrize(("model", "check"), given)


def test_the_checks_of_river_pass(model, check):
    assert model._unit_test_skips() == set()
    check(model.clone())
