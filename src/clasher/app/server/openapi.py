"""The OpenAPI document, made of the operations and of the types they are held to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import Any

import msgspec

from clasher import __version__
from clasher.app.server.calls import KEY, WHO
from clasher.app.server.limits import LINES
from clasher.app.server.operation import Operation
from clasher.app.server.problems import MEDIA_TYPE, Problem, title

ABOUT = """
Labels for documents, several at once, from a model that learns from every answer.

Errors are problem+json: what is wrong, where (`field`), and what to do about it (`remedy`).
Send `Authorization: Bearer TOKEN` where the service asks for tokens. Large bodies may be gzipped.
"""
REF = "#/components/schemas/{name}"
NEEDY, WITH_BODY = (503,), (400, 408, 413, 415, 422)


def document(operations: Sequence[Operation], root_path: str = "") -> dict[str, Any]:
    """The whole document."""
    schemas = _Schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "clasher", "version": __version__, "description": ABOUT.strip()},
        "servers": [{"url": root_path or "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


class _Schemas:
    """The JSON schemas of all types."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        types: list[Any] = [Problem]
        for one in operations:
            types += [one.takes, one.takes_lines, one.gives, one.gives_lines]
        self._types = [shape for shape in types if shape not in (None, Any)]
        known, components = msgspec.json.schema_components(self._types, ref_template=REF)
        self._known = list(known)
        self.components = {name: _tidied(schema) for name, schema in components.items()}

    def of(self, shape: Any) -> dict[str, Any]:
        """The schema of a type."""
        if shape is Any:
            return {"type": "string", "format": "binary"}
        return self._known[self._types.index(shape)]


def _tidied(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose description has no margin."""
    if "description" in schema:
        schema = {**schema, "description": cleandoc(schema["description"])}
    return schema


def _operation(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "description": one.description,
        "parameters": list(_parameters(one)),
        "responses": _responses(one, schemas),
        "security": [{}] if one.scope is None else [{"token": []}, {}],
    }
    if one.scope is not None:
        described["x-scope"] = one.scope
    if one.takes is not None:
        described["requestBody"] = {"required": True, "content": _body(one, schemas)}
    return described


def _body(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    whole: dict[str, Any] = {"schema": schemas.of(one.takes)}
    if one.takes_lines is not None:  # one document alone will do
        whole["schema"] = {"anyOf": [schemas.of(one.takes), schemas.of(one.takes_lines)]}
    if one.example is not None:
        whole["examples"] = {"example": {"value": one.example}}
    content = {one.takes_type: whole}
    if one.takes_lines is not None:
        content[LINES] = {"schema": schemas.of(one.takes_lines)}
        if one.example is not None:
            line = msgspec.json.encode(one.example["documents"][0]).decode()
            content[LINES]["examples"] = {"example": {"value": line + "\n"}}
    return content


def _parameters(one: Operation) -> Iterator[dict[str, Any]]:
    for place, shape in (("path", one.path_shape), ("query", one.query)):
        if shape is None:
            continue
        _, components = msgspec.json.schema_components([shape], ref_template=REF)
        described = components[shape.__name__]
        for name, schema in described["properties"].items():
            yield {
                "name": name,
                "in": place,
                "required": name in described.get("required", ()),
                "schema": schema,
            }
    if one.scope in ("teach", "admin"):
        for name in (KEY, WHO):
            yield {
                "name": name.title(), "in": "header", "required": False,
                "schema": {"type": "string", "pattern": "^[!-~]{1,64}$"},
            }  # fmt: skip


def _responses(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    good: dict[str, Any] = {"description": title(one.status)}
    if one.gives is not None:
        good["content"] = {one.gives_type: {"schema": schemas.of(one.gives)}}
        if one.answers is not None:
            value = msgspec.to_builtins(one.answers)
            good["content"][one.gives_type]["examples"] = {"example": {"value": value}}
        if one.gives_lines is not None:
            good["content"][LINES] = {"schema": schemas.of(one.gives_lines)}
    answers = {str(one.status): good}
    for status in sorted(set(_problems(one))):
        answers[str(status)] = {
            "description": title(status),
            "content": {MEDIA_TYPE: {"schema": schemas.of(Problem)}},
        }
    return answers


def _problems(one: Operation) -> Iterator[int]:
    yield from one.problems
    yield from (403, 421)  # another site, another name
    if one.scope is not None:
        yield 401
    if one.is_needy:
        yield from NEEDY
    if one.takes is not None:
        yield from WITH_BODY
    if one.query is not None or one.path_shape is not None:
        yield 422
