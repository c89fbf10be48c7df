"""Functions of the page's modules."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.compiled


@pytest.fixture
def module(visit: Any) -> Any:
    """Return a function that runs a script over a module of the page."""
    return visit("memory").module


def test_stretches_are_in_characters_and_may_overlap(module: Any) -> None:
    stretches = [
        {"start": 2, "stop": 5, "evidence": 1.0},
        {"start": 6, "stop": 9, "evidence": -1.0},
        {"start": 2, "stop": 9, "evidence": 0.7},
    ]
    parts = module(
        "highlight.js", "({ pieces }, value) => pieces(...value)", ["😀 oil gas", stretches]
    )
    assert [part["text"] for part in parts] == ["😀 ", "oil", " ", "gas"]
    assert [round(part["weight"], 2) for part in parts] == [0, 1.3, 0.1, -0.7]


def test_words_for_and_against_are_marked_by_strength(module: Any) -> None:
    marks = """({ marked, weightiest }, parts) => [
      marked(parts).map((part) => (part.className ? [part.className, part.textContent] : part)),
      weightiest(parts, 1), weightiest(parts, -1),
    ]"""
    parts = [("oil", 4.0), (" ", 0.1), ("gas", -1.0), (" and ", 0.0), ("Oil", 1.0)]
    shown, speaks_for, speaks_against = module(
        "highlight.js", marks, [{"text": text, "weight": weight} for text, weight in parts]
    )
    assert shown[:3] == [["for level-5", "oil"], " ", ["against level-3", "gas"]]
    assert shown[3:] == [" and ", ["for level-3", "Oil"]]
    assert (speaks_for, speaks_against) == ([["oil", 5]], [["gas", -1]])


def test_search_ranks_all_matches(module: Any) -> None:
    names = ["crude oil", "soil", "Öl oil", "oil", "oil price", "gold"]
    find = """({ search, plain }, names) =>
      search(names.map((name) => ({ name, plain: plain(name) })), "OIL").map(({ name }) => name)"""
    assert module("names.js", find, names) == ["oil", "oil price", "crude oil", "Öl oil", "soil"]
    assert module("names.js", find.replace("OIL", "ol"), names) == ["Öl oil", "gold"]


def test_events_are_parsed_from_pieces(module: Any) -> None:
    stream = 'retry: 1\n\nid: 7-1\nevent: a\ndata: {"x": "é\\n"}\n\n: beat\n\ndata: 2\r\n\r\n'
    cut = """({ parser }, stream) => {
      const seen = [];
      const parse = parser(({ event, id, data }) => seen.push([event, id, JSON.parse(data)]));
      for (const character of stream) parse(character);
      return seen;
    }"""
    assert module("stream.js", cut, stream) == [["a", "7-1", {"x": "é\n"}], ["message", "", 2]]


def test_an_endless_event_is_an_error(module: Any) -> None:
    endless = """({ parser }) => {
      const parse = parser(() => {});
      try {
        for (let i = 0; i < 3; i += 1) parse("x".repeat(1 << 19));
      } catch (error) {
        return error.message;
      }
      return null;
    }"""
    assert module("stream.js", endless) == "an event is too long"


def test_rates_skip_a_restart(module: Any) -> None:
    rates = """({ History }) => {
      const past = new History(["n"]);
      [[1, 10], [2, 30], [4, 40], [5, 0], [6, 7]].forEach(([at, n]) => past.add(at, { n }));
      return past.rates("n");
    }"""
    assert module("history.js", rates) == [None, 20, 5, None, 7]


def test_full_and_partial_answers(module: Any) -> None:
    answers = """({ Answer, UNKNOWN }, item) => {
      const told = [];
      const answer = new Answer(item);
      const tell = () => told.push(answer.labels);
      tell();
      answer.toggle(0); answer.add("new"); tell();
      answer.toggleOthers(); tell();
      answer.toggleOthers(); answer.set(1, UNKNOWN); tell();
      answer.rows.forEach((_, i) => answer.set(i, UNKNOWN)); tell();
      return told;
    }"""
    item = {"labels": ["oil"], "probabilities": [["oil", 0.9], ["gas", 0.2]]}
    assert module("answer.js", answers, item) == [
        ["oil"],
        ["new"],
        {"oil": False, "gas": False, "new": True},
        {"oil": False, "new": True},
        None,
    ]
