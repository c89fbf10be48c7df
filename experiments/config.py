"""What an experiment is: a TOML file beside this module."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from experiments.streams import Stream

HERE = Path(__file__).parent

PAPER_POINTS = (100, *range(500, 20_001, 500), *range(25_000, 2_000_001, 5_000))
"""Where section 6.5 looks at its curves, and after the first hundred documents."""

Strict = {"forbid_unknown_fields": True, "kw_only": True}


class Part(msgspec.Struct, **Strict):
    """A part of a study: a function of its module, and what it is given.

    ``streams`` are those of the experiment unless it has its own; an empty list means that it
    needs none. A timed part runs alone on the machine. ``arguments`` go to the function.
    """

    streams: list[str | Stream] | None = None
    timed: bool = False
    arguments: dict[str, Any] = {}


class Figure(msgspec.Struct, **Strict):
    """A picture: what to draw, and of which figures."""

    draw: Literal["curves", "lines", "front"]
    panels: list[str]
    x: str = "documents"
    systems: list[str] = []


class Claim(msgspec.Struct, **Strict):
    """Something that is said to hold, and how to tell.

    ``better`` has a higher ``measure`` than ``than``: at the end of the stream, or on average over
    its first half. ``best`` has a higher ``measure`` than every other system, after the documents
    that the other one did. ``flat`` takes as long for a byte of text in the last fifth of the
    stream as in the second, give or take a quarter; ``grows`` takes longer than that. ``falls``
    loses more than a tenth of the best ``measure`` it had on its way, from the thousandth document
    on; ``keeps`` does not. ``level`` has 95 % of its ``measure`` from the value ``since`` of what
    is varied on.

    ``withdrawn`` says why the figures do not decide the claim: it is then reported as not known.
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
    seeds: int = 1  # how many its figures are of; the pages say so
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
        """Where it is told of."""
        return HERE / f"{self.name}.md"

    @property
    def results(self) -> Path:
        """Where its figures are."""
        return HERE / "results" / f"{self.name}.json"


def names() -> list[str]:
    """The experiments there are."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def read(name: str, *, small: bool = False, folder: Path = HERE) -> Config:
    """The experiment of that name; ``small`` for a quick look at all of it."""
    path = folder / f"{name}.toml"
    if not path.exists():
        raise SystemExit(f"there is no experiment {name!r}; there are: {', '.join(names())}.")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        less = {"optional": []} | given.pop("small", {})  # whole corpora are no quick look
        return msgspec.convert({"name": name} | given | (less if small else {}), Config)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SystemExit(f"{path.name}: {error}") from None
