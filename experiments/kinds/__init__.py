"""The kinds of experiments, one module each."""

from experiments.kinds import (
    bounds,
    clusters,
    correlation,
    drift,
    labels,
    margin,
    merging,
    spark,
    systems,
    text,
    weightings,
)
from experiments.kinds.base import Kind, Study

KINDS: dict[str, Kind] = {
    "systems": systems.Systems(),
    **{
        study.name: study
        for study in map(
            Study,
            (
                bounds,
                clusters,
                correlation,
                drift,
                labels,
                margin,
                merging,
                spark,
                text,
                weightings,
            ),
        )
    },
}
"""Every kind by its name."""
