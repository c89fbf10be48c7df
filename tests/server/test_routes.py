"""All operations over HTTP."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from clasher import Clasher
from tests.server.servers import LESSONS, Served, serve

LINES = {"content-type": "application/x-ndjson"}


def predict(served: Served, text: str, **more: Any) -> Any:
    return served.post("/v1/predict", {"documents": [{"text": text, **more}]})["predictions"][0]


def test_predictions_come_in_the_order_of_the_documents(served: Served) -> None:
    texts = [lesson["text"] for lesson in LESSONS]
    batch = [{"id": f"doc {n}", "text": text} for n, text in enumerate(texts * 50)]
    answer = served.post("/v1/predict", {"documents": batch})
    assert [one["id"] for one in answer["predictions"]] == [one["id"] for one in batch]
    alone = [predict(served, text)["labels"] for text in texts]
    assert [one["labels"] for one in answer["predictions"]] == alone * 50
    assert alone[2] == ["sport"]


def test_every_prediction_gets_its_own_id(served: Served) -> None:
    ids = {predict(served, "the same text")["id"] for _ in range(20)}
    assert len(ids) == 20


def test_a_single_document_needs_no_batch(served: Served) -> None:
    alone = served.post("/v1/predict", {"text": "a late goal", "id": "x"})
    assert alone["predictions"] == [predict(served, "a late goal", id="x")]


@pytest.mark.parametrize("place", ["body", "address"])
def test_top_sets_the_number_of_probabilities(served: Served, place: str) -> None:
    body: dict[str, Any] = {"documents": [{"text": "a late goal"}]}
    query = {}
    if place == "body":
        body["top"] = 2
    else:
        query = {"top": "2"}
    answer = served.post("/v1/predict", body, params=query)
    scores = [score for _, score in answer["predictions"][0]["probabilities"]]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)


def test_feedback_on_a_document_that_was_not_kept_is_refused(served: Served) -> None:
    body = {"documents": [{"text": "a late goal", "id": "not kept"}], "keep": False}
    served.post("/v1/predict", body)
    answer = served.client.post("/v1/feedback", json={"id": "not kept", "labels": ["sport"]})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["type"] == "urn:clasher:problem:unknown-document"
    assert "learn" in problem["remedy"]


def test_json_lines_go_in_and_come_out(served: Served) -> None:
    lines = "".join(json.dumps({"id": str(n), "text": "a goal"}) + "\n" for n in range(600))
    answer = served.client.post("/v1/predict", content=lines, headers=LINES)
    assert answer.headers["content-type"] == "application/x-ndjson"
    predictions = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["id"] for one in predictions] == [str(n) for n in range(600)]
    both = {**LINES, "accept": "application/json"}
    whole = served.client.post("/v1/predict", content=lines, headers=both).json()
    assert [one["labels"] for one in whole["predictions"]] == [p["labels"] for p in predictions]


def test_a_body_may_be_compressed(served: Served) -> None:
    body = gzip.compress(b'{"text": "a late') + gzip.compress(b' goal"}')
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    answer = served.client.post("/v1/predict", content=body, headers=headers)
    assert answer.json()["predictions"][0]["labels"] == predict(served, "a late goal")["labels"]


def test_repeated_requests_with_one_key_are_learnt_once(folder: Path) -> None:
    with serve(folder) as served:
        key = {"idempotency-key": "monday-1"}
        receipts = [served.post("/v1/learn", {"documents": LESSONS}, headers=key) for _ in range(3)]
        assert [one["is_duplicate"] for one in receipts] == [False, True, True]
        assert len({one["version"] for one in receipts}) == 1
        assert served.get("/v1/metrics")["documents_learned"] == len(LESSONS)
        other = served.client.post("/v1/learn", json={"text": "else"}, headers=key)
        assert other.status_code == 409
        assert served.get("/v1/metrics")["documents_learned"] == len(LESSONS)


def test_large_batches_are_learnt_whole_or_not_at_all(folder: Path) -> None:
    with serve(folder) as served:
        many = [{"text": f"document {n}", "labels": [f"label {n % 40}"]} for n in range(1200)]
        lines = "".join(json.dumps(one) + "\n" for one in many)
        bad = lines + '{"text": 3}\n'
        refused = served.client.post("/v1/learn", content=bad, headers=LINES)
        assert refused.status_code == 422
        assert refused.json()["field"] == "line 1201: $.text"
        assert served.get("/v1/metrics")["documents_learned"] == 0
        receipt = served.client.post("/v1/learn", content=lines, headers=LINES).json()
        assert receipt["documents"] == 1200
        assert served.get("/v1/names")["names"][0][2] == 30


def test_full_and_partial_feedback_and_undo(folder: Path) -> None:
    with serve(folder) as served:
        served.teach()
        predicted = predict(served, "interest in a goal", id="doc")
        part = {"documents": [{"id": "doc", "labels": {"sport": True}}]}
        first = served.post("/v1/feedback", part, headers={"x-clasher-who": "J%C3%B6rg"})
        assert first["receipts"][0]["after"] == {"sport": True}
        more = {"id": "doc", "labels": {"economy": False}}
        second = served.post("/v1/feedback", more)["receipts"][0]
        assert second["after"] == {"sport": True, "economy": False}
        assert "sport" in {name for name, _, _ in second["changes"]["probabilities"]}
        undone = served.post("/v1/undo", {"version": second["version"]})
        assert undone["after"] == {"sport": True}
        late = served.client.post("/v1/undo", json={"version": second["version"]})
        assert late.status_code == 409
        log = [json.loads(line) for line in served.client.get("/v1/log").text.splitlines()]
        kinds = [one["kind"] for one in log]
        assert kinds == ["learn"] * 15 + ["feedback", "feedback", "undo"]
        assert log[15]["who"] == "Jörg"
        assert "before" not in log[15]
        assert first["receipts"][0]["before"] is None
        assert log[15]["predicted"] == predicted["labels"]
        rest = served.client.get("/v1/log", params={"after": log[-2]["version"]}).text
        assert [json.loads(line)["kind"] for line in rest.splitlines()] == ["undo"]


def test_valid_answers_are_accepted_beside_invalid_ones(served: Served) -> None:
    predict(served, "a goal", id="known")
    said = [{"id": "known", "labels": ["sport"]}, {"id": "never seen", "labels": ["sport"]}]
    answer = served.post("/v1/feedback", {"documents": said})
    assert [one["id"] for one in answer["receipts"]] == ["known"]
    assert [(one["index"], one["status"]) for one in answer["problems"]] == [(1, 404)]


def test_documents_to_teach_are_leased_to_one_person(folder: Path) -> None:
    with serve(folder) as served:
        served.teach()
        for number in range(4):
            predict(served, f"text {number}", id=str(number))

        def lease(who: str, most: int) -> list[str]:
            answer = served.post("/v1/teach", {"most": most}, headers={"x-clasher-who": who})
            return [item["id"] for item in answer["items"]]

        ann, bob = lease("ann", 2), lease("bob", 10)
        assert sorted(ann + bob) == ["0", "1", "2", "3"]
        body, ann_says = {"ids": ann}, {"x-clasher-who": "ann"}
        given = served.client.post("/v1/teach/release", json=body, headers=ann_says)
        assert given.status_code == 204
        assert sorted(lease("bob", 10)) == sorted(ann)


def test_explanations_point_into_the_text(served: Served) -> None:
    text = "Ein Tor: a late goal ⚽ in the final"
    answer = served.post("/v1/explain", {"text": text, "labels": ["sport"]})
    (explained,) = answer["explanations"]
    assert explained["label"] == "sport"
    words = {text[word["start"] : word["stop"]]: word["evidence"] for word in explained["words"]}
    assert words["goal"] > 0


def test_a_renamed_label_keeps_its_number(folder: Path) -> None:
    with serve(folder) as served:
        served.teach()
        numbers = {name: number for number, name, _, _ in served.get("/v1/names")["names"]}
        url = f"/v1/labels/{numbers['grain']}"
        served.post(url, {"action": "rename", "into": "cereals"})
        assert served.get(url)["label"]["name"] == "cereals"
        served.post("/v1/learn", {"text": "wheat", "labels": ["grain"]})
        assert served.get(url)["label"]["support"] == 6
        served.post(url, {"action": "merge", "into": "economy"})
        assert served.client.get(url).status_code == 404
        served.post(f"/v1/labels/{numbers['sport']}", {"action": "pin"})
        names = served.get("/v1/names")["names"]
        assert {(name, pinned) for _, name, _, pinned in names} == {
            ("economy", False), ("sport", True),
        }  # fmt: skip
        twice = served.client.post(url, json={"action": "retire"})
        assert twice.status_code == 404


def test_labels_are_sorted_and_paged(folder: Path) -> None:
    with serve(folder) as served:
        many = [
            {"text": f"word{n}", "labels": [f"label {n:02}"]} for n in range(20) for _ in range(n)
        ]
        served.post("/v1/learn", {"documents": many})

        def names(**query: str) -> list[str]:
            answer = served.get("/v1/labels", params=query)
            assert answer["total"] == 19
            return [label["name"] for label in answer["labels"]]

        ascending = [f"label {n:02}" for n in range(1, 20)]
        assert names(sort="name") == ascending
        assert names(sort="name", order="desc") == ascending[::-1]
        assert names(sort="support") == ascending[::-1]
        assert names(sort="support", order="asc", start="2", most="3") == ascending[2:5]
        assert names(sort="support", order="asc", start="18", most="3") == ascending[18:]
        assert names(start="30") == []
        found = served.get("/v1/labels", params={"query": "L 07", "words": "1"})
        assert [label["words"][0][0] for label in found["labels"]] == ["word7"]


def test_the_model_can_be_downloaded_and_replaced(folder: Path, tmp_path: Path) -> None:
    with serve(folder) as served:
        served.teach()
        answer = served.client.get("/v1/model")
        assert answer.headers["content-type"] == "application/octet-stream"
        (tmp_path / "model").write_bytes(answer.content)
        model = Clasher.load(tmp_path / "model")
        assert model.predict("a late goal in the cup final") == {"sport"}
        served.post("/v1/learn", {"documents": [{"text": "x", "labels": ["new"]}]})
        content = {"content-type": "application/octet-stream"}
        put = served.client.put("/v1/model", content=answer.content, headers=content)
        assert put.status_code == 200
        assert "new" not in {name for _, name, _, _ in served.get("/v1/names")["names"]}
        broken = served.client.put("/v1/model", content=answer.content[:-9], headers=content)
        assert broken.status_code == 422
        assert broken.json()["type"] == "urn:clasher:problem:not-a-model"
        assert served.client.put("/v1/model", json={}).status_code == 415
        assert served.get("/v1/about")["settings"]["dimensions"] == 1024


def test_metrics_as_json_and_for_prometheus(folder: Path) -> None:
    with serve(folder) as served:
        served.teach(rounds=20)
        predict(served, "a goal")
        figures = served.get("/v1/metrics")
        assert figures["documents_learned"] == 60
        assert figures["documents_predicted"] == 1
        assert figures["latency_ms"]["predict"][0] > 0
        many = [{"text": "x", "labels": [f"rare {n}"]} for n in range(100)]
        served.post("/v1/learn", {"documents": many})
        text = served.client.get("/metrics").text
        assert "clasher_documents_learned_total 160.0" in text
        assert text.count("clasher_label_support{") == 20
        assert 'clasher_label_support{label="economy"} 40.0' in text
        assert 'clasher_requests_total{operation="predict",status="200"} 1.0' in text
        assert served.get("/v1/history")["points"]


def test_recent_documents_and_alarms(served: Served) -> None:
    predict(served, "the newest text", id="newest")
    newest = served.get("/v1/recent", params={"most": "1"})["documents"][0]
    assert newest["id"] == "newest"
    assert served.get("/v1/documents/newest") == newest
    assert served.get("/v1/alarms") == {"alarms": []}
    assert served.get("/healthz") == {"status": "ok"} == served.get("/readyz")


def test_too_many_labels_are_refused_before_anything_is_written(folder: Path) -> None:
    with serve(folder) as served:
        flood = [{"text": "x", "labels": [f"label {n}"]} for n in range(513)]
        answer = served.client.post("/v1/learn", json={"documents": flood})
        assert answer.status_code == 409
        assert "retire or merge" in answer.json()["remedy"]
        assert served.get("/v1/metrics")["version"] == 0
