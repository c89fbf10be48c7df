"""Write pages, pictures and one HTML page from stored results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import caveats
from benchmarks.tables import NONE, markdown, provenance
from experiments import plots
from experiments.claims import UNKNOWN, YES
from experiments.config import HERE, Config, names, read
from experiments.html import index
from experiments.kinds import KINDS

BLOCK = re.compile(r"(<!-- experiment:([\w-]+) -->\n).*?(<!-- /experiment:\2 -->)", re.DOTALL)
FIGURES = HERE / "figures"
README = HERE / "README.md"
IDENTITY = ("kind", "what", "stream", "timed")
"""The fields that identify a cell."""


def write(configs: Iterable[Config]) -> list[Path]:
    """Write the pages and pictures of experiments, the README and the HTML page."""
    written = []
    for config in configs:
        results = load(config)
        FIGURES.mkdir(exist_ok=True)
        for name, picture in KINDS[config.kind].pictures(config, results["cells"]).items():
            for suffix in (".svg", ".png"):
                written.append(FIGURES / f"{name}{suffix}")
                plots.save(picture, written[-1])
        config.page.write_text(fill_page(config, results), encoding="utf-8")
        written.append(config.page)
    README.write_text(readme(), encoding="utf-8")
    page = HERE / "index.html"
    page.write_text(
        index([README, *(config.page for config, _ in with_results())]), encoding="utf-8"
    )
    return [*written, README, page]


def with_results() -> list[tuple[Config, dict[str, Any]]]:
    """Return all experiments that have results, those of the paper first."""
    configs = sorted(map(read, names()), key=lambda config: (not config.paper, config.title))
    return [(config, load(config)) for config in configs if config.results.exists()]


def load(config: Config) -> dict[str, Any]:
    """Load the results of an experiment."""
    if not config.results.exists():
        raise SystemExit(f"no results yet: run python -m experiments {config.name}")
    results: dict[str, Any] = json.loads(config.results.read_text(encoding="utf-8"))
    return results


def blocks(config: Config, results: dict[str, Any]) -> dict[str, str]:
    """Make all tables of a page."""
    kind = KINDS[config.kind]
    return kind.blocks(config, results["cells"]) | {
        "claims": claims(kind.verdicts(config, results["cells"])),
        "provenance": provenance(results | {"seeds": config.seeds}),
        "caveat": caveats.short(),
    }


def claims(verdicts: list[list[str]]) -> str:
    """Make the table of claims."""
    return markdown(["claim", "stream", "result", "holds"], verdicts)


def fill_page(config: Config, results: dict[str, Any]) -> str:
    """Return the text of a page with its tables filled."""
    return fill(config.page.read_text(encoding="utf-8"), config.page.name, blocks(config, results))


def fill(text: str, page: str, blocks: dict[str, str]) -> str:
    """Replace the blocks of a text."""

    def replaced(match: re.Match[str]) -> str:
        start, name, end = match.groups()
        if name not in blocks:
            raise SystemExit(
                f"{page}: there is no block {name!r}; choose from: {', '.join(blocks)}."
            )
        return f"{start}\n{blocks[name]}\n\n{end}"

    return BLOCK.sub(replaced, text)


def readme() -> str:
    """Return the text of the README: claims, results and commands of all experiments."""
    lines = []
    for config, results in with_results():
        verdicts = KINDS[config.kind].verdicts(config, results["cells"])
        lines.append(
            [
                f"[{config.title}]({config.page.name})",
                config.paper or NONE,
                summary(verdicts) or config.found,
                streams(results["cells"]),
                (confirmed(verdicts) or config.confirmed) if config.paper else NONE,
                f"`python -m experiments {config.name}`",
            ]
        )
    heads = ["experiment", "claim of the paper", "result here", "streams", "confirmed", "command"]
    parts = {
        "all": markdown(heads, lines),
        "time": duration(results for _, results in with_results()),
        "caveat": caveats.full(),
    }
    return fill(README.read_text(encoding="utf-8"), README.name, parts)


def streams(cells: list[dict[str, Any]]) -> str:
    """List the streams of an experiment."""
    named = [cell["stream"]["name"] for cell in cells if cell.get("stream")]
    return ", ".join(dict.fromkeys(named)) or NONE


def confirmed(verdicts: list[list[str]]) -> str:
    """Say whether the claims of the paper hold; our own claims do not count.

    >>> confirmed([["A", "news", "", "yes"], ["A", "blogs", "", "no"], ["B (ours)", "", "", "yes"]])
    'in part'
    """
    holds = [held == YES for says, _, _, held in verdicts if "(ours)" not in says]
    if not holds:
        return ""
    return "yes" if all(holds) else "in part" if any(holds) else "no"


def duration(all_results: Iterable[dict[str, Any]]) -> str:
    """Estimate the time of all cells, each counted once; untimed cells run two at a time."""
    cells = [cell for results in all_results for cell in results["cells"]]
    once = {json.dumps([cell[name] for name in cell if name in IDENTITY]): cell for cell in cells}
    alone = [cell["took"] for cell in once.values() if cell.get("timed")]
    others = [cell["took"] for cell in once.values() if not cell.get("timed")]
    minutes = (sum(alone) + sum(others) / 2) / 60
    return (
        f"The {len(once)} cells take about {minutes:.0f} minutes on two cores. {len(alone)} of "
        f"them ({sum(alone) / 60:.0f} minutes) are timed and run alone."
    )


def summary(verdicts: list[list[str]]) -> str:
    """Group the claims by where they hold: everywhere, on some streams, or nowhere.

    >>> summary([["A", "news", "", "yes"], ["A", "blogs", "", "yes"], ["B", "news", "", "no"]])
    '**Holds**: A. **Does not hold**: B.'
    """
    groups: dict[str, list[str]] = {}
    for says in dict.fromkeys(verdict[0] for verdict in verdicts):
        holds = {stream: held for claim, stream, _, held in verdicts if claim == says}
        yes = [stream for stream, held in holds.items() if held == YES]
        unknown = [stream for stream, held in holds.items() if held == UNKNOWN]
        if len(yes) == len(holds):
            where = "Holds"
        elif yes:
            where = f"Holds on {' and '.join(yes)} only"
        else:
            where = "Not known" if len(unknown) == len(holds) else "Does not hold"
        groups.setdefault(where, []).append(says)
    return " ".join(f"**{where}**: {'; '.join(claims)}." for where, claims in groups.items())


def dry_run(config: Config, results: dict[str, Any], folder: Path) -> None:
    """Make the tables and pictures, but write no page."""
    fill_page(config, results)
    for name, picture in KINDS[config.kind].pictures(config, results["cells"]).items():
        plots.save(picture, folder / f"{name}.svg")
