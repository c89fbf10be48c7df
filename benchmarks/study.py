"""What studies beside the main benchmark share: command lines, headers, the tables of a page."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import version
from benchmarks.report import update
from benchmarks.runner import header, known, save, say
from support import corpora

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Study:
    """Measurements of one kind, taken by ``python -m benchmarks.NAME``.

    Attributes
    ----------
    name : str
        That of the package, and of the file with the figures.
    about : str | None
        What its command line says of it.
    page : str
        The page of the documentation that has its tables.
    libraries : tuple of str
        Those whose versions matter.
    """

    name: str
    about: str | None
    page: str
    libraries: tuple[str, ...]

    def parser(
        self, limit: int | None = None, parts: Collection[str] = ()
    ) -> argparse.ArgumentParser:
        """What can be said at the command line.

        There is a ``limit`` where streams are read, and ``parts`` can be measured alone.
        """
        parser = argparse.ArgumentParser(
            prog=f"python -m benchmarks.{self.name}",
            description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if parts:
            parser.add_argument(
                "parts", nargs="*", choices=[[], *parts], metavar="PART", help=", ".join(parts)
            )
        if limit is not None:
            parser.add_argument("--data", type=Path, default=corpora.DATA, help="of the corpora")
            parser.add_argument("--limit", type=int, default=limit, help="documents of a stream")
        parser.add_argument("--results", type=Path, default=RESULTS)
        page = corpora.PROJECT / "docs" / self.page
        parser.add_argument("--into", type=Path, default=page, metavar="FILE")
        return parser

    def header(self, arguments: list[str], repeats: int) -> dict[str, Any]:
        """What a reader must know of the figures; taken before the first of them."""
        return header(self.name, arguments, repeats) | {
            "command": " ".join([f"python -m benchmarks.{self.name}", *arguments]),
            "versions": {library: version(library) for library in self.libraries},
        }

    def measure(
        self,
        given: argparse.Namespace,
        about: dict[str, Any],
        parts: Collection[str],
        measure: Callable[[str], dict[str, Any]],
        told: str,
    ) -> None:
        """Measure the parts that were asked for, or all; the figures of others are kept."""
        figures = known(self.name, given.results) if given.parts else {}
        for part in given.parts or parts:
            say(part)
            figures[part] = measure(part)
            say("    " + json.dumps(figures[part].get(told, figures[part])))
        save(about | {"figures": figures}, given.results)
        self.write(given)

    def write(self, given: argparse.Namespace) -> None:
        """Write the tables of the page."""
        for path in update([given.into], given.results):
            say(f"wrote the tables of {path}")
