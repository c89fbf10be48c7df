"""Command line, header and page of the studies outside the main benchmark."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import version
from benchmarks.report import update
from benchmarks.runner import header, save, saved_figures, say
from support import corpora

RESULTS = Path(__file__).parent / "results"
PAGE = corpora.PROJECT / "docs" / "reference" / "performance.md"


@dataclass(frozen=True)
class Study:
    """A study that ``python -m benchmarks.NAME`` runs.

    Attributes
    ----------
    name : str
        The name of its module and of its results file.
    about : str | None
        The help of its command line.
    libraries : tuple of str
        The libraries whose versions matter.
    """

    name: str
    about: str | None
    libraries: tuple[str, ...]

    def parser(
        self, limit: int | None = None, parts: Collection[str] = ()
    ) -> argparse.ArgumentParser:
        """Make the parser of the command line.

        ``limit`` is the default number of documents, for studies that read streams; ``parts`` are
        the parts that can run alone.
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
            parser.add_argument(
                "--data", type=Path, default=corpora.DATA, help="folder with the corpora"
            )
            parser.add_argument("--limit", type=int, default=limit, help="documents per stream")
        parser.add_argument("--results", type=Path, default=RESULTS)
        parser.add_argument("--into", type=Path, default=PAGE, metavar="FILE")
        return parser

    def header(self, arguments: list[str], repeats: int) -> dict[str, Any]:
        """Describe the study; call it before the first measurement."""
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
        shown: str,
    ) -> None:
        """Measure the given parts, or all, and print ``shown``; keep the figures of the others."""
        figures = saved_figures(self.name, given.results) if given.parts else {}
        for part in given.parts or parts:
            say(part)
            figures[part] = measure(part)
            say("    " + json.dumps(figures[part].get(shown, figures[part])))
        save(about | {"figures": figures}, given.results)
        self.write(given)

    def write(self, given: argparse.Namespace) -> None:
        """Write the tables of the page."""
        for path in update([given.into], given.results):
            say(f"wrote the tables of {path}")
