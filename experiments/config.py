"""The definition of an experiment: a TOML file beside this module."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from experiments.streams import Stream

HERE = Path(__file__).parent

PAPER_POINTS = (100, *range(500, 20_001, 500), *range(25_000, 2_000_001, 5_000))
"""The points of the curves in section 6.5, plus one after the first hundred documents."""

Strict = {"forbid_unknown_fields": True, "kw_only": True}


class Part(msgspec.Struct, **Strict):
    """A part of a study: a function of its module, and the input of that function.

    ``streams`` defaults to the streams of the experiment; an empty list means that the function
    takes no stream. A timed part runs alone on the machine. The function gets ``arguments``.
    """

    streams: list[str | Stream] | None = None
    timed: bool = False
    arguments: dict[str, Any] = {}


class Figure(msgspec.Struct, **Strict):
    """A picture: its kind, panels and axes."""

    draw: Literal["curves", "lines", "front"]
    panels: list[str]
    x: str = "documents"
    systems: list[str] = []


class Claim(msgspec.Struct, **Strict):
    """A claim, and how to test it.

    - ``better`` has a higher ``measure`` than ``than``: at the end of the stream, or on average
      over its first half.
    - ``best`` has a higher ``measure`` than every other system after the documents that both
      processed.
    - ``flat`` takes the same time per byte of text in the last fifth of the stream as in the
      second, within a quarter; ``grows`` takes longer.
    - ``falls`` loses more than a tenth of its best ``measure``, from document 1,000 on; ``keeps``
      does not.
    - ``level`` has 95 % of its best ``measure`` once the varied option reaches ``since``.

    ``withdrawn`` says why the figures cannot decide the claim; the report then shows "not known".
    """

    says: str
    better: str | None = None
    than: str | None = None
    measure: str = "macro_f1"
    over: Literal["end", "first half"] = "end"
    where: dict[str, Any] = {}
    best: str | None = None
    flat: str | None = None
    grows: str | None = None
    falls: str | None = None
    keeps: str | None = None
    level: str | None = None
    since: float = 0.0
    streams: list[str] | None = None
    withdrawn: str = ""


class Config(msgspec.Struct, **Strict):
    """An experiment."""

    name: str
    title: str
    kind: str
    paper: str = ""
    found: str = ""
    confirmed: str = ""
    streams: list[str | Stream] = []
    optional: list[str | Stream] = []
    timed: bool = False
    seeds: int = 1  # the number of seeds, shown on the pages
    parts: dict[str, Part] = {}
    systems: list[str] = []
    points: list[int] | Literal["paper"] = []
    seconds: float | None = None
    longer: dict[str, float] = {}
    limits: dict[str, int] = {}
    vary: dict[str, list[Any]] = {}
    asymptotes: list[str] = []
    settings: dict[str, Any] = {}
    figures: dict[str, Figure] = {}
    claims: list[Claim] = []

    @property
    def page(self) -> Path:
        """The path of its page."""
        return HERE / f"{self.name}.md"

    @property
    def results(self) -> Path:
        """The path of its results."""
        return HERE / "results" / f"{self.name}.json"


def names() -> list[str]:
    """Return the names of all experiments."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def read(name: str, *, small: bool = False, folder: Path = HERE) -> Config:
    """Read an experiment, or its ``small`` version."""
    path = folder / f"{name}.toml"
    if not path.exists():
        raise SystemExit(f"there is no experiment {name!r}; choose from: {', '.join(names())}.")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        less = {"optional": []} | given.pop("small", {})  # whole corpora would be slow
        return msgspec.convert({"name": name} | given | (less if small else {}), Config)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SystemExit(f"{path.name}: {error}") from None
