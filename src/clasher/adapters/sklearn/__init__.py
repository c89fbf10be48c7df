"""Estimators for scikit-learn: the extra ``sklearn``."""

from importlib.util import find_spec

from clasher.errors import MissingExtraError

if find_spec("sklearn") is None:
    raise MissingExtraError.of("The adapter for scikit-learn", "sklearn")

import sklearn

# the first version with the tags and the validation that estimators are written with today
if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6):
    raise MissingExtraError(
        f"scikit-learn {sklearn.__version__} is too old, 1.6 or later is needed: "
        f"pip install --upgrade 'clasher[sklearn]'"
    )

from clasher.adapters.sklearn.classifier import ClasherClassifier
from clasher.adapters.sklearn.vectorizer import HashedTfidfVectorizer

__all__ = ["ClasherClassifier", "HashedTfidfVectorizer"]
