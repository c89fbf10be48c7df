"""The kinds of experiments, one module each."""

from importlib import import_module

from experiments.kinds.base import Kind, Study
from experiments.kinds.systems import Systems

STUDIES = (
    "bounds", "clusters", "correlation", "drift", "empty", "labels", "margin", "merging", "seeds",
    "spark", "text", "weightings",
)  # fmt: skip
KINDS: dict[str, Kind] = {
    "systems": Systems(),
    **{name: Study(import_module(f"experiments.kinds.{name}")) for name in STUDIES},
}
"""Every kind by its name."""
