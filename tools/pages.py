"""Add pages from the whole repository to the site, under their paths in the repository.

MkDocs expects all pages in one folder. Ours are where they belong: beside the experiments, beside
the benchmarks, README.md at the top. With the same paths, links work on a forge and on the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = ("*.md", "docs/**/*.md", "experiments/*.md", "benchmarks/README.md")
BESIDE = (
    "LICENSE", "Containerfile", "docs/*.css", "docs/pictures/*", "experiments/index.html",
    "experiments/figures/*.svg", "examples/*.py", "notebooks/*.ipynb",
)  # fmt: skip
ELSEWHERE = {"experiments/index.html": "experiments/all.html"}  # README.md is the index there


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files found in ``docs`` by those of the repository."""
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
    r"""Replace ``\|`` by ``|`` in code inside tables: only forges need the backslash."""
    return re.sub(
        r"^\|.*$",
        lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row[0]),
        markdown,
        flags=re.MULTILINE,
    )


def on_page_content(html: str, **_: Any) -> str:
    """Make links of Sphinx's roles in docstrings, such as ``:class:`clasher.Settings```."""
    return re.sub(
        r":(?:class|mod):\s*<code>([\w.]+)</code>",
        r'<autoref identifier="\1" optional><code>\1</code></autoref>',
        html,
    )
