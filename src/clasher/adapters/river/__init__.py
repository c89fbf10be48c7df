"""Clashing in River's pipelines and evaluations: the extra ``river``.

==============  ===================================================================================
module          what it does
==============  ===================================================================================
``classifier``  ``ClasherClassifier``: a multi-label classifier as River knows them
``batches``     rows and columns of data frames
``naming``      labels that are text or integers
==============  ===================================================================================
"""

from importlib.metadata import PackageNotFoundError, version

from clasher.errors import MissingExtraError

OLDEST = "0.22"  # the first that works with NumPy 2


def check_river() -> None:
    """Refuse to go on without River, or with one that is too old."""
    try:
        found = version("river")
    except PackageNotFoundError as error:
        raise MissingExtraError.of("The classifier for River", "river") from error
    if [int(part) for part in found.split(".")[:2]] < [int(part) for part in OLDEST.split(".")]:
        raise MissingExtraError.too_old("River", found, OLDEST, "river")


check_river()

from clasher.adapters.river.classifier import ClasherClassifier  # noqa: E402

__all__ = ["ClasherClassifier"]
