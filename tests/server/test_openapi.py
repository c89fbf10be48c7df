"""The OpenAPI document is complete and true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from clasher.server.operations import Operation
from clasher.server.routes import OPERATIONS
from support.environment import optional
from tests.server.servers import Served, serve

schemathesis = optional("schemathesis", "test")
checks = optional("schemathesis.specs.openapi.checks", "test")


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from references(item)


def test_the_document_is_complete(served: Served) -> None:
    document = served.get("/openapi.json")
    schemas = document["components"]["schemas"]
    assert set(references(document)) == {f"#/components/schemas/{name}" for name in schemas}
    known = {(one.method.lower(), one.path) for one in OPERATIONS}
    assert known == {(method, path) for path, item in document["paths"].items() for method in item}
    for path, item in document["paths"].items():
        for method, described in item.items():
            assert described["summary"], (method, path)
            statuses = described["responses"].keys()
            assert {"200", "204"} & statuses
            if "requestBody" in described:
                assert {"400", "408", "413", "415", "422"} <= statuses


@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: one.name)
def test_examples_match_their_types(one: Operation) -> None:
    if one.body is not None and one.example is not None:
        msgspec.convert(one.example, one.body)
        if one.line is not None:
            msgspec.convert(one.example["documents"][0], one.line)
    if one.example_answer is not None:
        msgspec.convert(one.example_answer, one.answer)


def test_answers_match_the_document(served: Served) -> None:
    served.post("/v1/predict", {"documents": [{"id": "1", "text": "wheat"}]})
    for one in OPERATIONS:
        if one.method == "GET" and one.answer_type == "application/json":
            text = served.client.get(one.path.replace("{id}", "1")).content
            msgspec.json.decode(text, type=one.answer)


def test_the_page_of_the_api_needs_no_other_host(served: Served) -> None:
    page = served.client.get("/docs").text
    assert "http" not in page.replace("http-equiv", "")
    for address in ("pages/style.css", "pages/docs.js", "pages/icon.svg"):
        assert address in page
        answer = served.client.get(address)
        assert answer.status_code == 200
        tag = {"if-none-match": answer.headers["etag"]}
        assert served.client.get(address, headers=tag).status_code == 304


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Load the document of a server for generated requests."""
    with serve(tmp_path_factory.mktemp("fuzzed")) as served:
        served.teach()
        loaded = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
        yield loaded
        assert served.get("/readyz") == {"status": "ok"}
        json.loads(served.client.get("/v1/log").text.splitlines()[0])


CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@pytest.mark.parametrize("examples", [5, pytest.param(60, marks=pytest.mark.trial)])
@pytest.mark.parametrize(
    "one", [one for one in OPERATIONS if one.name != "events"], ids=lambda one: one.name
)
def test_generated_requests_break_nothing(schema: Any, one: Operation, examples: int) -> None:
    @given(case=schema[one.path][one.method].as_strategy())
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
    def ask(case: Any) -> None:
        case.validate_response(case.call(), checks=known)

    # schemathesis converts the tuples of OpenAPI 3.1 to those of 3.0, and then refuses them
    known = CHECKS[:-1] if has_tuples(one) else CHECKS
    ask()


def has_tuples(one: Operation) -> bool:
    shapes = [shape for shape in (one.answer, one.answer_line) if shape not in (None, Any)]
    return any("prefixItems" in json.dumps(msgspec.json.schema(shape)) for shape in shapes)
