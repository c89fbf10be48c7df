"""``clasher serve`` and ``clasher token``, in this process."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from clasher import Clasher
from clasher.cli import terminal
from clasher.cli.commands import cli
from clasher.server.tokens import TokenFile
from tests.server.servers import LESSONS, PATIENCE


@pytest.fixture
def stopped_when_ready(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stop a service as soon as it is ready; return its messages."""
    said: list[str] = []

    def stop(port: str) -> None:
        answer = httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=PATIENCE, trust_env=False)
        said.append(answer.text)
        os.kill(os.getpid(), signal.SIGTERM)

    def say(text: str) -> None:
        said.append(text)
        if found := re.search(r"dashboard: http://\S+?:(\d+)", text):
            threading.Thread(target=stop, args=[found[1]]).start()

    monkeypatch.setattr(terminal, "say", say)
    return said


def test_serve_prints_its_address_and_its_model(
    folder: Path, tmp_path: Path, stopped_when_ready: list[str]
) -> None:
    handlers = signal.getsignal(signal.SIGTERM), sys.getswitchinterval()
    model = Clasher(1024)
    model.learn(LESSONS[0]["text"], LESSONS[0]["labels"])
    model.save(tmp_path / "news.clasher")
    arguments = ["serve", "--data", str(folder), "--port", "0"]
    begun = CliRunner().invoke(cli, [*arguments, "--model", str(tmp_path / "news.clasher")])
    assert begun.exit_code == 0, begun.output
    listening, found, dashboard, ready, stopped = stopped_when_ready
    assert listening.startswith("listening at http://127.0.0.1:")
    assert "2 labels, version 1" in found
    assert dashboard.startswith("dashboard: ")
    assert ready == '{"status":"ok"}'
    assert "on disk" in stopped
    assert handlers == (signal.getsignal(signal.SIGTERM), sys.getswitchinterval())
    again = CliRunner().invoke(cli, [*arguments, "--model", str(tmp_path / "news.clasher")])
    assert again.exit_code == 2
    assert "already has a model" in again.stderr
    other = CliRunner().invoke(cli, [*arguments, "--dimensions", "2048"])
    assert other.exit_code == 2
    assert "dimensions" in other.stderr


def test_a_broken_model_file_leaves_the_folder_free(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no model")
    arguments = ["serve", "--data", str(folder), "--port", "0"]
    result = CliRunner().invoke(cli, [*arguments, "--model", str(tmp_path / "broken")])
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


def test_a_port_in_use_is_reported_in_one_line(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(cli, ["serve", "--data", str(folder), "--port", port])
    assert result.exit_code == 2
    assert "choose another with --port" in result.stderr
    assert not folder.exists()


def test_another_address_needs_tokens(folder: Path, tmp_path: Path) -> None:
    def refused(*options: str) -> str:
        arguments = ["serve", "--data", str(folder), "--port", "0", *options]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 2
        return result.stderr

    assert "--token-file" in refused("--host", "0.0.0.0")
    assert "--token-file" in refused("--host", "news.example.org")
    empty = tmp_path / "empty"
    empty.touch()
    assert "nobody has a token" in refused("--host", "0.0.0.0", "--token-file", str(empty))
    assert "begins with /" in refused("--root-path", "clasher")
    assert "cannot read tokens" in refused("--token-file", str(tmp_path / "none"))
    assert not folder.exists()


def test_tokens_are_made_listed_and_removed_at_the_terminal(tmp_path: Path) -> None:
    file = str(tmp_path / "tokens")

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["token", *arguments, "--token-file", file])
        assert result.exit_code == 0, result.output
        return result.stdout

    token = run("ann", "--scope", "admin").strip()
    run("bob")
    assert run("--list") == "ann\tadmin\nbob\tteach\n"
    holder = TokenFile(file).find(token)
    assert holder is not None
    assert holder.name == "ann"
    assert run("ann", "--remove") == ""
    assert run("--list") == "bob\tteach\n"
    assert CliRunner().invoke(cli, ["token", "--token-file", file]).exit_code == 2


def test_the_help_shows_the_defaults_of_a_service() -> None:
    shown = " ".join(CliRunner().invoke(cli, ["serve", "--help"]).output.split())
    assert "what a label is about (default: on)" in shown
    assert "(default: window)" in shown
