"""Annif itself, by its command line: with our backend, and asking a service that runs.

It needs other versions than the rest, and so an environment of its own: ``make test-annif``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clasher import Clasher
from tests.server.servers import process

DOCUMENT = Path(__file__).parents[2] / "docs" / "how-to" / "annif.md"
GRAIN, METAL, RYE = (f"http://example.org/{name}" for name in ("grain", "metal", "rye"))
TRAINED = f"wheat and corn fell\t<{GRAIN}>\ngold and silver rose\t<{METAL}>\n" * 5
PATIENCE = 200


def annif(folder: Path, *arguments: str, given: str = "", code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "clasher", "annif", *arguments],
        cwd=folder, input=given, capture_output=True, text=True, timeout=PATIENCE, check=False,
        env=os.environ | {"ANNIF_CONFIG": "annif.default_config.ProductionConfig"},
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def projects() -> str:
    """The projects of the document."""
    return "\n".join(re.findall(r"```ini\n(.*?)```", DOCUMENT.read_text(), re.DOTALL))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "projects.cfg").write_text(projects().replace("65536", "4096"))
    names = "".join(f"<{uri}>\t{uri[19:]}\n" for uri in (GRAIN, METAL, RYE))
    (tmp_path / "topics.tsv").write_text(names)
    (tmp_path / "documents.tsv").write_text(TRAINED)
    (tmp_path / "corrected.tsv").write_text(f"rye bread\t<{RYE}>\n" * 3)
    annif(tmp_path, "load-vocab", "--language", "en", "topics", "topics.tsv")
    return tmp_path


def best(output: str) -> str:
    return output.splitlines()[0].split("\t")[0].strip("<>")


def test_it_trains_suggests_and_learns_from_corrections(library: Path) -> None:
    output = annif(library, "suggest", "subjects", given="corn", code=1)
    assert "train it first" in output or "not trained" in output or "Not initialized" in output, (
        output
    )
    annif(library, "train", "subjects", "documents.tsv")
    assert best(annif(library, "suggest", "subjects", given="corn prices")) == GRAIN
    assert RYE not in annif(library, "suggest", "subjects", given="rye bread")
    annif(library, "learn", "subjects", "corrected.tsv")
    assert best(annif(library, "suggest", "subjects", given="rye bread")) == RYE
    model = Clasher.load(library / "data" / "projects" / "subjects" / "model.clasher")
    assert (model.documents, model.settings.dimensions) == (13, 4096)


@pytest.mark.parametrize(
    ("changed", "arguments", "problem"),
    [
        ("dimensions=0", ("documents.tsv",), "The 'dimensions' parameter of Clasher must be"),
        ("dimensions=many", ("documents.tsv",), "backend clasher: invalid literal"),
        ("dimensions=64", ("--cached",), "keeps no documents to train from again"),
    ],
)
def test_bad_projects_are_refused(
    library: Path, changed: str, arguments: tuple[Any, ...], problem: str
) -> None:
    path = library / "projects.cfg"
    path.write_text(path.read_text().replace("dimensions=4096", changed))
    output = annif(library, "train", "subjects", *arguments, code=1)
    assert problem in output
    assert "Traceback" not in output


def test_it_asks_a_service(library: Path, tmp_path: Path) -> None:
    lessons = [line.split("\t") for line in TRAINED.splitlines()]
    documents = [{"text": text, "labels": [uri.strip("<>")]} for text, uri in lessons]
    with process(tmp_path / "service") as served:
        with served.client as client:
            client.post("/v1/learn", json={"documents": documents}).raise_for_status()
        path = library / "projects.cfg"
        path.write_text(path.read_text().replace("8000", str(served.port)))
        assert best(annif(library, "suggest", "served", given="silver & gold")) == METAL
