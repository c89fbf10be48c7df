"""Decoders as users write them: Avro with a schema, a Protobuf message, and one that is broken."""

from __future__ import annotations

import io
from typing import Any

SCHEMA = {
    "type": "record",
    "name": "Document",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "text", "type": "string"},
        {"name": "labels", "type": ["null", {"type": "array", "items": "string"}]},
    ],
}


def to_avro(row: dict[str, Any]) -> bytes:
    import fastavro

    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), row)
    return out.getvalue()


def avro(value: bytes) -> Any:
    import fastavro

    return fastavro.schemaless_reader(io.BytesIO(value), fastavro.parse_schema(SCHEMA), None)


def to_protobuf(row: dict[str, Any]) -> bytes:
    from google.protobuf.struct_pb2 import Struct

    message = Struct()
    message.update(row)
    return message.SerializeToString()


def protobuf(value: bytes) -> Any:
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.struct_pb2 import Struct

    return MessageToDict(Struct.FromString(value))


def to_list(value: bytes) -> Any:
    return list(value)


not_a_function = 7
