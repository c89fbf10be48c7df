from __future__ import annotations

import pytest

from clasher.errors import SettingError
from clasher.flow import Route

SETS = [set(), {"oil"}, {"gas"}, {"oil", "gas"}, {"oil", "sport"}, {"R&D"}, {"energy/oil"}, {"a=b"}]


@pytest.mark.parametrize(
    ("rule", "picks"),
    [
        ("oil", lambda labels: "oil" in labels),
        ("!oil", lambda labels: "oil" not in labels),
        ("oil|gas", lambda labels: bool(labels & {"oil", "gas"})),
        ("oil & gas", lambda labels: labels >= {"oil", "gas"}),
        ("oil|gas&!sport", lambda labels: bool(labels & {"oil", "gas"}) and "sport" not in labels),
        ("energy/*", lambda labels: any(label.startswith("energy/") for label in labels)),
        ("*", bool),
        ("!*", lambda labels: not labels),
        ('"R&D"', lambda labels: "R&D" in labels),
        ('"a=b"|gas', lambda labels: bool(labels & {"a=b", "gas"})),
        ('"*"', lambda labels: "*" in labels),
    ],
)
def test_a_rule_picks_by_labels(rule, picks):
    route = Route.of(f"{rule}=file:x.jsonl?a=b")
    assert route.url == "file:x.jsonl?a=b"
    assert [route.picks(sorted(labels)) for labels in SETS] == [picks(labels) for labels in SETS]


@pytest.mark.parametrize("text", ["", "oil", "oil=", "=x", "oil||gas=x", "oil&=x", '"oil=x', "!=x"])
def test_an_invalid_route_is_refused(text):
    with pytest.raises(SettingError, match="write RULE=ADDRESS"):
        Route.of(text)
