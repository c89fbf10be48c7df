"""Estimators for scikit-learn (extra ``sklearn``)."""

from importlib.util import find_spec

from clasher.errors import MissingExtraError

if find_spec("sklearn") is None:
    raise MissingExtraError.of("The adapter for scikit-learn", "sklearn")

import sklearn

# the first version with today's tags and validation
if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6):
    raise MissingExtraError.too_old("scikit-learn", sklearn.__version__, "1.6", "sklearn")

from clasher.adapters.sklearn.classifier import ClasherClassifier
from clasher.adapters.sklearn.vectorizer import HashedTfidfVectorizer

__all__ = ["ClasherClassifier", "HashedTfidfVectorizer"]
