"""Tokens, scopes, hosts, origins and response headers."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import httpx
import pytest

from clasher.errors import SettingError, StreamError
from clasher.server.operations import Operation
from clasher.server.routes import OPERATIONS
from clasher.server.tokens import SCOPES, Scope, TokenFile
from clasher.text.label_names import normal_name
from tests.server.servers import Served, exchange, serve

SECURE = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize(
    "path",
    ["/", "/docs", "/openapi.json", "/v1/metrics", "/metrics", "/v1/log", "/no", "/v1/learn"],
)
def test_every_response_has_the_security_headers(served: Served, path: str) -> None:
    answer = served.client.get(path)
    assert SECURE.items() <= dict(answer.headers).items()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "access-control-allow-origin" not in answer.headers


def test_refused_requests_get_the_headers_too(served: Served) -> None:
    answer = served.client.get("/", headers={"host": "evil.example"})
    assert answer.status_code == 421
    assert SECURE.items() <= dict(answer.headers).items()


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""]
)
def test_unknown_host_names_are_refused(served: Served, host: str) -> None:
    request = f"GET /v1/metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    answer = exchange(served.port, request.encode())
    assert b" 421 " in answer.split(b"\r\n")[0]
    assert b"documents_learned" not in answer


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1", "[::1]:9", "10.1.2.3"])
def test_addresses_and_own_names_are_accepted(served: Served, host: str) -> None:
    assert served.client.get("/healthz", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},  # another service on this machine
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_pages_of_other_sites_change_nothing(served: Served, headers: dict[str, str]) -> None:
    before = served.engine.version
    answer = served.client.post("/v1/learn", json={"text": "a", "labels": ["x"]}, headers=headers)
    assert answer.status_code == 403
    assert served.engine.version == before


DATA = [one.path for one in OPERATIONS if one.method == "GET" and one.scope is not None]


@pytest.mark.parametrize("path", DATA)
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
    ids=["origin", "cross-site", "same-site"],
)
def test_pages_of_other_sites_get_no_data(
    served: Served, path: str, headers: dict[str, str]
) -> None:
    answer = served.client.get(path.replace("{id}", "1"), headers=headers)
    assert answer.status_code == 403
    assert answer.json()["type"].endswith("other-site")


def test_pages_of_other_sites_make_no_snapshot(served: Served) -> None:
    served.teach(1)
    before = served.engine.metrics().snapshot_version
    served.client.get("/v1/model", headers={"sec-fetch-site": "cross-site"})
    assert served.engine.metrics().snapshot_version == before < served.engine.version


@pytest.mark.parametrize("site", [None, "none", "same-origin"])
def test_programs_and_our_own_pages_get_data(served: Served, site: str | None) -> None:
    headers = {} if site is None else {"sec-fetch-site": site}
    for path in ("/v1/metrics", "/v1/model", "/metrics"):
        assert served.client.get(path, headers=headers).status_code == 200


def test_pages_of_other_sites_may_link_to_the_dashboard(served: Served) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    for path in ("/", "/docs", "/openapi.json", "/pages/main.js", "/healthz", "/readyz"):
        assert served.client.get(path, headers=headers).status_code == 200


def test_other_sites_get_no_data_below_a_path(folder: Path) -> None:
    with serve(folder, root_path="/clasher") as served:
        headers = {"sec-fetch-site": "cross-site"}
        for url in (served.url, served.url.removesuffix("/clasher")):
            assert served.client.get(f"{url}/v1/model", headers=headers).status_code == 403
            assert served.client.get(f"{url}/docs", headers=headers).status_code == 200


def test_preflight_requests_get_no_permission(served: Served) -> None:
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = served.client.options("/v1/learn", headers=headers)
    assert answer.status_code == 405
    assert "access-control-allow-origin" not in answer.headers


def test_own_pages_may_send_requests(served: Served) -> None:
    origin = {"origin": served.url, "sec-fetch-site": "same-origin"}
    assert served.post("/v1/predict", {"text": "a"}, headers=origin)


def test_a_given_host_name_is_accepted_behind_a_proxy(folder: Path) -> None:
    with serve(folder, hosts=("news.example.org",), root_path="/clasher") as served:
        for host in ("news.example.org", "127.0.0.1"):  # proxies may keep or replace it
            headers = {"host": host, "origin": "https://news.example.org"}
            assert served.post("/v1/predict", {"text": "a"}, headers=headers)
        stripped = served.url.removesuffix("/clasher")  # some proxies remove the path
        assert served.client.get(f"{stripped}/v1/metrics").status_code == 200
        assert served.get("/openapi.json")["servers"] == [{"url": "/clasher"}]
        assert 'href="pages/style.css"' in served.client.get("/docs").text


def body_of(one: Operation) -> dict[str, object]:
    return {} if one.body is None else {"json": one.example or {}}


def status_of(served: Served, one: Operation, token: str | None) -> httpx.Response:
    """Return a response; do not wait for the body of endless ones."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    path = one.path.replace("{id}", "999")
    with served.client.stream(one.method, path, headers=headers, **body_of(one)) as answer:
        if answer.status_code != 200:
            answer.read()
        return answer


@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: one.name)
def test_each_operation_requires_its_scope(
    one: Operation, guarded: tuple[Served, dict[str, str]]
) -> None:
    served, tokens = guarded
    for holder, token in {"nobody": None, "stranger": "clasher_guessed", **tokens}.items():
        answer = status_of(served, one, token)
        if one.scope is None:
            assert answer.status_code == 200
        elif holder not in SCOPES:
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")
        elif SCOPES.index(holder) < SCOPES.index(one.scope):
            assert answer.status_code == 403
            assert one.scope in answer.json()["detail"]
        else:
            assert answer.status_code not in (401, 403)


def documented(page: Path) -> dict[tuple[str, str], bool]:
    """Parse a page's table of routes and scopes."""
    row = r"^\| `([A-Z]+ [^`]+)` \| ((?:yes|no)(?: \| (?:yes|no))+) \|$"
    rows = re.findall(row, page.read_text(), re.MULTILINE)
    return {
        (route, scope): cell.strip() == "yes"
        for route, cells in rows
        for scope, cell in zip(SCOPES, cells.split("|"), strict=True)
    }


@pytest.mark.parametrize("page", ["docs/reference/http.md"])
def test_the_documented_table_of_scopes_is_true(
    page: str, guarded: tuple[Served, dict[str, str]]
) -> None:
    served, tokens = guarded
    told = documented(Path(__file__).parents[2] / page)
    found = {
        (f"{one.method} {one.path}", scope): status_of(served, one, tokens[scope]).status_code
        for one in OPERATIONS
        if one.scope is not None
        for scope in SCOPES
    }
    assert told == {cell: status not in (401, 403) for cell, status in found.items()}


SECRET = "the quarterly figures of acme are bad"


@pytest.mark.parametrize("scope", ["predict", "read"])
def test_texts_and_names_need_scope_teach(folder: Path, scope: Scope) -> None:
    file = TokenFile(folder.parent / "tokens")
    ann = {"authorization": f"Bearer {file.add('ann.example', 'admin')}"}
    reader = {"authorization": f"Bearer {file.add('reader', scope)}"}
    with serve(folder, tokens=file) as served:
        served.post("/v1/predict", {"id": "a", "text": SECRET}, headers=ann)
        served.post("/v1/feedback", {"id": "a", "labels": ["finance"]}, headers=ann)
        for one in OPERATIONS:
            if one.method == "GET" and one.name != "events":
                answer = served.client.get(one.path.replace("{id}", "1"), headers=reader)
                assert SECRET not in answer.text
                assert "ann.example" not in answer.text
        assert SECRET in served.client.get("/v1/labels/1", headers=ann).text
        assert "ann.example" in served.client.get("/v1/log", headers=ann).text


@pytest.mark.parametrize("has_digest", [True, False])
def test_predicting_an_id_again_does_not_change_lessons(folder: Path, has_digest: bool) -> None:
    file = TokenFile(folder.parent / "tokens")
    ann = {"authorization": f"Bearer {file.add('ann', 'admin')}"}
    eve = {"authorization": f"Bearer {file.add('eve', 'predict')}"}
    with serve(folder, tokens=file) as served:
        served.post("/v1/predict", {"id": "a", "text": "wheat"}, headers=ann)
        (item,) = served.post("/v1/teach", {}, headers=ann)["items"]
        served.post("/v1/predict", {"id": "a", "text": "buy at eve's"}, headers=eve)
        said = {"id": "a", "labels": ["grain"]} | ({"digest": item["digest"]} if has_digest else {})
        answer = served.client.post("/v1/feedback", json=said, headers=ann)
        log = served.client.get("/v1/log", headers=ann).text
        assert "eve's" not in log
        if has_digest:
            assert answer.status_code == 200
            assert '"text":"wheat"' in log
        else:
            assert answer.status_code == 409
            assert "digest" in answer.json()["remedy"]


@pytest.mark.parametrize(("scope", "is_told"), [("read", False), ("teach", True)])
def test_events_name_people_only_to_teachers(folder: Path, scope: Scope, is_told: bool) -> None:
    file = TokenFile(folder.parent / "tokens")
    ann = {"authorization": f"Bearer {file.add('ann.example', 'teach')}"}
    watcher = {"authorization": f"Bearer {file.add('watcher', scope)}"}
    with serve(folder, tokens=file) as served:
        with served.client.stream("GET", "/v1/events", headers=watcher) as answer:
            lines = answer.iter_lines()
            next(lines)  # it is connected
            served.post("/v1/predict", {"id": "a", "text": "gold"}, headers=ann)
            served.post("/v1/feedback", {"id": "a", "labels": ["metal"]}, headers=ann)
            told = next(line for line in islice(lines, 1000) if '"kind":"feedback"' in line)
        assert ("ann.example" in told) == is_told
        assert '"id":"a"' in told


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Run a server with a token for each scope."""
    folder = tmp_path_factory.mktemp("guarded")
    file = TokenFile(folder / "tokens")
    tokens = {scope: file.add(scope, scope) for scope in SCOPES}
    with serve(folder / "data", tokens=file) as served:
        yield served, tokens


def test_pages_need_no_token(guarded: tuple[Served, dict[str, str]]) -> None:
    for path in ("/docs", "/openapi.json", "/pages/docs.js"):
        assert guarded[0].client.get(path).status_code == 200


def test_lessons_carry_the_name_of_the_token(guarded: tuple[Served, dict[str, str]]) -> None:
    served, tokens = guarded
    headers = {"authorization": f"Bearer {tokens['teach']}", "x-clasher-who": "somebody-else"}
    served.post("/v1/learn", {"text": "a", "labels": ["x"]}, headers=headers)
    admin = {"authorization": f"Bearer {tokens['admin']}"}
    assert '"who":"teach"' in served.client.get("/v1/log", headers=admin).text


def test_tokens_are_stored_as_hashes_readable_by_the_owner_only(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens")
    token = file.add("ann", "teach")
    assert token not in file.path.read_text()
    assert token.removeprefix("clasher_") not in file.path.read_text()
    assert file.path.stat().st_mode & 0o077 == 0


def test_a_removed_token_is_refused(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens")
    ann, bob = file.add("ann", "teach"), file.add("bob", "admin")
    assert file.find(ann)
    file.remove("ann")
    assert [holder.name for holder in file.holders()] == ["bob"]
    assert file.find(ann) is None
    assert file.find(bob)
    with pytest.raises(SettingError, match="nobody is called ann"):
        file.remove("ann")
    with pytest.raises(SettingError, match="bob has a token"):
        file.add("bob", "read")
    with pytest.raises(SettingError, match="name"):
        file.add("two words", "read")


def test_invalid_token_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("ann root 0000\n")
    with pytest.raises(StreamError, match="line 1"):
        TokenFile(path).holders()


def test_an_unreadable_token_file_locks_everybody_out(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens")
    token = file.add("ann", "admin")
    headers = {"authorization": f"Bearer {token}"}
    with serve(tmp_path / "data", tokens=TokenFile(file.path)) as served:
        assert served.get("/v1/about", headers=headers)["who"] == "ann"
        file.path.write_text("nonsense")
        served.server._service.setup.tokens._checked = float("-inf")  # a second has passed
        assert served.client.get("/v1/about", headers=headers).status_code == 503


CANARY = "the canary sings"
WAYS = [
    "..", "%2e%2e", "..%2f", "%2e%2e%2f", "..%5c", "....//", "%252e%252e", "..;", "%c0%ae%c0%ae",
    "..%00",
]  # fmt: skip
PLACES = [
    "/{way}/canary", "/pages/{way}/canary", "/pages/{way}/{way}/canary", "//{target}",
    "/docs/{way}/{way}/{way}/canary", "/v1/labels/{way}/canary", "/v1/model/{way}/canary",
    "/pages/{way}/{way}/{way}/{way}/{way}/{way}/{way}{target}", "/pages/{target}",
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_no_path_of_a_request_reaches_the_file_system(folder: Path, way: str) -> None:
    with serve(folder) as served:
        (folder / "canary").write_text(CANARY)
        (folder.parent / "canary").write_text(CANARY)
        for pattern in PLACES:
            for target in (folder / "canary", folder.parent / "canary"):
                path = pattern.format(way=way, target=target)
                request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                answer = exchange(served.port, request.encode())
                assert answer.startswith((b"HTTP/1.1 404", b"HTTP/1.1 422", b"HTTP/1.1 400")), path
                assert CANARY.encode() not in answer


HOSTILE = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\"'><svg/onload=1>",
    "\u202eevil", "a\x00b", "=cmd|' /C calc'!A0", "{{7*7}}", "line\nbreak", "' OR 1=1 --",
]  # fmt: skip


def test_hostile_labels_and_texts_stay_data(folder: Path) -> None:
    with serve(folder) as served:
        for text in HOSTILE:
            served.post("/v1/learn", {"documents": [{"text": text, "labels": [text]}]})
            served.post("/v1/predict", {"documents": [{"text": text, "id": text}]})
            served.post("/v1/feedback", {"documents": [{"id": text, "labels": {text: True}}]})
        names = {name for _, name, _, _ in served.get("/v1/names")["names"]}
        assert names == set(map(normal_name, HOSTILE))
        for path in ("/v1/names", "/v1/labels", "/v1/recent", "/v1/log", "/metrics"):
            answer = served.client.get(path)
            assert answer.status_code == 200
            assert "html" not in answer.headers["content-type"]
        for line in served.client.get("/metrics").text.splitlines():
            assert line.startswith(("#", "clasher_"))
        echoed = served.client.get("/v1/<script>alert(1)</script>")
        assert echoed.headers["content-type"] == "application/problem+json"
