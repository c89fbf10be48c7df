"""Requests of Annif's ``http`` backend."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.servers import Served

SUGGEST = "/v1/annif/suggest"


def ask(served: Served, **fields: Any) -> Any:
    return served.client.post(SUGGEST, data=fields)


def test_subjects_come_with_scores_best_first(served: Served) -> None:
    served.post("/v1/learn", {"documents": [
        {"text": "rye and oats", "labels": ["http://example.org/topics#rye"]},
    ] * 5})  # fmt: skip
    found = ask(served, text="rye & oats", limit=2, project="x", metadata_title="y").json()[
        "results"
    ]
    assert len(found) == 2
    assert found[0]["uri"] == "http://example.org/topics#rye"
    assert found[0]["label"] == "rye"
    assert found[0]["score"] > found[1]["score"]


def test_the_project_is_trained(served: Served) -> None:
    assert served.get("/v1/annif") == {"is_trained": True}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"limit=3", 422),
        (b"text=a&limit=many", 422),
        (b"text=a&limit=0", 422),
        (b"text=%ff", 400),
        (b"&".join([b"text=a"] * 200), 400),
    ],
)
def test_invalid_forms(served: Served, body: bytes, status: int) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    answer = served.client.post(SUGGEST, content=body, headers=headers)
    assert answer.status_code == status
    assert answer.json()["detail"]


def test_only_annif_may_send_forms(served: Served) -> None:
    assert served.client.post("/v1/learn", data={"text": "a"}).status_code == 415
    assert served.client.post(SUGGEST, json={"text": "a"}).status_code == 415
