"""Estimators for scikit-learn: the extra ``sklearn``.

==============  ===================================================================================
module          what it does
==============  ===================================================================================
``vectorizer``  ``HashedTfidfVectorizer``: text, or counts, to hashed TF-IDF learnt online
``classifier``  ``ClasherClassifier``: a model behind ``fit``, ``partial_fit`` and ``predict``
``inputs``      what X may be: text, a table with a column of text, or a matrix of features
``targets``     what y may be: a label each, an indicator matrix, or sets of labels
``deciding``    what a model says, in the forms that y may have
``fitted``      what both estimators do alike: to read X, to be pickled
==============  ===================================================================================
"""

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
