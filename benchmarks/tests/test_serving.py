"""The benchmark of the service measures what it claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.serving import studies
from benchmarks.serving.__main__ import main
from benchmarks.serving.client import Load
from benchmarks.serving.servers import service
from benchmarks.serving.studies import Plan
from support import corpora

pytestmark = pytest.mark.compiled


def test_the_table_shows_figures_with_their_command(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- benchmark:serving -->\n<!-- /benchmark:serving -->\n")
    arguments = ["learning", "--data", str(tmp_path), "--limit", "1000", "--seconds", "0.5"]
    arguments += ["--results", str(tmp_path), "--into", str(page)]
    assert main(arguments) == 0
    figures = json.loads((tmp_path / "serving.json").read_text())["figures"]["learning"]
    assert figures["requests"] > 0
    assert "durable learning" in page.read_text()
    assert f"- learning: `python -m benchmarks.serving {' '.join(arguments)}`" in page.read_text()


def test_teaching_fails_unless_all_documents_are_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = Plan(corpora.synthetic(1000, labels=5), 1.0, 1.0)
    with service(tmp_path / "data") as running:
        plan.teach(running, 1000)
        assert running.documents_learned() == 1000
        monkeypatch.setattr(studies, "TOGETHER", 400)  # 200 documents fill no request
        with pytest.raises(SystemExit, match="were learnt"):
            plan.teach(running, 1000)


def test_percentiles() -> None:
    load = Load(seconds=2.0, latencies=[n / 1000 for n in range(1000)])
    assert load.per_second == 500.0
    assert [load.percentile(share) for share in (0.5, 0.99, 0.999)] == [500.0, 990.0, 999.0]
