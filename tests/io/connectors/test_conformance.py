"""Our own connectors pass the checks that we ship for those of others."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from contextlib import suppress
from types import SimpleNamespace

import pytest

from clasher.io.registry import sink_at, source_at
from clasher.testing import SinkCase, SinkChecks, SourceCase, SourceChecks
from support.environment import missing, optional
from support.servers.feeds import FeedServer, Reply, item, rss
from support.servers.nats import NatsServer, needs
from support.servers.redis import RedisServer

# ── standard input and output ────────────────────────────────────────────────────────────────────


class PipeCase(SourceCase):
    can_resume = False

    def __init__(self, monkeypatch):
        self._reader, self._writer = os.pipe()
        monkeypatch.setattr("sys.stdin", SimpleNamespace(fileno=lambda: self._reader))

    def source(self):
        return source_at("-")

    def put(self, values):
        os.write(self._writer, b"".join(value + b"\n" for value in values))

    def close(self):
        os.close(self._reader)
        os.close(self._writer)


class TestStandardInput(SourceChecks):
    @pytest.fixture
    def case(self, monkeypatch):
        case = PipeCase(monkeypatch)
        yield case
        case.close()


class PrintedCase(SinkCase):
    is_exact = False

    def __init__(self, capsysbinary):
        self._captured, self._printed = capsysbinary, b""

    def sink(self):
        return sink_at("-")

    def outputs(self):
        self._printed += self._captured.readouterr().out
        return self._printed.splitlines()


class TestStandardOutput(SinkChecks):
    @pytest.fixture
    def case(self, capsysbinary):
        return PrintedCase(capsysbinary)


# ── files ────────────────────────────────────────────────────────────────────────────────────────


class FileCase(SourceCase):
    def __init__(self, path, options=""):
        self.path, self._options, self._content = path, options, b""
        self._write()

    def source(self):
        return source_at(f"file:{self.path}{self._options}")

    def put(self, values):
        self._content += b"".join(value + b"\n" for value in values)
        self._write()

    def lose(self):
        self._content = self._content.splitlines(keepends=True)[0]
        self._write()

    def replace(self):
        self._content = b'{"text": "another"}\n'
        self._write()

    def _write(self):
        is_packed = self.path.name.endswith(".gz")
        self.path.write_bytes(gzip.compress(self._content, mtime=0) if is_packed else self._content)


class TestFile(SourceChecks):
    @pytest.fixture
    def case(self, tmp_path):
        return FileCase(tmp_path / "news.jsonl")


class TestFollowedFile(SourceChecks):
    @pytest.fixture
    def case(self, tmp_path):
        return FileCase(tmp_path / "news.jsonl", "?follow=yes")


class TestCompressedFile(SourceChecks):
    @pytest.fixture
    def case(self, tmp_path):
        case = FileCase(tmp_path / "news.jsonl.gz")
        case.exempt = {
            "test_delivers_no_more_than_asked_for": "what is read again is cut the same way",
            "test_knows_its_stream_again": "compressed again, it begins otherwise",
        }
        return case


class FolderCase(SourceCase):
    def __init__(self, folder):
        self._folder, self._files = folder, 0
        folder.mkdir()

    def source(self):
        return source_at(f"file:{self._folder}/?settle=0")

    def put(self, values):
        self._files += 1
        part = self._folder / ".part"
        part.write_bytes(b"".join(value + b"\n" for value in values))
        part.rename(self._folder / f"{self._files}.jsonl")

    def lose(self):
        (self._folder / "1.jsonl").unlink()


class TestFolder(SourceChecks):
    @pytest.fixture
    def case(self, tmp_path):
        return FolderCase(tmp_path / "inbox")


class WrittenCase(SinkCase):
    def __init__(self, path):
        self._path = path

    def sink(self):
        return sink_at(str(self._path))

    def outputs(self):
        return self._path.read_bytes().splitlines()


class TestFileSink(SinkChecks):
    @pytest.fixture
    def case(self, tmp_path):
        return WrittenCase(tmp_path / "out.jsonl")


# ── feeds ────────────────────────────────────────────────────────────────────────────────────────


class FeedCase(SourceCase):
    exempt = {  # noqa: RUF012
        "test_reports_poison_and_goes_on": "an item is always a record",
    }

    def __init__(self):
        self._web, self._items = FeedServer(), []

    def source(self):
        return source_at(f"{self._web.url('/feed')}#every=0")

    def put(self, values):
        for value in values:
            record = json.loads(value)
            one = item(0, record["text"], *record["labels"], body="")
            self._items.insert(0, one.replace("<guid>n0<", f"<guid>{record['id']}<"))
        self._web.replies["/feed"] = Reply(body=rss(*self._items))

    def close(self):
        self._web.close()


class TestFeed(SourceChecks):
    @pytest.fixture
    def case(self):
        optional("feedparser", "feeds")
        case = FeedCase()
        yield case
        case.close()


# ── NATS ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def nats_server(tmp_path_factory):
    optional("nats", "nats")
    if lacking := needs():
        missing(f"no JetStream without {', '.join(lacking)}")
    server = NatsServer(tmp_path_factory.mktemp("nats") / "data")
    yield server
    server.stop()


def make_streams(server):
    async def make(js):
        for name in ("news", "out"):
            with suppress(Exception):
                await js.delete_stream(name)
            await js.add_stream(name=name, subjects=[name])

    server.tell(make)


class NatsCase(SourceCase):
    def __init__(self, server):
        self._server = server
        make_streams(server)

    def source(self):
        return source_at(self._server.url("news"))

    def put(self, values):
        async def publish(js):
            await asyncio.gather(*(js.publish("news", value) for value in values))

        self._server.tell(publish)

    def lose(self):
        self._server.tell(lambda js: js.purge_stream("news", seq=5))

    def replace(self):
        make_streams(self._server)


class TestNats(SourceChecks):
    @pytest.fixture
    def case(self, nats_server):
        return NatsCase(nats_server)


class NatsOutputs(SinkCase):
    def __init__(self, server):
        self._server = server
        make_streams(server)

    def sink(self):
        return sink_at(self._server.url("out"))

    def outputs(self):
        async def read(js):
            info = await js.stream_info("out")
            numbers = range(1, info.state.last_seq + 1)
            return await asyncio.gather(*(js.get_msg("out", seq) for seq in numbers))

        return [message.data for message in self._server.tell(read)]


class TestNatsSink(SinkChecks):
    @pytest.fixture
    def case(self, nats_server):
        return NatsOutputs(nats_server)


# ── Redis ────────────────────────────────────────────────────────────────────────────────────────


class RedisCase(SourceCase):
    def __init__(self, server: RedisServer, **options):
        self._server, self._options = server, options

    def source(self):
        return source_at(self._server.url("news", **self._options))

    def put(self, values):
        for value in values:
            self._server.client.xadd("news", {"json": value})

    def lose(self):
        self._server.client.xtrim("news", maxlen=3, approximate=False)

    def replace(self):
        self._server.client.delete("news")
        self.put([b'{"text": "another"}'])


class TestRedisStream(SourceChecks):
    @pytest.fixture
    def case(self, server):
        return RedisCase(server)


class TestRedisGroup(SourceChecks):
    @pytest.fixture
    def case(self, server):
        return RedisCase(server, group="desk")


class RedisOutputs(SinkCase):
    is_exact = False

    def __init__(self, server):
        self._server = server

    def sink(self):
        return sink_at(self._server.url("out"))

    def outputs(self):
        return [fields[b"json"] for _, fields in self._server.client.xrange("out")]


class TestRedisSink(SinkChecks):
    @pytest.fixture
    def case(self, server):
        return RedisOutputs(server)
