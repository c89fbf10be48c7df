"""Exports of many pages are complete."""

from __future__ import annotations

import json
from pathlib import Path

from clasher.model import Clasher
from clasher.server.routes import LESSONS, PIECE
from clasher.service.export import TOGETHER, read_folder, replay
from clasher.service.log import PAGE
from clasher.service.state import ServiceState
from clasher.settings import Settings
from tests.server.servers import Served, serve

DOCUMENTS = 2 * TOGETHER + 51  # more than two pages of each export
WIDE = Settings(dimensions=2**16, words=True, max_labels=512)  # its file is longer than a piece
FILLER = " filler" * (2 * PAGE // DOCUMENTS // len(" filler") + 1)


def texts() -> list[str]:
    return [f"document{number}{FILLER}" for number in range(DOCUMENTS)]


def teach(served: Served) -> None:
    """Teach in uneven requests, so that pages end anywhere."""
    lessons = [
        {"text": text, "labels": [f"label{place % 300}"]} for place, text in enumerate(texts())
    ]
    for start in range(0, DOCUMENTS, 401):
        served.post("/v1/learn", {"documents": lessons[start : start + 401]})


def test_exports_of_many_pages_are_complete(folder: Path) -> None:
    assert DOCUMENTS > 2 * LESSONS
    with serve(folder, settings=WIDE) as served:
        teach(served)
        lines = served.client.get("/v1/log").text.splitlines()
        assert [json.loads(line)["text"] for line in lines] == texts()
        after = json.loads(lines[500])["version"]
        rest = served.client.get("/v1/log", params={"after": after}).text.splitlines()
        assert rest == [line for line in lines if json.loads(line)["version"] > after]
        pages = [
            served.get("/v1/labels", params={"start": start, "most": 7, "sort": "name"})
            for start in range(0, 301, 7)
        ]
        shown = [label["name"] for page in pages for label in page["labels"]]
        assert sorted(shown) == sorted(f"label{number}" for number in range(300))
        assert len(served.get("/v1/names")["names"]) == 300
        file = served.client.get("/v1/model").content
        assert len(file) > 2 * PIECE
        (folder / "downloaded").write_bytes(file)
        assert Clasher.load(folder / "downloaded").documents == DOCUMENTS
    assert [lesson.text for lesson in read_folder(folder)] == texts()
    state = ServiceState(Clasher(1024))
    assert replay(read_folder(folder), state).lessons == DOCUMENTS
    assert state.learned == DOCUMENTS
