from __future__ import annotations

import pytest

from clasher.cli.report.charts import MOST_POINTS, Line, line_chart, scatter_chart, short, ticks


@pytest.mark.parametrize("highest", [0.003, 0.1, 0.5, 1.0, 7, 999, 1000, 12_345, 3.4e9])
def test_ticks_are_a_handful_of_round_numbers_over_all_values(highest: float) -> None:
    marks = ticks(highest)
    assert 2 <= len(marks) <= 6
    assert marks[0] == 0
    assert marks[-2] < highest <= marks[-1]


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    points = 4 * MOST_POINTS - 1
    documents = [10 * (i + 1) for i in range(points)]
    chart = line_chart("f1", documents, [Line("a", [0.5] * (points - 1) + [1.0], "")], "ratio")
    assert len(chart.data["x"]) <= MOST_POINTS
    assert chart.data["x"][-1] == documents[-1]
    assert chart.lines[0].path.endswith("L1000 0")
    assert chart.lines[0].last == "1.000"


def test_one_point_is_a_dot_and_no_point_is_no_line() -> None:
    assert line_chart("a", [5], [Line("a", [1.0], "")], "ratio").lines[0].path == "M1000 0h0"
    nothing = line_chart("a", [], [Line("a", [], "")], "rate").lines[0]
    assert (nothing.path, nothing.last) == ("", "")


def test_values_are_written_by_their_kind() -> None:
    sizes = line_chart("m", [1, 2], [Line("a", [5e6, 12e6], "")], "size")
    assert [tick.text for tick in sizes.y_ticks] == [
        "0 B",
        "2.5 MB",
        "5 MB",
        "7.5 MB",
        "10 MB",
        "12.5 MB",
    ]
    assert sizes.lines[0].last == "12 MB"
    rates = line_chart("r", [1, 2], [Line("a", [5, 12_345.6], "")], "rate")
    assert rates.lines[0].last == "12,346/s"
    assert rates.data["lines"] == [{"name": "a", "values": [5, 12_346]}]


def test_dots_stand_within_the_chart() -> None:
    chart = scatter_chart("labels", [("a", 1, 0.0), ("b", 7, 0.4), ("c", 12_000, 1.0)])
    assert all(0 <= dot.x <= 100 and 0 <= dot.y <= 100 for dot in chart.dots)
    assert [tick.text for tick in chart.x_ticks] == ["1", "10", "100", "1k", "10k"]
    assert scatter_chart("labels", []).dots == []


def test_short_numbers() -> None:
    assert [short(n) for n in (1, 999, 1000, 2_500_000, 3e15)] == [
        "1",
        "999",
        "1k",
        "2.5M",
        "3000T",
    ]
