"""The pages of experiments show what was measured, and every experiment runs."""

import pytest

from benchmarks import corpora
from clasher import Clasher
from experiments.common import Plan, experiments, fill, page, prequential


@pytest.mark.parametrize("name", sorted(experiments()))
def test_pages_show_their_results(name):
    assert page(name).read_text(encoding="utf-8") == fill(name)


@pytest.mark.parametrize("name", sorted(experiments()))
def test_pages_name_their_command(name):
    assert f"python -m experiments {name}" in page(name).read_text(encoding="utf-8")


def test_without_corpora_there_is_a_synthetic_stream(tmp_path):
    streams = Plan(tmp_path, limit=30).streams()
    assert [(stream.name, len(stream)) for stream in streams] == [("synthetic-50", 30)]


def test_a_run_has_points_where_they_are_asked_for():
    stream = corpora.synthetic(60, 4)
    scores = prequential(Clasher(64), stream, points=(7, 50, 900))
    assert [point["documents"] for point in scores.curve] == [7, 50]
    assert scores.to_dict() == {
        "macro_f1": round(scores.macro_f1, 4),
        "micro_f1": round(scores.micro_f1, 4),
    }
