"""The systems under test, one module each; ``python -m benchmarks.peers`` runs one once."""

from benchmarks.peers import (
    clasher_rules,
    embeddings,
    exact,
    fasttext_retrained,
    hoeffding_trees,
    label_trees,
    nearest,
    river_pipeline,
    scikit_learn,
    svm,
    vowpal_wabbit,
)
from benchmarks.peers.base import System

SYSTEMS: dict[str, System] = {
    system.name: system
    for module in (
        clasher_rules,
        vowpal_wabbit,
        scikit_learn,
        river_pipeline,
        exact,
        nearest,
        svm,
        fasttext_retrained,
        label_trees,
        embeddings,
        hoeffding_trees,
    )
    for system in module.SYSTEMS
}
"""Every system by name, in the order of the tables."""

TABLE = (
    *(
        f"clasher-{rule}{way}"
        for rule in ("margin", "centroid", "mistake", "perceptron", "paper-1", "paper-2")
        for way in ("", "-end-to-end")
    ),
    *("vw-hinge", "vw-hinge-rate-2", "vw-logistic", "scikit-learn", "river-8", "river-32"),
)
"""The default systems of the benchmark."""
