"""Test the tables of the study of labels on made-up results."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.label_tables import labels

SCORES = {"macro_f1": 0.25, "micro_f1": 0.5}
RANKED = {
    **{f"precision_at_{k}": 0.6 for k in (1, 3, 5)},
    **{f"psp_at_{k}": 0.4 for k in (1, 3, 5)},
}


def point(documents: int, speed: float, scores: dict[str, float]) -> dict[str, float]:
    return {"documents": documents, "labels": 7, "seconds": documents / speed, **scores}


def result(
    system: str, documents: int, speed: float, scores: dict[str, float], **more: Any
) -> dict[str, Any]:
    """Make the results of a run over a stream of 30,000 documents."""
    given = {"limit": None, "options": {}, "order": "as stored", "corpus": "news"} | more
    about = {"system": system, "documents": documents, "labels": 9, "points": [], **given}
    whole = {"complete": documents in (30_000, about["limit"]), "documents_per_second": speed}
    return whole | about | scores


def failure(system: str, reason: str) -> dict[str, Any]:
    about = {"system": system, "corpus": "news", "order": "as stored", "limit": None}
    return {**about, "options": {}, "failed": reason}


BOTH = SCORES | RANKED
RUNS = [
    *(
        result(
            "clasher-margin", 30_000, speed, BOTH, state_bytes=5e7,
            points=[point(10_000, 2 * speed, BOTH), point(20_000, 3 * speed, BOTH)],
        )
        for speed in (4000, 2000, 9000)
    ),
    result("vw-hinge", 30_000, 1000, SCORES, model_bytes=9e7, points=[
        {"documents": 10_000, "labels": 7, **SCORES},
    ]),
    result("vw-hinge", 10_000, 2000, SCORES, limit=10_000, model_bytes=3e7),
    result("napkinxc", 21_000, 50, BOTH, model_bytes=8e6, points=[
        point(10_000, 200, BOTH), point(20_000, 100, BOTH), {"documents": 21_000, "seconds": 1},
    ]),
    result("omikuji", 12_000, 50, BOTH, model_bytes=7e6, points=[
        point(10_000, 100, BOTH), {"documents": 12_000, "labels": 7, "seconds": 1},
    ]),
    result("fasttext", 9000, 30, BOTH, options={"lr": 0.2}),
    failure("vw-plt", "was ended by SIGSEGV"),
    result("clasher-margin", 30_000, 5000, BOTH, options={"max_bytes": 25_000_000},
           state_bytes=24e6),
    result("clasher-margin", 30_000, 90, BOTH, corpus="zipf-9", order="synthetic", state_bytes=1e6),
    result("vw-hinge", 30_000, 30, SCORES, corpus="zipf-9", order="synthetic", model_bytes=1e6),
    result("clasher-margin", 30_000, 70, BOTH, corpus="long", state_bytes=3e6),
    result("clasher-margin", 30_000, 80, BOTH, corpus="long", options={"max_bytes": 25_000_000},
           state_bytes=2e6),
]  # fmt: skip


@pytest.fixture
def text() -> str:
    machine = {"cpu": "Some CPU", "cores": 2, "memory_bytes": 2**34, "system": "Linux x86_64",
               "python": "3.13.0", "load_before": 0.1}  # fmt: skip
    about = {"command": "python -m benchmarks labels", "date": "2025-01-01", "seed": 0}
    return labels({**about, "repeats": 3, "machine": machine, "versions": {}, "runs": RUNS})


def rows(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_systems_are_compared_on_equal_numbers_of_documents(text: str):
    ranks = ".600 | .600 | .600 | .400"
    assert rows(text, "| 30,000") == [
        f"| 30,000 | 9 | clasher margin | .250 | .500 | {ranks} | 4,000 | 4.00 | 50 MB |",
        "| 30,000 | 9 | Vowpal Wabbit hinge | .250 | .500 | – | – | – | – | 1,000 | 1.00 | 90 MB |",
    ]
    assert rows(text, "| 20,000") == [
        f"| 20,000 | 7 | clasher margin | .250 | .500 | {ranks} | 12,000 | – | – |",
        f"| 20,000 | 7 | napkinXC, retrained | .250 | .500 | {ranks} | 100 | – | 8 MB |",
    ]
    assert rows(text, "| 10,000") == [
        f"| 10,000 | 7 | clasher margin | .250 | .500 | {ranks} | 8,000 | 4.00 | – |",
        "| 10,000 | 9 | Vowpal Wabbit hinge | .250 | .500 | – | – | – | – | 2,000 | 1.00 | 30 MB |",
        f"| 10,000 | 7 | napkinXC, retrained | .250 | .500 | {ranks} | 200 | 0.10 | – |",
        f"| 10,000 | 7 | Omikuji, retrained | .250 | .500 | {ranks} | 100 | 0.05 | 7 MB |",
    ]


def test_a_system_that_reached_no_point_has_the_figures_of_its_end(text: str):
    assert len(rows(text, "| 9,000 | 9 | fastText, retrained | .250")) == 1
    assert "| fastText, retrained | `loss=ova" in text
    assert "| `lr=0.2` |" in text


def test_a_failure_has_its_reason(text: str):
    assert "| – | – | Vowpal Wabbit label tree | failed: was ended by SIGSEGV |" in text


def test_made_up_streams_share_a_table(text: str):
    assert len(rows(text, "| zipf-9 | 30,000 | 9 | clasher margin | .250")) == 1
    assert " | 90 | 3.00 | 1 MB |" in text
    assert "### zipf-9" not in text


def test_f1_is_shown_by_memory(text: str):
    assert text.split("### F1 by memory")[1].split("###")[0].splitlines()[4:-1] == [
        "| long | – | 3 MB | 9 | .250 | .500 | .600 | .600 | 70 |",
        "| long | 25 MB | 2 MB | 9 | .250 | .500 | .600 | .600 | 80 |",
        "| news | – | 50 MB | 9 | .250 | .500 | .600 | .600 | 4,000 |",
        "| news | 25 MB | 24 MB | 9 | .250 | .500 | .600 | .600 | 5,000 |",
    ]
    assert "### long" not in text
