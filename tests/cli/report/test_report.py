from __future__ import annotations

import base64
import hashlib
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from clasher.cli.report import MOST_ROWS, write_report
from clasher.errors import MissingExtraError
from clasher.learning.drift import Alarm
from clasher.metrics import LabelRow
from tests.cli.evaluations import HOSTILE, batch, learnt, learnt_news, made, renamed, rows


class Page(HTMLParser):
    """A report as a browser takes it apart."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[list[str]] = []
        self.text = ""
        self.script = ""
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "line", "path", "circle"):
            self._open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag  # what is opened is closed, in order

    def handle_data(self, data: str) -> None:
        if "script" in self._open:
            self.script = data
        elif "style" not in self._open:
            self.text += data
        if "td" in self._open or "th" in self._open:
            self.cells[-1][-1] += data

    def count(self, tag: str, **expected: str) -> int:
        return sum(
            name == tag and all(attrs.get(key) == value for key, value in expected.items())
            for name, attrs in self.tags
        )


def reported(folder: Path, *args: Any, **kwargs: Any) -> Page:
    path = folder / "report.html"
    write_report(path, *args, **kwargs)
    return Page(path)


def test_main_figures_and_the_labels_they_are_over(tmp_path: Path) -> None:
    result = replace(made(rows(40)), macro_f1=0.4321, micro_f1=0.8765)
    page = reported(tmp_path, result, title="News", stream="a.jsonl", command="clasher evaluate x")
    for shown in (
        ".432", ".876", "1,000", "10 MB", "200 MB", "all 40 labels: rare", "News",
        "a.jsonl", "clasher evaluate x", "clasher 1.2.3", "last 1,000 documents",
    ):  # fmt: skip
        assert shown in page.text
    assert ["dimensions", "262144"] in page.cells
    assert ["threshold", "learnt"] in page.cells
    assert ["analyzer", "min_length 1, ngrams (1, 1), marks True, pairs 40"] in page.cells
    assert ["Hamming loss", "0.81250"] in page.cells


def test_label_table_and_the_hardest(tmp_path: Path) -> None:
    labels = [
        LabelRow("easy", 2000, 1990, 0.95, 0.9, 0.924),
        LabelRow("hard", 50, 20, 0.25, 0.1, 0.143),
        LabelRow("never", 10, 0, 0.0, 0.0, 0.0),
        LabelRow("rare", 9, 9, 0.0, 0.0, 0.0),
    ]
    page = reported(tmp_path, made(labels))
    assert ["easy", "2,000", "1,990", ".950", ".900", ".924"] in page.cells
    start = page.cells.index(["Label", "Docs", "Missed", "False alarms", "F1"])
    assert page.cells[start + 1 : start + 4] == [
        ["never", "10", "100%", "–", ".000"],  # the rare one is not hard, it is new
        ["hard", "50", "90%", "75%", ".143"],
        ["easy", "2,000", "10%", "5%", ".924"],
    ]
    assert page.count("circle") == 4


@pytest.mark.parametrize("labels", [1, 0])
def test_few_labels(tmp_path: Path, labels: int) -> None:
    page = reported(tmp_path, made(rows(labels), points=1))
    assert page.count("table", id="labels") == labels
    assert ("1 label," if labels else "0 labels,") in page.text


def test_nothing_judged(tmp_path: Path) -> None:
    result, model, sample = learnt([batch([None, None], ["crude oil", "pure gold"])])
    page = reported(tmp_path, result, model=model, sample=sample)
    assert "so nothing could be judged" in page.text
    assert page.count("figure", **{"data-chart": "macro"}) == 0
    assert page.count("figure", **{"data-chart": "rate"}) == 1
    assert page.count("article") == 0


def test_interrupted_before_the_first_document(tmp_path: Path) -> None:
    nothing = replace(
        made([], points=1), documents=0, judged=0, seconds=0.0, interrupted=True, curve=[]
    )
    assert "was interrupted" in reported(tmp_path, nothing).text


def test_many_labels_keep_the_page_small(tmp_path: Path) -> None:
    page = reported(tmp_path, made(rows(2000), points=2000))
    assert page.count("tr") > 2000
    assert "Printed: the first 60 of 2,000 rows" in page.text
    assert (tmp_path / "report.html").stat().st_size < 800_000


def test_too_many_labels_are_cut_and_counted(tmp_path: Path) -> None:
    page = reported(tmp_path, made(rows(MOST_ROWS + 7)))
    assert f"{MOST_ROWS:,} most frequent labels" in page.text
    assert f"all {MOST_ROWS + 7:,}" in page.text


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    result, model, sample = learnt(
        [batch([[name] for name in HOSTILE], [f"{name} and more" for name in HOSTILE])]
    )
    page = reported(
        tmp_path, result, title=HOSTILE[0], stream=HOSTILE[1], command=HOSTILE[2], model=model,
        sample=sample, comparison={HOSTILE[1]: result, HOSTILE[3]: result},
    )  # fmt: skip
    assert page.count("script") == 2
    assert page.count("img") == 0
    allowed = {"http-equiv", "data-chart"}
    for tag, attrs in page.tags:
        assert not any(name.startswith("on") for name in attrs), (tag, attrs)
        assert not attrs.keys() & {"src", "srcset", "action", "formaction"} - allowed
        assert attrs.get("href", "data:,") == "data:,"
    shown = {row[0] for row in page.cells}
    assert shown >= set(HOSTILE)


def test_changes_that_a_detector_found(tmp_path: Path) -> None:
    assert reported(tmp_path, made(rows(2))).count("section", id="alarms") == 0
    alarms = [
        Alarm(2560, None, 0.25, 0.5, ("fracking", HOSTILE[0]), ()),
        Alarm(5120, HOSTILE[0], 0.1, 0.345, (), ("tanker",)),
    ]
    page = reported(tmp_path, replace(made(rows(2)), alarms=alarms))
    assert page.count("section", id="alarms") == 1
    assert ["2,560", "all labels", "25%", "50%", f"fracking, {HOSTILE[0]}", ""] in page.cells
    assert ["5,120", HOSTILE[0], "10%", "34%", "", "tanker"] in page.cells
    assert page.count("script") == 2


def test_settings_that_are_not_set(tmp_path: Path) -> None:
    page = reported(tmp_path, made(rows(2)))
    assert ["threshold", "learnt"] in page.cells
    assert ["half_life", "none"] in page.cells


def test_the_policy_admits_the_one_script(tmp_path: Path) -> None:
    page = reported(tmp_path, made(rows(2)))
    policy = next(a["content"] for t, a in page.tags if "http-equiv" in a)
    digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
    assert policy is not None
    assert "default-src 'none'" in policy
    assert re.findall(r"script-src ([^;]+)", policy) == [f"'sha256-{digest}'"]


def test_half_a_surrogate_pair_does_not_break_the_file(tmp_path: Path) -> None:
    result, _, _ = learnt_news()
    page = reported(tmp_path, renamed(result, ["a\ud800b", "\ud83d", "c"]))
    assert "a?b" in page.text


def test_words_that_decided(tmp_path: Path) -> None:
    result, model, sample = learnt_news()
    page = reported(tmp_path, result, model=model, sample=sample)
    assert page.count("article") == 6
    assert page.count("mark", **{"class": "for-5"}) >= 6
    assert "add up to the evidence (log-odds)" in page.text
    assert "Predicted and true." in page.text


def test_words_of_the_paper_s_rules(tmp_path: Path) -> None:
    result, model, sample = learnt_news(rule="centroid")
    page = reported(tmp_path, result, model=model, sample=sample)
    assert "of the documents in its region have the label (predicted above .500)" in page.text
    assert ["threshold", "0.5"] in page.cells


def test_comparison(tmp_path: Path) -> None:
    first, second = made(rows(3)), replace(made(rows(3)), macro_f1=0.25, micro_f1=0.5)
    page = reported(tmp_path, first, comparison={"margin": first, "centroid": second})
    assert ["margin", ".812", ".812", "1,000", "10 MB"] in page.cells
    assert ["centroid", ".250", ".500", "1,000", "10 MB"] in page.cells
    assert page.count("figure", **{"data-chart": "compared_macro"}) == 1
    assert page.count("path", **{"class": "rule-1"}) == 2


def test_same_evaluation_same_page(tmp_path: Path) -> None:
    result, model, sample = learnt_news()
    for name in ("one.html", "two.html"):
        write_report(tmp_path / name, result, model=model, sample=sample)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "clasher.cli.report")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'clasher\[report\]'"):
        import_module("clasher.cli.report")
