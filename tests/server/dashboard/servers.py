"""A service in a process, and its documents."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.cli.evaluations import HOSTILE

SUBJECTS = {
    "grain": "wheat corn harvest barley export bushel",
    "oil": "crude barrel pipeline refinery opec tanker",
    "gold": "mine ounce bullion silver vein miner",
    "ships": "port cargo freight captain harbour anchor",
}


class Server:
    """``clasher serve`` on a free port."""

    def __init__(self, folder: Path, *options: str, port: int = 0, token: str = "") -> None:
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        command = [sys.executable, "-m", "clasher", "serve", "--data", str(folder)]
        self.process = subprocess.Popen(
            [*command, "--port", str(port), *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.url = self._address()

    def _address(self) -> str:
        assert self.process.stdout is not None
        told = []
        for line in self.process.stdout:
            told.append(line)
            if found := re.search(r"dashboard: (http://127\.0\.0\.1:\d+/\S*)", line):
                return found[1]
        raise AssertionError("the service did not start:\n" + "".join(told))

    def get(self, path: str) -> Any:
        """GET JSON."""
        with urlopen(Request(self.url + path, headers=self.headers), timeout=60) as answer:
            return json.load(answer)

    def headers_of(self, path: str) -> Message:
        """Return the headers of a response."""
        with urlopen(self.url + path, timeout=60) as answer:
            headers: Message = answer.headers
            return headers

    def lessons(self) -> list[dict[str, Any]]:
        """Return the feedback in the log, newest last."""
        with urlopen(Request(self.url + "v1/log", headers=self.headers), timeout=60) as answer:
            rows = map(json.loads, answer)
            return [row for row in rows if row["kind"] in ("feedback", "undo")]

    def post(self, path: str, body: object) -> Any:
        """POST JSON."""
        headers = {"Content-Type": "application/json", "X-Clasher-Who": "feed"} | self.headers
        request = Request(self.url + path, json.dumps(body).encode(), headers)
        with urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def stop(self) -> None:
        """Stop the process."""
        self.process.terminate()
        self.process.communicate(timeout=60)


def text_of(subject: str, number: int) -> str:
    """Make a text about a subject."""
    words = SUBJECTS[subject].split()
    return " ".join(words[(number * k + k) % len(words)] for k in range(1, 9)) + f" n{number}"


def teach_subjects(server: Server) -> None:
    """Teach four subjects, and labels and texts that look like markup."""
    for start in range(0, 160, 40):
        documents = [
            {"text": text_of(subject, number), "labels": [subject]}
            for number in range(start, start + 40)
            for subject in SUBJECTS
        ]
        server.post("v1/learn", {"documents": documents})
    server.post(
        "v1/learn",
        {"documents": [{"text": f"{name} hostile words", "labels": [name]} for name in HOSTILE]},
    )
    texts = [text_of(subject, 1000 + number) for number in range(25) for subject in SUBJECTS]
    server.post("v1/predict", {"documents": [{"text": text} for text in texts + HOSTILE]})


def teach_many(server: Server) -> None:
    """Teach 5,000 labels and predict ten documents."""
    for start in range(0, 5000, 1000):
        documents = [
            {"text": f"word{number}", "labels": [f"number {number}"]}
            for number in range(start, start + 1000)
        ]
        server.post("v1/learn", {"documents": documents})
    server.post("v1/predict", {"documents": [{"text": f"word{number}"} for number in range(10)]})
