"""Write docs/reference/settings.md: ``python -m tools.settings``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from clasher.settings import (
    LearningSettings,
    ModelSettings,
    VectorSettings,
    declarations,
    default_of,
)

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
HEAD = """\
# Settings

Every setting of a model, written from its declaration in `src/clasher/settings.py` by
`python -m tools.settings`, which `make docs` runs. `Clasher` and `Settings` take them by name; on
the command line `max_labels` is `--max-labels`. The estimators for scikit-learn and River take all
but `pending`. [Choosing settings](../how-to/settings.md) says which to change when."""
SECTIONS = (VectorSettings, LearningSettings, ModelSettings)


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(line for section in SECTIONS for line in table(section)), ""])


def table(section: type) -> Iterator[str]:
    """Write the settings that a class declares itself."""
    title = (section.__doc__ or "").strip().rstrip(".")
    yield from (
        "",
        f"## {title}",
        "",
        "| setting | values | default | meaning |",
        "|---|---|---|---|",
    )
    inherited = {field.name for base in section.__mro__[1:-1] for field in fields(base)}
    for field in fields(section):
        if field.name not in inherited:
            declared = declarations()[field.name]
            values = ", ".join(f"`{choice}`" for choice in declared.choices) or declared.must_be
            meaning = f"{declared.help} {declared.details}".strip()
            yield f"| `{field.name}` | {values} | {default_of(field.name)} | {meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page())
