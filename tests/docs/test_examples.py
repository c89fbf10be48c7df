"""The console examples of the first steps and of the error page print what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.environment import optional
from tests import console

pytestmark = pytest.mark.compiled

DOCS = Path(__file__).parents[2] / "docs"
START, ERRORS = DOCS / "tutorial" / "start.md", DOCS / "how-to" / "errors.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the examples use."""
    optional("click", "cli")
    optional("starlette", "server")  # for one of the errors
    console.write_shown(START, ("news.jsonl", "inbox.csv"), tmp_path)
    return tmp_path


def test_first_steps(folder: Path) -> None:
    console.check(START, console.shell(folder))


def test_common_errors(folder: Path) -> None:
    news = (folder / "news.jsonl").read_text()
    (folder / "latin.csv").write_bytes(b"id,text,labels\n1,caf\xe9 prices,grain\n")
    (folder / "bad.jsonl").write_text(news + 'no JSON\n{"id": 9, "labels": ["grain"]}\n')
    (folder / "news.dat").write_text(news)
    (folder / "answers.jsonl").write_text('{"id": 9, "labels": ["grain"]}\n')
    run = console.shell(folder)
    run("clasher learn news.jsonl --model news.clasher")
    run("clasher learn news.jsonl --model small.clasher --dimensions 1024")
    (folder / "cut.clasher").write_bytes((folder / "news.clasher").read_bytes()[:3000])
    console.check(ERRORS, run)
