from __future__ import annotations

import json

import pytest

from clasher import Clasher
from clasher.service.engine import Engine
from clasher.service.structs import Document
from clasher.settings import Settings
from tests.cli.command import one_line, records, run
from tests.models import state_bytes

SMALL = Settings(dimensions=128, max_labels=8)


@pytest.fixture
def folder(tmp_path):
    """What a service leaves behind: documents, answers, and a label under another name."""
    path = tmp_path / "data"
    with Engine(path, SMALL, clock=lambda: 1000.0) as engine:
        documents = [Document(text=r["text"], labels=r["labels"]) for r in records(40)]
        engine.learn(documents, who="feed").result()
        engine.predict([Document(id="a", text="corn and gold")])
        engine.feedback("a", ["grain"], who="ann").result()
        second = engine.feedback("a", {"metal": True}, who="bob").result()
        engine.undo(second.version, who="bob").result()
        engine.relabel("rename", "grain", "cereals", who="ann").result()
        engine.learn([Document(text="barley", labels=["grain"])], who="feed").result()
    return path


def test_log_records_who_taught_what_and_the_labels_before(folder):
    lines = [json.loads(line) for line in run("log", folder).stdout.splitlines()]
    assert [line["kind"] for line in lines] == [
        *["learn"] * 40, "feedback", "feedback", "undo", "label", "learn",
    ]  # fmt: skip
    first, second, undone, renamed = lines[40:44]
    assert {"who": "ann", "at": 1000.0, "id": "a", "text": "corn and gold"}.items() <= first.items()
    assert (first["after"], first["model_version"]) == (["grain"], 1)
    assert (second["before"], second["after"]) == (["grain"], ["grain", "metal"])
    assert (undone["before"], undone["after"]) == (["grain", "metal"], ["grain"])
    assert (renamed["action"], renamed["label"], renamed["into"]) == ("rename", "grain", "cereals")


def test_log_goes_to_a_file_and_begins_later(folder, tmp_path):
    target = tmp_path / "taught.jsonl"
    assert run("log", folder, "--after", 1, "--output", target).output == ""
    lines = target.read_text().splitlines()
    assert [json.loads(line)["version"] for line in lines] == [2, 3, 4, 5, 6]


def test_log_of_no_service_is_refused(tmp_path):
    target = tmp_path / "kept"
    target.write_text("kept")
    message = one_line(run("log", tmp_path / "nowhere", "-o", target, code=2))
    assert "is not the data folder of a service" in message
    assert not (tmp_path / "nowhere").exists()
    assert target.read_text() == "kept"


def test_log_of_a_service_that_runs_is_refused(folder):
    with Engine(folder):
        assert "in use by process" in one_line(run("log", folder, code=2))


def test_replay_with_the_same_settings_gives_the_same_model(folder, tmp_path):
    target = tmp_path / "model"
    result = run("replay", folder, "-m", target, "--dimensions", 128, "--max-labels", 8)
    with Engine(folder) as engine, engine._copies.reading() as state:
        assert state_bytes(Clasher.load(target)) == state_bytes(state.model)
    assert "learnt 45 lessons, macro F1 ." in result.stderr
    assert "judged documents; saved" in result.stderr


def test_replay_of_an_export_with_other_settings(folder, tmp_path):
    export = tmp_path / "taught.jsonl"
    run("log", folder, "-o", export)
    target = tmp_path / "model"
    assert run("replay", export, "-m", target, "--rule", "centroid", "--quiet").output == ""
    model = Clasher.load(target)
    assert (model.settings.rule, model.documents) == ("centroid", 42)
    assert {"cereals", "metal", "energy"} == set(model.labels)
    assert run("replay", "-", "-m", target, stdin=export.read_bytes(), code=0).stdout == ""


def test_replay_skips_lessons_that_fail(folder, tmp_path):
    result = run("replay", folder, "-m", tmp_path / "model", "--max-labels", 2)
    assert "skipped 16 lessons" in result.stderr
    assert "max_labels is 2" in result.stderr


def test_replay_of_nothing_writes_nothing(tmp_path):
    export = tmp_path / "empty.jsonl"
    export.write_text("")
    assert "holds no lessons" in run("replay", export, "-m", tmp_path / "model").stderr
    assert not (tmp_path / "model").exists()


def test_replay_names_the_bad_line(tmp_path):
    export = tmp_path / "bad.jsonl"
    export.write_text("{}\n")
    result = run("replay", export, "-m", tmp_path / "model", code=2)
    assert "bad.jsonl, record 1: " in result.stderr
