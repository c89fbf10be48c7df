"""Feeds are asked for politely, and each of their items is learnt once."""

from __future__ import annotations

import gzip
import json

import pytest

from clasher import Clasher
from clasher.errors import SettingError, StreamError
from clasher.io.registry import source_at
from clasher.io.streams import Caller
from tests.conftest import optional
from tests.flow.feed_server import FeedServer, Reply, item, rss
from tests.flow.running import run

ATOM = b"""<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">
<title>News</title><entry><id>urn:1</id><title>Corn &amp; wheat</title><link href="http://x/1"/>
<content type="html">&lt;p&gt;rose&lt;/p&gt;&lt;p&gt;again&lt;/p&gt;</content>
<category term="grain"/><category term="economy"/><updated>2024-01-01T00:00:00Z</updated>
</entry></feed>"""


@pytest.fixture
def web():
    optional("feedparser", "feeds")
    server = FeedServer()
    yield server
    server.close()


def opened(url, position=None, told=None, every=0):
    source = source_at(f"{url}#every={every}")
    source.open(position, Caller("me", tell=(told if told is not None else []).append))
    return source


def ids(chunk):
    return [] if chunk is None else chunk.records.ids


# ── items ────────────────────────────────────────────────────────────────────────────────────────


def test_items_come_the_oldest_first_and_categories_are_labels(web):
    web.replies["/feed"] = Reply(body=rss(item(2, "Gold", "metal"), item(1, "Wheat &amp; corn")))
    chunk = opened(web.url("/feed")).read(10, 0.0)
    assert ids(chunk) == ["n1", "n2"]
    assert chunk.records.texts.to_pylist() == ["Wheat & corn\n\nfell", "Gold\n\nfell"]
    assert chunk.records.labels.as_given(0) is None
    assert chunk.records.labels[1] == {"metal"}


def test_atom_is_read_without_its_markup(web):
    web.replies["/atom"] = Reply(body=gzip.compress(ATOM), headers={"Content-Encoding": "gzip"})
    chunk = opened(web.url("/atom")).read(10, 0.0)
    assert ids(chunk) == ["urn:1"]
    assert chunk.records.texts.to_pylist() == ["Corn & wheat\n\nrose again"]
    assert chunk.records.labels[0] == {"grain", "economy"}


def test_an_item_without_an_id_is_known_by_what_it_says(web):
    web.replies["/feed"] = Reply(body=rss("<item><title>Bare</title></item>"))
    source = opened(web.url("/feed"))
    assert len(source.read(10, 0.0)) == 1
    assert source.read(10, 0.0) is None


def test_a_flow_learns_each_item_once_through_restarts(web, folder, tmp_path):
    web.replies["/feed"] = Reply(body=rss(item(1, "wheat corn", "grain")))
    for number in range(2, 5):
        run(folder, f"{web.url('/feed')}#every=0", str(tmp_path / "out.jsonl"), idle=0.0)
        items = [item(n, "wheat corn", "grain") for n in range(number, 0, -1)]
        web.replies["/feed"] = Reply(body=rss(*items))
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["n1", "n2", "n3"]
    assert Clasher.load(folder / "model.clasher").support == {"grain": 3}


def test_an_item_that_was_delivered_is_known_from_the_position(web):
    web.replies["/feed"] = Reply(body=rss(item(2), item(1)))
    position = opened(web.url("/feed")).read(1, 0.0).position
    assert ids(opened(web.url("/feed"), position).read(10, 0.0)) == ["n2"]


def test_a_bounded_number_of_items_is_remembered(web, monkeypatch):
    monkeypatch.setattr("clasher.io.connectors.feeds.SEEN", 5)
    source = opened(web.url("/feed"))
    for start in range(0, 40, 2):
        web.replies["/feed"] = Reply(body=rss(item(start + 1), item(start)))
        assert ids(source.read(10, 0.0)) == [f"n{start}", f"n{start + 1}"]
    position = source.read(10, 0.0) or source._deliver(0)
    (known,) = position.position["feeds"].values()
    assert len(known["seen"]) <= 7


def test_a_list_of_feeds_is_read(web, tmp_path):
    for name in ("a", "b"):
        web.replies[f"/{name}"] = Reply(body=rss(item(ord(name))))
    path = tmp_path / "feeds.txt"
    path.write_text(f"# two\n{web.url('/a')}\n\n{web.url('/b')}\n{web.url('/a')}\n")
    source = source_at(f"feeds:{path}?every=0")
    source.open(None, Caller("me"))
    assert sorted(ids(source.read(9, 0.0)) + ids(source.read(9, 0.0))) == ["n97", "n98"]


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "there is no feed in it"), ("ftp://x\n", "is no web address"), (None, "cannot be read")],
)
def test_a_list_that_is_none_is_told(tmp_path, content, message):
    optional("feedparser", "feeds")
    path = tmp_path / "feeds.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises((SettingError, StreamError), match=message):
        source_at(f"feeds:{path}")


# ── politeness ───────────────────────────────────────────────────────────────────────────────────


def test_a_feed_that_did_not_change_is_not_sent_again(web):
    def reply(headers):
        if headers.get("If-None-Match") == '"v1"':
            return Reply(304)
        return Reply(body=rss(item(1)), headers={"ETag": '"v1"', "Last-Modified": "yesterday"})

    web.replies["/feed"] = reply
    source = opened(web.url("/feed"))
    position = source.read(10, 0.0).position
    assert source.read(10, 0.0) is None
    assert opened(web.url("/feed"), position).read(10, 0.0) is None
    asked = [headers.get("If-None-Match") for _, headers in web.asked]
    assert asked == [None, '"v1"', '"v1"']
    assert web.asked[1][1]["If-Modified-Since"] == "yesterday"
    assert web.asked[0][1]["User-Agent"].startswith("clasher/")


def test_a_feed_is_not_marked_as_read_before_its_last_item_is(web):
    reply = Reply(body=rss(item(3), item(2), item(1)), headers={"ETag": '"v1"'})
    web.replies["/feed"] = reply
    source = opened(web.url("/feed"))
    first = source.read(2, 0.0)
    assert next(iter(first.position["feeds"].values()))["etag"] is None
    second = source.read(2, 0.0)
    assert next(iter(second.position["feeds"].values()))["etag"] == '"v1"'


@pytest.mark.parametrize(
    ("reply", "every"),
    [
        (Reply(body=rss(item(1))), 1000),
        (Reply(body=rss(item(1), more="<ttl>60</ttl>")), 0),
        (Reply(body=rss(item(1)), headers={"Cache-Control": "max-age=3600"}), 0),
        (Reply(503, headers={"Retry-After": "3600"}), 0),
        (Reply(503, headers={"Retry-After": "Fri, 31 Dec 2049 23:59:59 GMT"}), 0),
        (Reply(500), 1000),
    ],
)
def test_a_server_is_left_alone_as_long_as_it_wants(web, reply, every):
    web.replies["/feed"] = reply
    source = opened(web.url("/feed"), every=every)
    for _ in range(3):
        source.read(10, 0.0)
    assert len(web.asked) == 1


def test_others_are_asked_once_a_minute_at_most():
    optional("feedparser", "feeds")
    source = source_at("https://example.org/feed?lang=en#every=1")
    (feed,) = source._feeds.values()
    assert feed.every == 60.0
    assert source.name == "https://example.org/feed?lang=en"


def test_a_feed_that_fails_is_told_once_and_when_it_is_back(web):
    told: list[str] = []
    web.replies["/feed"] = Reply(500)
    source = opened(web.url("/feed"), told=told)
    assert [source.read(1, 0.0) for _ in range(3)] == [None] * 3
    web.replies["/feed"] = Reply(body=rss(item(1)))
    assert len(source.read(1, 0.0)) == 1
    assert "500 Internal Server Error; asking less often" in told[0]
    assert told[1:] == [f"{web.url('/feed')} answers again"]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(body=b"<html>no feed</html>"), "is neither RSS nor Atom"),
        (Reply(body=b""), "is neither RSS nor Atom"),
        (Reply(302, headers={"Location": "file:///etc/passwd"}), "302"),
        (Reply(body=b"no", headers={"Content-Encoding": "gzip"}), "incorrect header check"),
        (Reply(404), "404 Not Found"),
    ],
)
def test_what_is_no_feed_is_told_and_blocks_no_other(web, tmp_path, reply, message):
    web.replies |= {"/bad": reply, "/good": Reply(body=rss(item(1)))}
    (tmp_path / "feeds.txt").write_text(f"{web.url('/bad')}\n{web.url('/good')}\n")
    told: list[str] = []
    source = source_at(f"feeds:{tmp_path}/feeds.txt?every=0")
    source.open(None, Caller("me", tell=told.append))
    assert ids(source.read(10, 5.0)) == ["n1"]
    assert message in told[0]


def test_a_feed_that_is_too_large_is_told(web, monkeypatch):
    monkeypatch.setattr("clasher.io.connectors.feed_fetching.MOST_BYTES", 1000)
    for body in (b"x" * 2000, gzip.compress(b"x" * 2000)):
        encoding = {"Content-Encoding": "gzip"} if body[:1] != b"x" else {}
        web.replies["/feed"] = Reply(body=body, headers=encoding)
        told: list[str] = []
        assert opened(web.url("/feed"), told=told).read(1, 0.0) is None
        assert "it is larger than 1,000 bytes" in told[0]


def test_a_feed_that_moved_for_good_is_asked_for_there(web):
    web.replies["/old"] = Reply(301, headers={"Location": web.url("/new")})
    web.replies["/new"] = Reply(body=rss(item(1)))
    source = opened(web.url("/old"))
    position = source.read(10, 0.0).position
    source.read(10, 0.0)
    opened(web.url("/old"), position).read(10, 0.0)
    assert [path for path, _ in web.asked] == ["/old", "/new", "/new", "/new"]


def test_a_feed_that_moved_for_a_while_is_asked_for_where_it_was(web):
    web.replies["/old"] = Reply(302, headers={"Location": web.url("/new")})
    web.replies["/new"] = Reply(body=rss(item(1)))
    source = opened(web.url("/old"))
    for _ in range(2):
        source.read(10, 0.0)
    assert [path for path, _ in web.asked] == ["/old", "/new", "/old", "/new"]


def test_a_feed_that_is_gone_is_not_asked_for_again(web):
    web.replies["/feed"] = Reply(410)
    source = opened(web.url("/feed"))
    assert source.read(1, 0.0) is None
    for _ in range(2):
        with pytest.raises(StreamError, match=r"every feed is gone \(410\)"):
            source.read(1, 0.0)
    assert len(web.asked) == 1
