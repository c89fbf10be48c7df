"""All checks of scikit-learn, on arrays."""

import numpy as np
import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from clasher.adapters.sklearn import ClasherClassifier, HashedTfidfVectorizer

pytestmark = pytest.mark.compiled

OF_FRACTIONS = {
    "check_classifiers_multilabel_output_format_predict_proba": (
        "the scores of the paper's rules are fractions of a region's documents (Eq. 15), and 1 is "
        "one of them: that of the region's own label; the check wants less than 1"
    )
}


def expected(estimator):
    return OF_FRACTIONS if getattr(estimator, "rule", None) == "centroid" else {}


@parametrize_with_checks(
    [
        ClasherClassifier(),
        ClasherClassifier(rule="centroid"),
        ClasherClassifier(rule="perceptron", norm="none", epochs=3),
        HashedTfidfVectorizer(),
        HashedTfidfVectorizer(sparse_output=False, weighting="tf", tf="count"),
    ],
    expected_failed_checks=expected,
)
def test_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [ClasherClassifier(), HashedTfidfVectorizer()])
def test_the_checks_are_not_those_of_an_estimator_that_takes_strings_only(estimator):
    names = {
        check.func.__name__ if hasattr(check, "func") else check.__name__
        for _, check in estimator_checks.estimator_checks_generator(estimator)
    }
    assert len(names) > 30
    assert {"check_estimators_pickle", "check_estimator_sparse_array", "check_fit1d"} <= names


def test_several_outputs_where_the_threshold_is_a_half():
    """The checks for estimators that predict exactly the labels above one half."""
    classifier = ClasherClassifier(threshold=0.5, at_least_one=False)
    estimator_checks.check_classifier_multioutput("ClasherClassifier", classifier)


@pytest.mark.parametrize("estimator", [ClasherClassifier(), HashedTfidfVectorizer()])
def test_objects_that_are_numbers_are_taken_and_others_refused(estimator):
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(object)
    y = np.arange(20) % 2
    assert estimator.fit(X, y).n_features_in_ == 3
    X[0, 0] = {"not": "a number"}
    with pytest.raises(TypeError, match=r"argument must be .*string.* number"):
        estimator.fit(X, y)
