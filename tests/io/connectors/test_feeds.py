"""Feeds are requested politely, and each item is learnt once."""

from __future__ import annotations

import base64
import gzip
import json
import random

import pytest

from clasher import Clasher
from clasher.errors import SettingError, StreamError
from clasher.io.protocol import Caller
from clasher.io.registry import source_at
from support.environment import optional
from support.servers.feeds import FeedServer, RawServer, Reply, item, rss
from tests.flow.runs import run

ATOM = b"""<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">
<title>News</title><entry><id>urn:1</id><title>Corn &amp; wheat</title><link href="http://x/1"/>
<content type="html">&lt;p&gt;rose&lt;/p&gt;&lt;p&gt;again&lt;/p&gt;</content>
<category term="grain"/><category term="economy"/><updated>2024-01-01T00:00:00Z</updated>
</entry></feed>"""


@pytest.fixture
def raw():
    """A server that answers whatever bytes."""
    optional("feedparser", "feeds")
    server = RawServer()
    yield server
    server.close()


@pytest.fixture
def web():
    optional("feedparser", "feeds")
    server = FeedServer()
    yield server
    server.close()


def opened(url, position=None, notes=None, every=0):
    source = source_at(f"{url}#every={every}")
    source.open(position, Caller("me", tell=(notes if notes is not None else []).append))
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
    [("", "it lists no feed"), ("ftp://x\n", "is not a web address"), (None, "cannot be read")],
)
def test_a_bad_list_is_reported(tmp_path, content, message):
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


def test_a_failing_feed_is_reported_once_and_when_it_is_back(web):
    notes: list[str] = []
    web.replies["/feed"] = Reply(500)
    source = opened(web.url("/feed"), notes=notes)
    assert [source.read(1, 0.0) for _ in range(3)] == [None] * 3
    web.replies["/feed"] = Reply(body=rss(item(1)))
    assert len(source.read(1, 0.0)) == 1
    assert "500 Internal Server Error; asking less often" in notes[0]
    assert notes[1:] == [f"{web.url('/feed')} answers again"]


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
def test_a_page_that_is_no_feed_is_reported_and_blocks_no_other(web, tmp_path, reply, message):
    web.replies |= {"/bad": reply, "/good": Reply(body=rss(item(1)))}
    (tmp_path / "feeds.txt").write_text(f"{web.url('/bad')}\n{web.url('/good')}\n")
    notes: list[str] = []
    source = source_at(f"feeds:{tmp_path}/feeds.txt?every=0")
    source.open(None, Caller("me", tell=notes.append))
    assert ids(source.read(10, 5.0)) + ids(source.read(10, 0.0)) == ["n1"]
    assert message in notes[0]


def test_a_feed_that_is_too_large_is_reported(web, monkeypatch):
    monkeypatch.setattr("clasher.io.connectors.feeds.MOST_BYTES", 1000)
    for body in (b"x" * 2000, gzip.compress(b"x" * 2000)):
        encoding = {"Content-Encoding": "gzip"} if body[:1] != b"x" else {}
        web.replies["/feed"] = Reply(body=body, headers=encoding)
        notes: list[str] = []
        assert opened(web.url("/feed"), notes=notes).read(1, 0.0) is None
        assert "it is larger than 1,000 bytes" in notes[0]


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


# ── rubbish ──────────────────────────────────────────────────────────────────────────────────────


def listed(tmp_path, *urls, notes=None):
    """The feeds of a list, opened."""
    (tmp_path / "feeds.txt").write_text("\n".join(urls))
    source = source_at(f"feeds:{tmp_path}/feeds.txt?every=0")
    source.open(None, Caller("me", tell=(notes if notes is not None else []).append))
    return source


def read_until_told(source, notes):
    """Read ids until a line is shown, in a bounded number of reads."""
    found = []
    for _ in range(100):
        found += ids(source.read(10, 0.1))
        if notes:
            break
    return found


OK = b"HTTP/1.1 200 OK\r\n"
FEED = rss(item(1))
RUBBISH = {
    "nothing": (b"", "closed connection without response"),
    "no status": (b"GARBAGE\r\n\r\n", "GARBAGE"),
    "an escape": (b"HTTP/1.1 500 \x1b[31mred\r\n\r\n", "500 ?[31mred"),
    "a cut chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\nabc", "IncompleteRead"),
    "a bad chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n", "IncompleteRead"),
    "a cut body": (OK + b"Content-Length: 99999\r\n\r\n" + FEED, "was truncated"),
    "cut gzip": (
        OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(FEED)[:-20], "was truncated"
    ),
    "many headers": (OK + b"X: y\r\n" * 101 + b"\r\n", "got more than 100 headers"),
    "a long header": (OK + b"X: " + b"y" * 70_000 + b"\r\n\r\n", "LineTooLong"),
    "a bad port": (b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:port/\r\n\r\n", "port"),
    "another port": (b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:65537/\r\n\r\n", "refused"),
    "a bad host": (b"HTTP/1.1 302 No\r\nLocation: http://[::1/\r\n\r\n", "Invalid IPv6"),
    "a long name": (b"HTTP/1.1 302 No\r\nLocation: http://" + b"x" * 99 + b"/\r\n\r\n", "label"),
    "a file": (b"HTTP/1.1 302 No\r\nLocation: file:///etc/passwd\r\n\r\n", "302"),
    "a loop": (b"HTTP/1.1 302 No\r\nLocation: /a%20loop\r\n\r\n", "infinite loop"),
    "a text": (OK + b"\r\nhello", "is neither RSS nor Atom"),
    "zeros": (OK + b"\r\n" + b"\0" * 1000, "is neither RSS nor Atom"),
    "a gzip bomb": (
        OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"<rss>" + b" " * 11_000_000),
        "larger than",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", RUBBISH)
def test_an_answer_that_is_rubbish_is_a_line_and_blocks_no_other(web, raw, tmp_path, what):
    reply, message = RUBBISH[what]
    path = f"/{what.replace(' ', '%20')}"
    raw.replies[path] = reply
    web.replies["/good"] = Reply(body=rss(item(7)))
    notes: list[str] = []
    source = listed(tmp_path, raw.url(path), web.url("/good"), notes=notes)
    assert read_until_told(source, notes) + ids(source.read(10, 0.0)) == ["n7"]
    source.close()
    assert len(notes) == 1
    assert message in notes[0]
    assert raw.url(path) in notes[0]
    assert notes[0].isprintable()


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 ", OK + b"X-Header: ", OK + b"\r\n<rss>"])
def test_a_feed_that_dribbles_is_given_up_and_keeps_no_other_waiting(
    web, raw, tmp_path, monkeypatch, begin
):
    monkeypatch.setattr("clasher.io.connectors.feeds.SECONDS", 0.5)
    raw.replies["/slow"] = begin
    web.replies["/good"] = Reply(body=rss(item(7)))
    notes: list[str] = []
    source = listed(tmp_path, raw.url("/slow"), web.url("/good"), notes=notes)
    assert ids(source.read(10, 0.1)) == ["n7"]
    assert not notes
    assert not source.knows_end  # somebody has not answered yet
    assert read_until_told(source, notes) == []
    source.close()
    assert notes == [f"{raw.url('/slow')}: took longer than 0.5 s; asking less often from now on"]


def test_a_redirect_with_a_body_without_end_is_followed(web, raw):
    web.replies["/good"] = Reply(body=rss(item(7)))
    raw.replies["/slow"] = b"HTTP/1.1 302 No\r\nLocation: %s\r\n\r\n" % web.url("/good").encode()
    source = opened(raw.url("/slow"))
    assert ids(source.read(10, 5.0)) == ["n7"]
    source.close()


def test_bytes_of_any_kind_end_no_run(raw, tmp_path):
    rng = random.Random(7)
    good = [
        OK + b"Content-Type: text/xml; charset=utf-8\r\n\r\n" + ATOM,
        OK + b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\n" + gzip.compress(FEED),
        OK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(FEED), FEED),
        b"HTTP/1.1 301 Moved\r\nLocation: /1\r\nRetry-After: 9\r\n\r\n",
        OK + b'\r\n<?xml version="1.0" encoding="x-none"?><rss><channel><ttl>\xc2\xb2</ttl>'
        b"<item><title>&#xD800;&#0;</title><category>&#xDFFF;</category></item></channel></rss>",
    ]
    for number in range(300):
        reply = bytearray(good[number % len(good)])
        for _ in range(rng.randrange(8)):
            at = rng.randrange(len(reply))
            reply[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
        raw.replies[f"/{number}"] = bytes(reply)
    notes: list[str] = []
    source = listed(tmp_path, *(raw.url(f"/{number}") for number in range(300)), notes=notes)
    for feed in source._feeds.values():
        feed.every = 1000.0  # once is enough
    chunks = []
    for _ in range(1000):
        chunks.append(source.read(100, 0.1))
        if chunks[-1] is None and source.knows_end:
            break
    source.close()
    items = [chunk for chunk in chunks if chunk is not None]
    assert items
    assert notes
    assert all(line.isprintable() for line in notes)
    for chunk in items:
        chunk.records.texts.validate(full=True)
        json.dumps(chunk.position)


def test_names_and_passwords_are_sent_and_not_shown(web):
    def reply(headers):
        wanted = base64.b64encode(b"ann:s3cret").decode()
        right = headers.get("Authorization") == f"Basic {wanted}"
        return Reply(body=rss(item(1))) if right else Reply(401)

    web.replies["/feed"] = reply
    notes: list[str] = []
    url = web.url("/feed").replace("//", "//ann:{}@")
    assert ids(opened(url.format("s3cret"), notes=notes).read(10, 5.0)) == ["n1"]
    assert opened(url.format("wr0ng"), notes=notes).read(10, 0.0) is None
    assert "401" in notes[0]
    assert "wr0ng" not in notes[0]


@pytest.mark.parametrize("url", ["http://[::1/feed", "http://host:99999/feed", "http:///feed"])
def test_a_list_with_a_bad_address_is_reported(tmp_path, url):
    optional("feedparser", "feeds")
    (tmp_path / "feeds.txt").write_text(f"http://localhost/feed\n{url}\n")
    with pytest.raises(SettingError, match="is not a web address"):
        source_at(f"feeds:{tmp_path}/feeds.txt")
