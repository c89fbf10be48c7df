"""Gives the site the pages of the whole repository, under the paths that they have there.

MkDocs wants all pages in one folder; ours stand where they belong: beside the experiments, beside
the benchmarks, README.md on top. Known by these paths, a link that works on a forge works here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CHANGELOG.md", "docs/*.md", "experiments/*.md", "benchmarks/README.md")
BESIDE = (
    "LICENSE", "docs/*.css", "docs/*.png", "docs/*.svg", "docs/pictures/*.svg",
    "experiments/index.html", "experiments/figures/*.svg", "examples/*.py",
)  # fmt: skip
ELSEWHERE = {"experiments/index.html": "experiments/all.html"}  # README.md is the index there


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the files of the repository in the place of those that were found in ``docs``."""
    for file in list(files):
        if file.abs_src_path and Path(file.abs_src_path).is_relative_to(config.docs_dir):
            files.remove(file)
    for path in (path for pattern in PAGES + BESIDE for path in sorted(ROOT.glob(pattern))):
        uri = path.relative_to(ROOT).as_posix()
        dest = ELSEWHERE.get(uri)
        files.append(
            File(uri, str(ROOT), config.site_dir, config.use_directory_urls, dest_uri=dest)
        )
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write the | of code in tables as Python-Markdown wants it: forges ask for a backslash."""
    return re.sub(
        r"^\|.*$",
        lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row[0]),
        markdown,
        flags=re.MULTILINE,
    )
