"""Messages: JSON, the result of a decoder, and their key, headers and time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from confluent_kafka import Message

from clasher.errors import SettingError
from clasher.io.connectors.kafka.source import Messages
from clasher.io.records import Fields
from clasher.io.registry import load_function, source_at
from support.environment import optional
from support.servers.kafka_messages import create, fill
from tests.flow import plain
from tests.flow.runs import run
from tests.io.connectors.kafka import decoders


def message(value, offset=7, key=None, headers=None):
    return Message(
        topic="news", partition=2, offset=offset, key=key, value=value, headers=headers,
        error=None, timestamp=(1, 1700000000000),
    )  # fmt: skip


def chunk_of(found, fields=None, decode=None):
    return Messages("kafka:news", fields or Fields(), decode).chunk(found, None, [])


def test_a_value_is_json_and_a_record_without_an_id_is_known_by_its_place():
    records = chunk_of([message(b'{"text": "oil", "labels": ["energy"]}')]).records
    assert (records.ids, records.texts.to_pylist(), records.labels[0]) == (
        ["2:7"], ["oil"], {"energy"},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "problem"),
    [(b"{", "broken JSON"), (b'{"text": "\xff"}', "invalid UTF-8"), (b"[]", "not an object"),
     (b'{"text": 7}', "holds a number"), (None, "has no value")],
)  # fmt: skip
@pytest.mark.parametrize("fields", [Fields(), Fields(id="kafka.key")])
def test_a_bad_message_is_poison_with_its_place(value, problem, fields):
    chunk = chunk_of([message(value), message(b'{"text": "oil"}', 8, key=b"k")], fields)
    ((source, place, said, raw),) = chunk.poison
    assert (source, place, raw, len(chunk.records)) == ("kafka:news", "2:7", value, 1)
    assert problem in said


def test_fields_may_be_of_the_message():
    fields = Fields(labels="kafka.headers.topics", id="kafka.key")
    found = message(
        b'{"text": "oil"}', key=b"\xff1", headers=[("topics", b"energy|oil"), ("x", None)]
    )
    records = chunk_of([found], fields).records
    assert (records.ids, records.labels[0]) == (["\\xff1"], {"energy", "oil"})


def test_a_value_may_be_plain_text():
    chunk = chunk_of(
        [message(b"oil"), message(b"\xff")], Fields(text="kafka.value", id="kafka.offset")
    )
    assert (chunk.records.ids, chunk.records.texts.to_pylist()) == ([7], ["oil"])
    assert "invalid UTF-8" in chunk.poison[0].problem


@pytest.mark.parametrize(
    ("library", "encode", "decode"),
    [("fastavro", decoders.to_avro, decoders.avro),
     ("google.protobuf", decoders.to_protobuf, decoders.protobuf)],
    ids=["avro", "protobuf"],
)  # fmt: skip
def test_decoders_of_the_user_make_records(library, encode, decode):
    optional(library, "test")
    rows = plain.records(20)
    chunk = chunk_of([message(encode(row)) for row in rows], decode=decode)
    assert chunk.records.ids == [row["id"] for row in rows]
    assert chunk.records.texts.to_pylist() == [row["text"] for row in rows]
    assert [chunk.records.labels.as_given(at) for at in range(20)] == [
        None if row["labels"] is None else set(row["labels"]) for row in rows
    ]


@pytest.mark.parametrize(
    ("library", "encode", "decode", "frame"),
    [("fastavro", decoders.to_avro, decoders.avro, b"\0\0\0\0\7"),
     ("google.protobuf", decoders.to_protobuf, decoders.protobuf, b"\0\0\0\0\7\0")],
    ids=["avro", "protobuf"],
)  # fmt: skip
def test_values_in_the_frame_of_a_schema_registry_make_the_same_records(
    library, encode, decode, frame
):
    optional(library, "test")
    rows = plain.records(20)
    chunk = chunk_of([message(frame + encode(row)) for row in rows], decode=decode)
    assert chunk.records.ids == [row["id"] for row in rows]
    assert chunk.records.texts.to_pylist() == [row["text"] for row in rows]
    assert not chunk.poison


@pytest.mark.parametrize(
    ("library", "encode", "decode"),
    [("fastavro", decoders.to_avro, decoders.avro),
     ("google.protobuf", decoders.to_protobuf, decoders.protobuf)],
    ids=["avro", "protobuf"],
)  # fmt: skip
def test_a_value_of_another_schema_is_poison(library, encode, decode):
    optional(library, "test")
    row = {"id": "a", "text": "wheat", "labels": ["grain"]}
    whole = encode(row)
    bad = {
        "of another schema": b"\0\0\0\0\10" + whole,
        "too long": whole + b"\0",
        "too short": whole[:-1],
        "framed and cut": (b"\0\0\0\0\7" + whole)[:-1],
        "a frame alone": b"\0\0\0\0\7",
        "nothing": b"",
        "an empty id in the frame of another schema": b"\0\0\0\0\10\0\0\0",
    }
    chunk = chunk_of([message(value, at) for at, value in enumerate(bad.values())], decode=decode)
    assert chunk.records.ids == []
    assert [poison.raw for poison in chunk.poison] == list(bad.values())


def test_an_avro_value_without_a_frame_may_begin_with_a_zero():
    optional("fastavro", "test")
    row = {"id": "", "text": "wheat", "labels": None}
    chunk = chunk_of([message(decoders.to_avro(row))], decode=decoders.avro)
    assert chunk.records.texts.to_pylist() == ["wheat"]


@pytest.mark.parametrize(
    ("decode", "problem"),
    [
        (json.loads, "the decoder: JSONDecodeError: "),
        (decoders.to_list, "returned a list, not a mapping"),
    ],
)
def test_what_a_decoder_cannot_decode_is_poison(decode, problem):
    ((_, _, said, raw),) = chunk_of([message(b"{")], decode=decode).poison
    assert problem in said
    assert raw == b"{"


def test_a_decoder_is_named_in_the_address_or_beside_it():
    url = "kafka://localhost/news"
    source_at(f"{url}?decoder=tests.io.connectors.kafka.decoders:avro")
    source_at(url, decoder="tests.io.connectors.kafka.decoders:avro")
    with pytest.raises(SettingError, match="'nothing:at_all' cannot be imported"):
        source_at(url, decoder="nothing:at_all")
    with pytest.raises(SettingError, match="is not of the form module:function"):
        source_at(url, decoder="nothing")
    with pytest.raises(SettingError, match="is no function"):
        source_at(url, decoder="tests.io.connectors.kafka.decoders:not_a_function")
    with pytest.raises(SettingError, match="there is no option 'decoder'"):
        source_at("news.jsonl", decoder="json:loads")
    assert load_function("os.path:join")("a", "b") == "a/b"


def test_the_documented_avro_decoder_learns_framed_values(
    broker, topic, folder, tmp_path, monkeypatch
):
    optional("fastavro", "test")
    text = (Path(__file__).parents[4] / "docs" / "how-to" / "kafka.md").read_text(encoding="utf-8")
    (code,) = [part for part in re.findall(r"```python\n(.*?)```", text, re.S) if "avsc" in part]
    (tmp_path / "documented.py").write_text(code, encoding="utf-8")
    (tmp_path / "news.avsc").write_text(json.dumps(decoders.SCHEMA), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    rows = plain.records(20)
    values = [b"\0\0\0\0\7" + decoders.to_avro(row) for row in rows]
    create(broker, topic)
    fill(broker, topic, [*values, b"\0\0\0\0\10" + decoders.to_avro(rows[0])])
    figures = run(folder, broker.url(topic, decoder="documented:news"))
    assert (figures.documents, figures.duplicates, figures.poison) == (20, 0, 1)
    assert plain.model_in(folder) == plain.learnt(rows)
