"""A learning backend for Annif, the toolkit of libraries for subject indexing: the extra ``annif``.

Annif's backends are a fixed table; ``register`` adds ``clasher`` to it, for this process.
"""

from importlib.util import find_spec

from clasher.errors import MissingExtraError

if find_spec("annif") is None:
    raise MissingExtraError.of("Annif", "annif")

import annif.backend

from clasher.adapters.annif.backend import ClasherBackend

__all__ = ["ClasherBackend", "register"]


def register() -> None:
    """Make ``backend=clasher`` known to the Annif of this process."""
    table = getattr(annif.backend, "_backend_fns", None)
    if not isinstance(table, dict):
        raise MissingExtraError(
            "this version of Annif keeps its backends elsewhere; take 1.4: "
            "pip install 'clasher[annif]'"
        )
    table[ClasherBackend.name] = lambda: ClasherBackend
