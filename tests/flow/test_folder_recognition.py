"""A folder knows its streams again, whatever their addresses are spelt like."""

from __future__ import annotations

import msgspec
import pytest

from clasher.errors import FolderError, StreamError
from clasher.flow import Flow, FlowOptions
from tests.flow import plain
from tests.flow.doubles import ListSink, ListSource
from tests.flow.plain import SETTINGS, records
from tests.flow.runs import OFTEN, flow, run
from tests.io.connectors.redis.test_stream import BOTH, add

WHICH = "not from this stream. To learn it too, from the beginning, add --new-stream"


class Named(ListSource):
    """A list that says who it is."""

    def __init__(self, rows, name, own):
        super().__init__(rows, name)
        self.own = own

    def identity(self):
        return self.own


def going(folder, source, notes=None, **options):
    return Flow(
        folder, source, [], letters=ListSink(),
        settings=None if (folder / "model.clasher").exists() else SETTINGS,
        options=FlowOptions(**OFTEN | options), on_note=(notes if notes is not None else []).append,
    ).run()  # fmt: skip


def elsewhere(server, stream, **options):
    """The same stream under another address."""
    return server.url(stream, **options).replace("127.0.0.1", "localhost")


@BOTH
def test_another_spelling_of_a_server_is_the_same_stream(server, folder, options):
    rows = records(200)
    add(server, rows[:120])
    run(folder, server.url("news", **options))
    add(server, rows[120:])
    notes = []
    figures = flow(folder, elsewhere(server, "news", **options), notes=notes).run()
    assert figures.documents == len(rows)
    assert plain.model_in(folder) == plain.learnt(rows)
    assert any("this is the stream read as redis://127.0.0.1" in line for line in notes)
    assert run(folder, server.url("news", **options)).documents == len(rows)


@BOTH
def test_a_server_that_restarts_has_the_same_streams(server, folder, options):
    add(server, records(60))
    run(folder, server.url("news", **options))
    server.stop()
    server.start()
    assert run(folder, elsewhere(server, "news", **options)).documents == 60


def test_a_stream_of_which_all_was_trimmed_is_known_by_its_address(server, folder):
    add(server, records(60))
    run(folder, server.url("news"))
    server.client.xtrim("news", 0, approximate=False)
    add(server, records(90)[60:])
    assert run(folder, server.url("news")).documents == 90
    server.client.xtrim("news", 0, approximate=False)
    add(server, records(95)[90:])
    assert run(folder, server.url("news")).documents == 95


def test_a_stream_that_was_made_again_is_another_one(server, folder):
    add(server, records(60))
    run(folder, server.url("news"))
    server.client.delete("news")
    add(server, records(100)[60:])
    with pytest.raises(StreamError, match=r"is not the stream read before.*--new-stream"):
        run(folder, server.url("news"))
    assert run(folder, server.url("news"), new_stream=True).documents == 100
    assert run(folder, server.url("news")).documents == 100


@BOTH
def test_another_stream_must_be_allowed(server, folder, options):
    add(server, records(60))
    add(server, records(100)[60:], "more")
    run(folder, server.url("news", **options))
    with pytest.raises(StreamError, match=WHICH):
        run(folder, server.url("more", **options))
    notes = []
    going = flow(folder, server.url("more", **options), notes=notes, new_stream=True)
    assert going.run().documents == 100
    assert any("has already read redis://127.0.0.1" in line for line in notes)
    assert run(folder, server.url("more", **options)).documents == 100  # it is known by now
    assert plain.model_in(folder) == plain.learnt(records(100))


def test_a_group_is_not_the_stream_without_it(server, folder):
    add(server, records(60))
    run(folder, server.url("news"))
    with pytest.raises(StreamError, match=WHICH):
        run(folder, server.url("news", group="desk"))


def test_a_stream_that_had_nothing_at_first_is_known_later(server, folder):
    server.client.xgroup_create("news", "other", mkstream=True)
    run(folder, server.url("news"))
    add(server, records(60))
    run(folder, server.url("news"))
    assert run(folder, elsewhere(server, "news")).documents == 60


def test_a_folder_that_has_read_nothing_takes_any_stream(folder):
    going(folder, Named([], "mistyped", "one"))
    assert going(folder, Named(records(20), "news", "two")).documents == 20


def test_a_source_that_cannot_say_who_it_is_is_known_by_its_address(folder):
    going(folder, ListSource(records(20), "one"))
    assert going(folder, Named(records(30), "one", "news")).documents == 30
    assert going(folder, Named(records(40), "moved", "news")).documents == 40
    with pytest.raises(StreamError, match=WHICH):
        going(folder, ListSource(records(50), "one"))


def as_written(folder, change):
    """Change the newest snapshot, as another version would have written it."""
    from clasher.runtime import snapshots

    path = max((folder / "snapshots").iterdir()) / "state.json"
    beside = snapshots._unsealed(path.read_bytes())
    change(beside["state"])
    content = msgspec.json.encode(beside)
    digest = snapshots.hashlib.blake2b(content, digest_size=32).hexdigest().encode()
    path.write_bytes(digest + b"\n" + content)


def test_a_folder_of_the_version_before_is_read_and_adopts_its_streams(folder):
    going(folder, Named(records(20), "news", "one"))

    def older(state):
        for name in ("format", "streams", "arrived"):
            del state[name]

    as_written(folder, older)
    assert going(folder, Named(records(30), "news", "one")).documents == 30
    assert going(folder, Named(records(40), "moved", "one")).documents == 40
    assert plain.model_in(folder) == plain.learnt(records(40))


def test_a_folder_of_a_later_version_is_refused_in_a_line_and_left_alone(folder):
    going(folder, ListSource(records(20), "news"))

    def later(state):
        state["format"] = 99
        state["counts"]["dreams"] = 7

    as_written(folder, later)
    before = sorted(folder.rglob("*"))
    with pytest.raises(FolderError, match=r"model: a later version of clasher .*\(format 99"):
        going(folder, ListSource(records(30), "news"))
    assert sorted(folder.rglob("*")) == before
