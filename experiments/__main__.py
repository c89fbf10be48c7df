"""Run experiments and write their pages.

python -m experiments weightings              measure, and write the tables of weightings.md
python -m experiments weightings --limit 5000 --corpora reuters21578
python -m experiments report                  the tables of all pages from results/*.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks import corpora
from benchmarks.runner import header
from experiments.common import RESULTS, Plan, experiments, fill, page


def main(arguments: list[str]) -> int:
    """Run what is asked for."""
    known = experiments()
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="what", required=True)
    for name, module in known.items():
        command = commands.add_parser(name, help=module.TITLE, description=module.TITLE)
        command.add_argument("--data", type=Path, default=corpora.DATA, help="where corpora are")
        command.add_argument("--corpora", nargs="+", default=[], metavar="NAME")
        command.add_argument("--limit", type=int, metavar="N", help="first documents only")
    commands.add_parser("report", help="write the tables of all pages")
    given = parser.parse_args(arguments)
    if given.what != "report":
        about = header(given.what, arguments, repeats=1)
        about["command"] = " ".join(["python -m experiments", *arguments])
        results = known[given.what].run(Plan(given.data, tuple(given.corpora), given.limit))
        RESULTS.mkdir(exist_ok=True)
        text = json.dumps(about | {"results": results}, indent=1) + "\n"
        (RESULTS / f"{given.what}.json").write_text(text, encoding="utf-8")
    for name in known if given.what == "report" else [given.what]:
        page(name).write_text(fill(name), encoding="utf-8")
        print(f"wrote the tables of {page(name).name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
