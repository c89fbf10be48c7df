"""Measure clasher and its peers side by side.

python -m benchmarks all                 every study, then the report
python -m benchmarks table --corpora reuters21578 --repeats 1
python -m benchmarks report              write the tables from results/*.json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.peers import SYSTEMS
from benchmarks.report import stale, update
from benchmarks.runner import header, run_all, save
from benchmarks.studies import STUDIES, Plan
from support.corpora import DATA, PROJECT

HERE = Path(__file__).parent
DOCUMENTS = [PROJECT / "README.md", HERE / "README.md"]
HELP = {
    "table": "F1 and speed of every system on every corpus",
    "flat": "time per document and memory along a stream",
    "scaling": "speed by number of dimensions",
    "labels": "systems for many labels; speed by number of labels; F1 by memory",
    "all": "all of these one after the other",
}


def main(arguments: list[str]) -> int:
    given = _parser().parse_args(arguments)
    if given.what == "report":
        return _report(given)
    corpora, systems = tuple(given.corpora), tuple(given.systems)
    plan = Plan(given.data, given.work, corpora, systems, given.limit)
    for study in STUDIES if given.what == "all" else [given.what]:
        about = header(study, arguments, given.repeats)
        jobs = STUDIES[study](plan)
        save(about | {"runs": run_all(jobs, given.repeats, given.timeout)}, given.results)
    return _report(given)


def _report(given: argparse.Namespace) -> int:
    if getattr(given, "check", False):
        for path in (old := stale(given.into, given.results)):
            print(f"{path} is out of date: run python -m benchmarks report", file=sys.stderr)
        return 1 if old else 0
    for path in update(given.into, given.results):
        print(f"wrote the tables of {path}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="what", required=True)
    for name, text in HELP.items():
        _add_study_options(commands.add_parser(name, help=text, description=text))
    report = commands.add_parser("report", help="write the tables from the results")
    report.add_argument(
        "--check", action="store_true", help="only check whether they are up to date"
    )
    for command in commands.choices.values():
        command.add_argument("--results", type=Path, default=HERE / "results")
        command.add_argument(
            "--into", type=_existing, nargs="+", default=DOCUMENTS, metavar="FILE",
            help="files with marker comments to write the tables between",
        )  # fmt: skip
    return parser


def _add_study_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the corpora")
    parser.add_argument("--work", type=Path, default=HERE / "streams", help="folder for streams")
    parser.add_argument("--corpora", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--systems", nargs="+", default=[], choices=SYSTEMS, metavar="NAME",
                        help=f"systems of the table: {', '.join(SYSTEMS)}")  # fmt: skip
    parser.add_argument("--repeats", type=_positive, default=3, help="runs per system (default 3)")
    parser.add_argument("--limit", type=_positive, help="use at most this many documents")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds that a run may take")


def _existing(text: str) -> Path:
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r} to write tables into")
    return Path(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer. Got {text!r} instead.")
    return int(text)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted; a study is saved only after all of its runs")
