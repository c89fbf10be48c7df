"""The notebooks run from the first cell to the last, and are stored without outputs."""

import json
from pathlib import Path

import pytest

from support.environment import optional

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def test_three_notebooks():
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_no_outputs(path):
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.compiled
@pytest.mark.filterwarnings("default")  # warnings of Jupyter
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path):
    nbformat, nbclient = optional("nbformat", "test"), optional("nbclient", "test")
    optional("ipykernel", "test")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        book, timeout=600, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    shown = [
        output.get("data", {}).get("text/html", "")
        for cell in book.cells
        for output in cell.get("outputs", [])
    ]
    assert any('class="clasher"' in page for page in shown)
