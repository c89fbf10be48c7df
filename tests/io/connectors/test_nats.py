"""JetStream: streams that lose messages, restart or are deleted, and outputs that appear once."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import threading

import msgspec
import pytest

from clasher.errors import SettingError, StreamError, UnreachableError
from clasher.io.connectors import nats as connector
from clasher.io.protocol import Caller
from clasher.io.registry import source_at
from support.environment import missing, optional
from support.servers.nats import NatsServer, needs
from tests.flow import plain
from tests.flow.plain import predictions, records
from tests.flow.runs import flow, run


@pytest.fixture
def server(tmp_path):
    optional("nats", "nats")
    if lacking := needs():
        missing(f"no JetStream without {', '.join(lacking)}")
    server = NatsServer(tmp_path / "nats")
    server.tell(lambda js: add_streams(js))
    yield server
    server.stop()


async def add_streams(js):
    await js.add_stream(name="news", subjects=["news.*"])
    await js.add_stream(name="out", subjects=["out"])


def add(server, rows, subject="news.a"):
    """Publish records, in order, without waiting for each to be acknowledged."""
    raw = [row if isinstance(row, bytes) else msgspec.json.encode(row) for row in rows]

    async def publish(js):
        await asyncio.gather(*(js.publish(subject, one) for one in raw))

    server.tell(publish)


def written(server, stream="out"):
    async def read(js):
        info = await js.stream_info(stream)
        numbers = range(1, info.state.last_seq + 1)
        return await asyncio.gather(*(js.get_msg(stream, seq) for seq in numbers))

    return [json.loads(message.data) for message in server.tell(read)]


def remove(server, seq):
    """Remove all messages before one."""
    server.tell(lambda js: js.purge_stream("news", seq=seq))


def test_messages_are_learnt_once_and_written_once(server, folder):
    rows = records(200)
    add(server, [*rows[:100], b"no record", *rows[100:]])
    figures = run(folder, server.url("news"), server.url("out"))
    assert plain.model_in(folder) == plain.learnt(rows)
    assert written(server) == predictions(rows)
    assert (figures.poison, figures.lag) == (1, 0)
    more = records(260)[200:]
    add(server, more)
    run(folder, server.url("news"), server.url("out"))
    assert plain.model_in(folder) == plain.learnt(rows + more)


def test_outputs_that_are_written_again_appear_once(server, folder):
    rows = records(200)
    add(server, rows)
    going = flow(folder, server.url("news"), server.url("out"))
    keep, written_before = going._patience.until, []

    class Crash(BaseException):
        pass

    def crashing(what, work):
        result = keep(what, work)
        if what == server.url("out") and going._news > 40 and not written_before:
            written_before.append(len(written(server)))
            raise Crash
        return result

    going._patience.until = crashing
    with pytest.raises(Crash):
        going.run()
    run(folder, server.url("news"), server.url("out"))
    assert written_before[0] > 40
    assert written(server) == predictions(rows)
    assert plain.model_in(folder) == plain.learnt(rows)


def test_outputs_of_equal_ids_all_appear(server, folder):
    rows = [{"id": "same", "text": f"text {n}", "labels": None} for n in range(20)]
    add(server, rows)
    run(folder, server.url("news"), server.url("out"))
    add(server, [{"id": "same", "text": "one more", "labels": None}])
    run(folder, server.url("news"), server.url("out"))
    assert written(server) == [{"id": "same", "labels": []}] * 21


def test_one_stream_may_keep_several_subjects_of_outputs(server, folder):
    server.tell(lambda js: js.add_stream(name="both", subjects=["both.*"]))
    add(server, records(10))
    run(
        folder, server.url("news"), server.url("both.all"), routes=[f"!*={server.url('both.none')}"]
    )
    found = written(server, "both")
    assert [found.count(one) for one in predictions(records(10))] == [
        1 if one["labels"] else 2 for one in predictions(records(10))
    ]


@pytest.mark.parametrize("most", [None, 3000])
def test_a_dead_letter_is_cut_to_what_the_stream_takes(server, folder, tmp_path, most):
    if most is not None:
        server.tell(lambda js: js.update_stream(name="out", subjects=["out"], max_msg_size=most))
    raw = b"no \xff record \xe2\x82\xac" * 300_000
    (tmp_path / "news.jsonl").write_bytes(raw + b"\n" + msgspec.json.encode(records(1)[0]))
    figures = run(folder, str(tmp_path / "news.jsonl"), letters=server.url("out"))
    assert (figures.documents, figures.poison) == (1, 1)
    (letter,) = written(server)
    assert (letter["record"], letter["raw_bytes"]) == (1, len(raw))
    assert letter["raw_sha256"] == hashlib.sha256(raw).hexdigest()
    assert raw.decode("utf-8", "backslashreplace").startswith(letter["raw"])
    assert len(letter["raw"]) > (most or 1_000_000) / 2


def test_a_subject_and_new_messages_may_be_selected(server, folder, tmp_path):
    rows = records(60)
    add(server, rows[:30], "news.a")
    add(server, rows[30:], "news.b")
    run(folder, server.url("news", subject="news.b"))
    assert plain.model_in(folder) == plain.learnt(rows[30:])
    for _ in range(2):
        run(tmp_path / "end", server.url("news", start="end"))
        add(server, rows[:10])
    assert run(tmp_path / "end", server.url("news", start="end")).documents == 20


def test_messages_removed_before_they_were_read_are_never_skipped(server, folder):
    rows = records(140)
    add(server, rows[:100])
    run(folder, server.url("news"))
    add(server, rows[100:])
    remove(server, 104)
    for _ in range(2):
        with pytest.raises(StreamError, match="3 entries were trimmed before they were read"):
            run(folder, server.url("news"))
    figures = run(folder, server.url("news", on_loss="skip"))
    assert (figures.poison, figures.documents) == (1, 137)


def test_messages_removed_on_the_way_are_never_skipped(server, folder):
    add(server, records(200))
    going = flow(folder, server.url("news"))
    read = going._documents.read

    def removing(most, seconds):
        if going._documents._seq == 100:
            remove(server, 151)
            going._documents._pull = None
        return read(most, seconds)

    going._documents.read = removing
    with pytest.raises(StreamError, match="50 entries were trimmed before they were read"):
        going.run()


@pytest.mark.parametrize("on_loss", ["stop", "skip"])
def test_messages_removed_in_the_middle_of_an_answer_are_never_skipped(
    server, monkeypatch, on_loss
):
    add(server, records(20))
    source = source_at(server.url("news", on_loss=on_loss))
    source.open(None, Caller("me"))
    fetch = connector.Pull.fetch

    async def removing(self, most, seconds):
        """Answer like a server that removes messages while it sends others."""
        first = await fetch(self, 5, seconds)
        await self._client.jetstream().purge_stream("news", seq=9)
        return first + await fetch(self, most - 5, seconds)

    monkeypatch.setattr(connector.Pull, "fetch", removing)
    if on_loss == "stop":
        with pytest.raises(StreamError, match="3 entries were trimmed before they were read"):
            source.read(20, 0.0)
    else:
        chunk = source.read(20, 0.0)
        assert len(chunk.records) == 17
        assert [(one.place, one.problem[:9]) for one in chunk.poison] == [(5, "3 entries")]
    source.close()


def test_a_reader_that_skips_is_caught(server, folder, monkeypatch):
    async def nothing(self, numbers):
        return []

    monkeypatch.setattr(connector.NatsSource, "_accept", lambda self, gone: None)
    monkeypatch.setattr(connector.NatsSource, "_letters", nothing)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_messages_removed_before_they_were_read_are_never_skipped(server, folder)


def test_removing_read_messages_is_no_loss(server, folder):
    rows = records(80)
    add(server, rows[:50])
    run(folder, server.url("news"))
    remove(server, 51)
    add(server, rows[50:])
    run(folder, server.url("news"))
    assert plain.model_in(folder) == plain.learnt(rows)


@pytest.mark.parametrize("more", [0, 200])
def test_a_server_that_was_set_back_is_noticed(server, folder, copy, more):
    add(server, records(60))
    server.stop()
    shutil.copytree(server.folder, copy)
    server.start()
    add(server, records(100)[60:])
    run(folder, server.url("news"))
    server.stop()
    shutil.rmtree(server.folder)
    shutil.copytree(copy, server.folder)
    server.start()
    add(server, records(400)[200 : 200 + more])
    with pytest.raises(StreamError, match="was reset"):
        run(folder, server.url("news"))


def test_a_server_that_is_killed_is_waited_for(server, folder):
    rows, notes = records(300), []
    add(server, rows)
    going = flow(folder, server.url("news"), server.url("out"), notes=notes)
    read, kills = going._documents.read, []

    def killing(most, seconds):
        if going._documents._seq in (60, 200) and going._documents._seq not in kills:
            kills.append(going._documents._seq)
            server.kill()
            threading.Timer(0.2, server.start).start()
        return read(most, seconds)

    going._documents.read = killing
    going.run()
    assert kills == [60, 200]
    assert any("does not answer" in line for line in notes)
    assert plain.model_in(folder) == plain.learnt(rows)
    assert written(server) == predictions(rows)


def test_a_missing_stream_or_server_is_reported(server, folder):
    with pytest.raises(StreamError, match="there is no such stream"):
        run(folder, server.url("nowhere"))
    add(server, records(3))
    with pytest.raises(StreamError, match="there is no such stream"):
        run(folder, server.url("news"), server.url("nobody.listens"))
    with pytest.raises(StreamError, match=r"does not answer .* gave up after 0\.2 s"):
        run(folder, "nats://127.0.0.1:1/news", give_up=0.2)
    with pytest.raises(SettingError, match="there is no option 'group'"):
        source_at(server.url("news", group="x"))
    with pytest.raises(StreamError, match="the stream or subject last"):
        source_at("nats://host")


# ── how a server answers ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def source(server):
    """The messages of the stream, from their beginning."""
    found = source_at(server.url("news"))
    found.open(None, Caller("me"))
    yield found
    found.close()


def delete_consumers(server):
    async def delete(js):
        for info in await js.consumers_info("news"):
            await js.delete_consumer("news", info.name)

    server.tell(delete)


def texts(chunks):
    return [text for chunk in chunks if chunk for text in chunk.records.texts.to_pylist()]


def test_a_silent_stream_is_waited_for(server, source):
    add(server, records(1))
    assert len(source.read(20, 0.1)) == 1
    for _ in range(40):
        assert source.read(20, 0.05) is None
        assert source.knows_end
    add(server, records(3)[1:])
    assert sum(len(source.read(1, 1.0)) for _ in range(2)) == 2


def test_a_silent_stream_ends_no_run(server, folder):
    add(server, records(1))
    assert run(folder, server.url("news"), idle=3.0).documents == 1


def test_a_message_that_comes_while_it_is_waited_for_is_read(server, source):
    assert source.read(20, 0.0) is None
    timer = threading.Timer(0.1, lambda: add(server, records(1)))
    timer.start()
    assert len(source.read(20, 10.0)) == 1
    timer.join()


def test_a_consumer_that_is_deleted_is_made_again(server, source):
    rows = records(30)
    add(server, rows[:10])
    chunks = [source.read(10, 0.0)]
    delete_consumers(server)
    add(server, rows[10:])
    chunks.append(source.read(100, 0.0))
    if chunks[-1] is None:  # the consumer that was gone
        assert not source.knows_end
        chunks.append(source.read(100, 0.0))
    assert texts(chunks) == [row["text"] for row in rows]


def test_a_consumer_that_is_deleted_while_it_waits_is_made_again(server, source):
    assert source.read(10, 0.0) is None
    timer = threading.Timer(0.1, lambda: delete_consumers(server))
    timer.start()
    assert source.read(10, 1.0) is None
    assert not source.knows_end
    timer.join()
    add(server, records(2))
    assert len(source.read(10, 1.0)) == 2


def test_a_deleted_stream_is_reported(server, source):
    add(server, records(2))
    source.read(10, 0.0)
    server.tell(lambda js: js.delete_stream("news"))
    with pytest.raises(StreamError, match="there is no such stream"):
        source.read(10, 0.0)


def test_a_server_that_hangs_is_not_taken_for_a_silent_stream(server, source):
    assert source.read(10, 0.0) is None
    server.pause()
    with pytest.raises(UnreachableError, match="does not answer"):
        source.read(10, 0.0)
    server.resume()
    add(server, records(2))
    assert len(source.read(10, 1.0)) == 2


def test_a_server_that_restarts_while_nothing_comes_is_waited_for(server, source):
    add(server, records(2))
    assert len(source.read(10, 0.0)) == 2
    assert source.read(10, 0.0) is None
    server.stop()
    with pytest.raises(UnreachableError, match="does not answer"):
        source.read(10, 0.0)
    server.start()
    add(server, records(4)[2:])
    assert texts([source.read(10, 1.0)]) == [row["text"] for row in records(4)[2:]]


def test_a_message_with_a_header_status_is_no_status(server, source):
    rows = records(3)

    async def publish(js):
        for row in rows:
            await js.publish("news.a", msgspec.json.encode(row), headers={"Status": "404"})

    server.tell(publish)
    assert texts([source.read(10, 0.0)]) == [row["text"] for row in rows]


def test_a_stream_made_again_under_its_name_is_another(server, source):
    before = source.identity()
    assert before is not None
    assert source.same(before)
    server.tell(lambda js: js.delete_stream("news"))
    server.tell(lambda js: js.add_stream(name="news", subjects=["news.*"]))
    assert not source.same(before)


def test_an_output_that_is_too_large_is_reported(server, folder):
    text = "x" * (1 << 20)
    news = folder.parent / "news.jsonl"
    news.write_bytes(msgspec.json.encode({"id": "long", "text": text[:-300]}))
    with pytest.raises(
        StreamError, match=r"the output of document 'long' has .* leave out --include-text"
    ):
        run(folder, str(news), server.url("out"), texts=True)
