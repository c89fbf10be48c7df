"""Run experiments, and write their pages and pictures.

python -m experiments                     all experiments; continues after an interruption
python -m experiments figure-3 drift      some experiments
python -m experiments --small             a quick run of all; keeps no results
python -m experiments --list              list the experiments
python -m experiments --report            write pages and pictures from results/*.json
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.runner import say
from experiments import report
from experiments.config import Config, names, read
from experiments.measurements import Place, run, run_here
from experiments.runner import cells_of, check, document, measure_all, save


def main(arguments: list[str]) -> int:
    """Run the command."""
    given = _parser().parse_args(arguments)
    configs = [read(name, small=given.small) for name in given.names or names()]
    if given.list:
        for config in configs:
            print(f"{config.name:<14} {config.title}")
        return 0
    if not given.report:
        place = Place(given.data, given.cache, given.timeout)
        if given.small:
            return run_small(configs, place)
        if failed := measure(configs, place, given.workers):
            say(f"{failed} cells failed; their tables give the reasons")
    for path in report.write(configs):
        say(f"wrote {path}")
    return 0


def measure(configs: list[Config], place: Place, workers: int) -> int:
    """Measure all cells and write the results; return the number of failed cells."""
    check(configs, place)
    cells = {config.name: cells_of(config, place) for config in configs}
    found = measure_all([cell for own in cells.values() for cell in own], place, run, workers)
    for config in configs:
        save(config.results, document(config, cells[config.name], found, place))
    return sum("failed" in one for one in found.values())


def run_small(configs: list[Config], place: Place) -> int:
    """Measure and report small versions of experiments in this process; keep nothing."""
    with tempfile.TemporaryDirectory() as folder:
        place = replace(place, cache=Path(folder))
        check(configs, place)
        failed = 0
        for config in configs:
            cells = cells_of(config, place)
            found = measure_all(cells, place, run_here, workers=1)
            results = document(config, cells, found, place)
            report.dry_run(config, results, Path(folder))
            failed += sum("failed" in one for one in found.values())
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    place = Place()
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments (default: all)")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--report", action="store_true", help="only write the pages")
    parser.add_argument("--small", action="store_true", help="few documents, keep no results")
    parser.add_argument("--data", type=Path, default=place.data, help="folder with the corpora")
    parser.add_argument("--cache", type=Path, default=place.cache, help="folder for measured cells")
    parser.add_argument("--workers", type=int, default=2, help="cells to run at a time (default 2)")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds that a cell may take")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted; run the same command again to continue")
