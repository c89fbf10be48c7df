"""The job to begin with does what it says."""

from __future__ import annotations

import runpy
import sys

import pyarrow.json
import pytest

from support.corpora import PROJECT
from support.environment import optional
from tests.cli.command import jsonl, records

optional("pyspark", "spark")


@pytest.mark.trial  # twenty seconds
def test_the_example_learns_judges_and_labels(spark, tmp_path, monkeypatch, capsys):
    for name, rows in (("past", records(60)), ("inbox", records(10, seed=1))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "news.json").write_bytes(jsonl(rows))
    folders = [str(tmp_path / name) for name in ("past", "inbox", "model", "labelled")]
    monkeypatch.setattr(sys, "argv", ["spark_news.py", *folders])
    runpy.run_path(str(PROJECT / "examples" / "spark_news.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "learnt 70 documents" in said
    assert float(said.split()[2]) > 0.5
    (part,) = (tmp_path / "labelled" / "batch=0").glob("part-*.json")
    assert len(pyarrow.json.read_json(part)) == 10


pytestmark = pytest.mark.compiled  # it learns with all dimensions
