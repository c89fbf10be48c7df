"""The OpenAPI document, made from the operations and the types that they declare."""

from collections.abc import Iterator, Sequence
from inspect import cleandoc
from typing import Any, TypeAlias

import msgspec

from clasher import __version__
from clasher.server.limits import LINES
from clasher.server.operations import KEY, WHO, Operation
from clasher.server.problems import MEDIA_TYPE, Problem, title

ABOUT = """
Multi-label text classification with a model that learns from every correction.

Errors are problem+json: what is wrong, where (`field`), and how to fix it (`remedy`).
Send `Authorization: Bearer TOKEN` if the service uses tokens. Bodies may be compressed with gzip.
"""
REF = "#/components/schemas/{name}"
Schemas: TypeAlias = dict[Any, dict[str, Any]]  # by type


def document(operations: Sequence[Operation], root_path: str = "") -> dict[str, Any]:
    """Make the whole document."""
    types: list[Any] = [Problem]
    for one in operations:
        types += [one.body, one.line, one.answer, one.answer_line]
    types = [shape for shape in types if shape not in (None, bytes)]
    found, components = msgspec.json.schema_components(types, ref_template=REF)
    for schema in components.values():
        schema["description"] = cleandoc(schema.get("description", ""))
    schemas: Schemas = {bytes: {"type": "string", "format": "binary"}}
    schemas |= zip(types, found, strict=True)
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "clasher", "version": __version__, "description": ABOUT.strip()},
        "servers": [{"url": root_path or "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Operation, schemas: Schemas) -> dict[str, Any]:
    description = cleandoc(one.handler.__doc__ or "")
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": description.partition("\n")[0].rstrip("."),
        "description": description,
        "parameters": list(_parameters(one)),
        "responses": _responses(one, schemas),
        "security": [{}] if one.scope is None else [{"token": []}, {}],
    }
    if one.scope is not None:
        described["x-scope"] = one.scope
    if one.body is not None:
        described["requestBody"] = {"required": True, "content": _body(one, schemas)}
    return described


def _body(one: Operation, schemas: Schemas) -> dict[str, Any]:
    schema = schemas[one.body]
    if one.line is None:
        return {one.body_type: _with_example(schema, one.example)}
    either = {"anyOf": [schema, schemas[one.line]]}  # a batch or a single document
    line = msgspec.json.encode(one.example["documents"][0]).decode() + "\n"
    return {
        one.body_type: _with_example(either, one.example),
        LINES: _with_example(schemas[one.line], line),
    }


def _with_example(schema: dict[str, Any], example: Any) -> dict[str, Any]:
    if example is None:
        return {"schema": schema}
    return {"schema": schema, "examples": {"example": {"value": msgspec.to_builtins(example)}}}


def _parameters(one: Operation) -> Iterator[dict[str, Any]]:
    for place, shape in one.parameters.items():
        described = msgspec.json.schema_components([shape])[1][place]
        for name, schema in described["properties"].items():
            required = name in described.get("required", ())
            yield {"name": name, "in": place, "required": required, "schema": schema}
    if one.scope in ("teach", "admin"):
        schema = {"type": "string", "pattern": "^[!-~]{1,64}$"}
        for name in (KEY, WHO):
            yield {"name": name.title(), "in": "header", "required": False, "schema": schema}


def _responses(one: Operation, schemas: Schemas) -> dict[str, Any]:
    success: dict[str, Any] = {"description": title(one.status)}
    if one.answer is not None:
        schema = schemas[one.answer]
        example = one.example_answer and msgspec.convert(one.example_answer, one.answer)
        success["content"] = {one.answer_type: _with_example(schema, example)}
    if one.answer_line is not None:
        success["content"][LINES] = {"schema": schemas[one.answer_line]}
    statuses = {*one.problems, 403, 421}  # another site, an unknown host
    if one.scope is not None:
        statuses.add(401)
    if one.needs_engine:
        statuses.add(503)
    if one.body is not None:
        statuses.update((400, 408, 413, 415, 422))
    if one.parameters:
        statuses.add(422)
    problem = {MEDIA_TYPE: {"schema": schemas[Problem]}}
    return {str(one.status): success} | {
        str(status): {"description": title(status), "content": problem}
        for status in sorted(statuses)
    }
