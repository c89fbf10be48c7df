"""Invalid requests get a problem that names the field, and change nothing."""

from __future__ import annotations

import json

import pytest

from tests.server.servers import Served

JSON = {"content-type": "application/json"}
DEEP = b"[" * 100_000

MALFORMED = {
    "nothing": (b"", 400, "$"),
    "not JSON": (b"text=goal", 400, "$"),
    "cut off": (b'{"documents": [{"text": "goal"', 400, "$"),
    "not a number": (b'{"documents": [{"text": NaN}]}', 400, "$"),
    "not UTF-8": (b'{"documents": [{"text": "\xff\xfe"}]}', 400, "$"),
    "half a character": (b'{"documents": [{"text": "\\ud800"}]}', 400, "$"),
    "an array": (b"[]", 422, "$"),
    "no document": (b'{"documents": []}', 422, "$.documents"),
    "no text": (b'{"documents": [{}]}', 422, "$.documents[0]"),
    "a number": (b'{"documents": [{"text": "a"}, {"text": 1}]}', 422, "$.documents[1].text"),
    "a typing error": (b'{"documents": [{"text": "a", "label": []}]}', 422, "$.documents[0]"),
    "no name": (b'{"documents": [{"text": "a", "labels": [""]}]}', 422, "$.documents[0].labels[0]"),
    "a label's state": (
        b'{"documents": [{"text": "a", "labels": {"b": "maybe"}}]}', 422,
        "$.documents[0].labels[...]",
    ),
    "a number as id": (b'{"documents": [{"text": "a", "id": 7}]}', 422, "$.documents[0].id"),
    "deep": (DEEP, 422, "$"),
    "deep inside": (b'{"documents": [{"text": ' + DEEP, 422, "$.documents[0].text"),
    "deep beside": (b'{"documents": [{"text": "a", "x": ' + DEEP, 422, "$.documents[0]"),
}  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/learn"])
@pytest.mark.parametrize("what", MALFORMED)
def test_problems_name_the_field(served: Served, path: str, what: str) -> None:
    body, status, field = MALFORMED[what]
    before = served.engine.version
    answer = served.client.post(path, content=body, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["field"] == field
    assert problem["detail"]
    assert problem["remedy"]
    assert served.engine.version == before


@pytest.mark.parametrize(
    ("documents", "field"),
    [
        ([{"text": "a" * 1_000_001}], "$.documents[0].text"),
        ([{"text": "a", "id": "i" * 257}], "$.documents[0].id"),
        ([{"text": "a", "labels": ["l" * 257]}], "$.documents[0].labels[0]"),
        ([{"text": "a", "labels": [str(n) for n in range(1001)]}], "$.documents[0].labels"),
        ([{"text": "a"}] * 10_001, "$.documents"),
    ],
)
def test_texts_labels_and_documents_are_bounded(
    served: Served, documents: list[dict[str, object]], field: str
) -> None:
    answer = served.client.post("/v1/learn", json={"documents": documents})
    assert answer.status_code == 422
    assert answer.json()["field"] == field


def test_json_lines_are_bounded_too(served: Served) -> None:
    lines = {"content-type": "application/x-ndjson"}
    many = b'{"text": "a"}\n' * 10_001
    answer = served.client.post("/v1/learn", content=many, headers=lines)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:clasher:problem:too-many")
    assert served.client.post("/v1/learn", content=b"\n\n", headers=lines).status_code == 422
    long = b'{"text": "' + b"a" * (17 * 2**20)
    assert served.client.post("/v1/learn", content=long, headers=lines).status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/predict", 405),
        ("DELETE", "/v1/model", 405),
        ("GET", "/v1/labels/0", 404),
        ("GET", "/v1/labels/grain", 422),
        ("GET", "/v1/labels/" + "9" * 5000, 422),
        ("GET", "/v1/labels?most=0", 422),
        ("GET", "/v1/labels?most=many", 422),
        ("GET", "/v1/labels?moist=1", 422),
        ("GET", "/v1/labels?sort=colour", 422),
        ("GET", "/v1/log?after=-1", 422),
    ],
)
def test_unknown_addresses(served: Served, method: str, path: str, status: int) -> None:
    answer = served.client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"action": "rename"}, 422, "$.into"),
        ({"action": "retire", "into": "x"}, 422, "$.into"),
        ({"action": "paint"}, 422, "$.action"),
    ],
)
def test_invalid_label_changes(
    served: Served, change: dict[str, str], status: int, field: str
) -> None:
    answer = served.client.post("/v1/labels/1", json=change)
    assert (answer.status_code, answer.json()["field"]) == (status, field)


def test_errors_of_the_engine_become_problems(served: Served) -> None:
    missing = served.client.post("/v1/undo", json={"version": 10**6})
    assert missing.status_code == 404
    unknown = served.client.post("/v1/explain", json={"text": "a", "labels": ["no such label"]})
    assert (unknown.status_code, unknown.json()["title"]) == (422, "Unprocessable Content")
    assert "no such label" in unknown.json()["detail"]
    key = {"idempotency-key": "k" * 2000}
    long = served.client.post("/v1/learn", json={"text": "a"}, headers=key)
    assert long.status_code == 422
    assert json.loads(long.text)["type"] == "urn:clasher:problem:invalid"
