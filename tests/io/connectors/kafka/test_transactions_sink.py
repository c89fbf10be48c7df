"""Outputs to topics, also while the broker takes none."""

from __future__ import annotations

import hashlib
import json
import threading
import time

import pytest

from clasher.errors import SettingError, StreamError, UnreachableError
from clasher.flow import Flow
from clasher.io.connectors.kafka import transactions
from clasher.io.protocol import Caller, Output
from clasher.io.registry import commit_as_one, sink_at
from support.servers.kafka_messages import create, fill, found, outputs
from tests.flow import plain
from tests.flow.runs import flow, run
from tests.io.connectors.kafka.torture.bugs import BUGS

PATIENCE = 60.0  # seconds


def opened(url):
    sink = sink_at(url)
    sink.open(None, Caller("me"))
    return sink


def test_messages_have_the_id_as_their_key_and_headers_of_ones_choice(broker, topic):
    create(broker, topic)
    sink = opened(broker.url(topic, **{"header.model": "news"}))
    sink.write([Output(7, b'{"id":7}'), Output("a", b'{"id":"a"}')])
    assert sink.flush() is None
    sink.close()
    sink.close()  # once more is no error
    messages = sorted(found(broker, topic), key=lambda message: message.key())
    assert [(one.key(), one.value(), one.headers()) for one in messages] == [
        (b"7", b'{"id":7}', [("model", b"news")]),
        (b"a", b'{"id":"a"}', [("model", b"news")]),
    ]


def test_outputs_of_one_document_stay_in_order(broker, topic):
    create(broker, topic, 4)
    sink = opened(broker.url(topic))
    for number in range(300):
        sink.write([Output(f"d{number % 7}", f'{{"number":{number}}}'.encode())])
    sink.flush()
    sink.close()
    by_key = {}
    for message in found(broker, topic):
        by_key.setdefault(message.key(), []).append(message.value())
    assert len(by_key) == 7
    for key, values in by_key.items():
        wanted = [b'{"number":%d}' % n for n in range(300) if b"d%d" % (n % 7) == key]
        assert values == wanted


def run_while_paused(broker, topic, folder):
    """Pause the broker until a line reports it; return whether all arrive, and the lines."""
    create(broker, topic)
    rows = plain.records(300)
    source = folder.parent / "news.jsonl"
    source.write_bytes(plain.lines(rows))
    notes: list[str] = []
    sink = broker.url(topic, **{"queue.buffering.max.messages": 50})
    made = flow(folder, str(source), sink, notes=notes, give_up=PATIENCE)
    opening = made._given[0].sink.open

    def open_then_pause(*given):
        opening(*given)
        broker.pause()

    made._given[0].sink.open = open_then_pause
    thread = threading.Thread(target=made.run)
    thread.start()
    until = time.monotonic() + PATIENCE
    while not any("takes nothing" in line for line in notes) and time.monotonic() < until:
        time.sleep(0.01)
    broker.resume()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return by_id(outputs(broker, topic)) == by_id(plain.predictions(rows)), notes


def by_id(rows):
    return sorted(rows, key=lambda row: row["id"])


def test_a_sink_that_is_down_for_a_while_loses_nothing(broker, topic, folder, monkeypatch):
    monkeypatch.setattr(transactions, "ANSWER", 0.3)
    whole, notes = run_while_paused(broker, topic, folder)
    assert whole
    assert [line for line in notes if "takes nothing" in line]
    assert [line for line in notes if "answers again" in line]


def test_a_sink_that_loses_what_nobody_takes_is_caught(broker, topic, folder, monkeypatch):
    monkeypatch.setattr(transactions, "ANSWER", 0.3)
    monkeypatch.setattr(transactions.Outbox, "put", transactions.Outbox.put)
    BUGS["drop-what-is-too-much"]()
    whole, _ = run_while_paused(broker, topic, folder)
    assert not whole


def test_outputs_that_can_never_come_end_the_run(broker, topic):
    create(broker, topic)
    sink = opened(broker.url(topic, **{"message.max.bytes": 1000}))
    with pytest.raises(StreamError, match="an output is larger than a message may be") as notes:
        sink.write([Output("a", b"x" * 2000)])
    assert not isinstance(notes.value, UnreachableError)
    sink.close()


def test_a_broker_that_is_not_there_may_come_later():
    sink = sink_at("kafka://127.0.0.1:9/news")
    with pytest.raises(UnreachableError, match="does not answer"):
        sink.open(None, Caller("me"))
    sink.close()


def test_routes_and_dead_letters_go_to_topics(broker, topic, folder):
    create(broker, topic)
    rows = plain.records(200)
    fill(broker, topic, [*rows, b"{"])
    run(
        folder, broker.url(topic), routes=[f"grain={broker.url(topic + '-grain')}"],
        letters=broker.url(f"{topic}-dead"),
    )  # fmt: skip
    wanted = [row for row in plain.predictions(rows) if "grain" in row["labels"]]
    assert sorted(row["id"] for row in outputs(broker, f"{topic}-grain")) == sorted(
        row["id"] for row in wanted
    )
    assert [letter["raw"] for letter in outputs(broker, f"{topic}-dead")] == ["{"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [("kafka://broker", "write kafka://broker/topic"),
     ("kafka://broker/out?group=desk", "there is no option 'group'; known are"),
     ("kafka://broker/out?enable.idempotence=false", "clasher sets ")],
)  # fmt: skip
def test_an_address_that_means_nothing_is_refused(url, problem):
    with pytest.raises(SettingError, match=problem):
        sink_at(url)


RAW = b"no \xff record" * 500_000


def run_with_large_poison(broker, topic, folder):
    """Learn a document after five megabytes that are no record; the dead letter."""
    news = folder.parent / "news.jsonl"
    news.write_bytes(RAW + b"\n" + plain.lines(plain.records(1)))
    figures = run(folder, str(news), letters=broker.url(topic))
    assert (figures.documents, figures.poison) == (1, 1)
    (message,) = found(broker, topic)
    letter = json.loads(message.value())
    assert letter["raw_bytes"] == len(RAW)
    assert letter["raw_sha256"] == hashlib.sha256(RAW).hexdigest()
    assert RAW.decode("utf-8", "backslashreplace").startswith(letter["raw"])
    return message.value()


def test_a_dead_letter_is_cut_to_what_a_message_may_be(broker, topic, folder):
    create(broker, topic)
    assert 900_000 < len(run_with_large_poison(broker, topic, folder)) < 1_000_000


def test_a_dead_letter_is_cut_to_what_its_topic_takes(server, topic, folder):
    create(server, topic, config={"max.message.bytes": "20000"})
    assert 15_000 < len(run_with_large_poison(server, topic, folder)) < 20_000


def test_a_dead_letter_in_a_transaction_is_cut_too(server, topic, folder):
    create(server, topic, config={"max.message.bytes": "20000"})
    create(server, f"{topic}-out")
    news = folder.parent / "news.jsonl"
    news.write_bytes(RAW + b"\n" + plain.lines(plain.records(1)))
    sink, letters = server.url(f"{topic}-out"), sink_at(server.url(topic))
    made = flow(folder, str(news), sink)
    commit_as_one(made._documents, [made._given[0].sink, letters])
    made = Flow(folder, made._documents, made._given, letters=letters, options=made.options)
    assert made.run().poison == 1
    (message,) = found(server, topic)
    assert json.loads(message.value())["raw_bytes"] == len(RAW)
