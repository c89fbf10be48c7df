"""A snapshot that is torn or altered falls back to the one before, loudly, never to nothing."""

from __future__ import annotations

import logging
import random
import shutil

import pytest

from clasher.errors import ClasherError, ConflictError, FolderError, StoppedError
from clasher.runtime import snapshots
from clasher.runtime.snapshots import MODEL, STATE, Snapshots
from clasher.service.engine import Engine
from clasher.service.log import Log
from clasher.service.recovery import ServiceFolder, recover
from clasher.service.structs import EngineOptions
from clasher.settings import Settings
from tests.service.lines import GRAIN, METAL, STREAM, document
from tests.service.plain import file_bytes

TINY = Settings(dimensions=16, max_labels=8)
FEW, MANY = 8, 60  # places to damage in each file; make torture tries them all


def fill(folder, **options):
    """A folder with two snapshots and a log that goes on after them; what it holds."""
    with Engine(folder, TINY, options=EngineOptions(**options)) as engine:
        for key, documents in (("first", STREAM), ("second", [GRAIN, METAL])):
            engine.learn(documents, key=key).result()
            engine.model_file().result().close()  # makes a snapshot
        engine.learn([METAL]).result()
        engine._pipeline._snapshot = lambda: None  # closes without another one
        return restored(engine._copies.front)


def restored(state):
    return state.to_plain(), file_bytes(state.model)


def recovered(path):
    folder = ServiceFolder(path)
    log = Log(folder.log)
    try:
        state, notes, _ = recover(folder, log, None)
        return restored(state), notes
    finally:
        log.close()
        folder.close()


def test_a_stop_ends_a_recovery_and_loses_nothing(tmp_path):
    expected = fill(tmp_path)
    with pytest.raises(StoppedError, match="stopped before it had recovered"):
        Engine(tmp_path, is_stopping=lambda: True)
    assert recovered(tmp_path) == (expected, [])


@pytest.fixture
def kept(tmp_path):
    """A folder as it was left, and a way to have a copy of it that may be spoilt."""
    source, target = tmp_path / "source", tmp_path / "copy"
    expected = fill(source, log_bytes=1)

    def copy():
        shutil.rmtree(target, ignore_errors=True)
        return shutil.copytree(source, target)

    return copy, expected


def newest(folder):
    return max(path for path in (folder / "snapshots").iterdir())


def places(size, seed, number):
    draw = random.Random(seed)
    return sorted({0, size - 1, *(draw.randrange(size) for _ in range(number))})


def truncated(raw, place):
    return raw[:place]


def flipped(raw, place):
    changed = bytearray(raw)
    changed[place] ^= 1 << place % 8
    return bytes(changed)


def unnoticed(copy, expected, spoil, file, number):
    """Return the places where damage went unnoticed, or something was lost."""
    size = (newest(copy()) / file).stat().st_size
    wrong = []
    for place in places(size, spoil.__name__, number):
        folder = copy()
        path = newest(folder) / file
        path.write_bytes(spoil(path.read_bytes(), place))
        try:
            state, notes = recovered(folder)
        except ClasherError as error:
            wrong.append((place, str(error)))
            continue
        if state != expected or len(notes) != 1:
            wrong.append((place, notes))
    return wrong


@pytest.mark.parametrize("file", [MODEL, STATE])
@pytest.mark.parametrize("spoil", [truncated, flipped])
@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.trial)])
def test_a_damaged_snapshot_falls_back_to_the_previous_one(kept, spoil, file, number, caplog):
    copy, expected = kept
    assert unnoticed(copy, expected, spoil, file, number) == []
    assert all(record.levelno == logging.CRITICAL for record in caplog.records)
    assert "is damaged and was put aside" in caplog.text


@pytest.mark.parametrize("spoil", [truncated, flipped])
def test_a_start_that_skips_digests_fails_these_tests(kept, spoil, monkeypatch):
    copy, expected = kept
    believing = snapshots.msgspec.json.decode
    monkeypatch.setattr(snapshots, "_unsealed", lambda raw: believing(raw.partition(b"\n")[2]))
    monkeypatch.setattr(snapshots, "DamagedSnapshotError", KeyError)
    assert caught(lambda: unnoticed(copy, expected, spoil, STATE, MANY))


def caught(look):
    try:
        return bool(look())
    except Exception:
        return True


@pytest.mark.parametrize("file", [MODEL, STATE])
def test_a_missing_file_falls_back(kept, file):
    copy, expected = kept
    folder = copy()
    (newest(folder) / file).unlink()
    state, notes = recovered(folder)
    assert state == expected
    assert len(notes) == 1


def test_a_start_that_ignores_snapshots_fails_these_tests(kept, monkeypatch):
    copy, expected = kept
    monkeypatch.setattr(Snapshots, "load", lambda self, models: (None, []))
    assert caught(lambda: recovered(copy())[0] != expected)


def test_two_damaged_snapshots_are_reported_and_nothing_is_deleted(kept):
    copy, _ = kept
    folder = copy()
    for path in (folder / "snapshots").iterdir():
        (path / STATE).write_bytes(b"")
    with pytest.raises(FolderError, match="no snapshot is intact, and the log no longer reaches"):
        recovered(folder)
    assert len(list((folder / "snapshots").glob("*.damaged"))) == 2
    with pytest.raises(FolderError, match="Restore the folder from a backup"):
        recovered(folder)


def test_a_complete_log_needs_no_snapshot(tmp_path):
    expected = fill(tmp_path / "data")
    shutil.rmtree(tmp_path / "data" / "snapshots")
    assert recovered(tmp_path / "data") == (expected, [])


def test_a_damaged_snapshot_is_kept_until_there_are_others(kept):
    copy, _ = kept
    folder = copy()
    (newest(folder) / STATE).write_bytes(b"")
    for _ in range(2):
        with Engine(folder) as engine:
            engine.learn([GRAIN]).result()
        (newest_whole(folder) / STATE).write_bytes(b"")
    recovered(folder)
    assert len(list((folder / "snapshots").glob("*.damaged"))) <= 2


def newest_whole(folder):
    return max(path for path in (folder / "snapshots").iterdir() if not path.suffix)


def test_half_a_snapshot_is_deleted(kept):
    copy, expected = kept
    folder = copy()
    shutil.copytree(newest(folder), folder / "snapshots" / "0000000000000099.tmp")
    assert recovered(folder) == (expected, [])
    assert not list((folder / "snapshots").glob("*.tmp"))


def test_the_log_is_complete_while_there_is_one_snapshot(tmp_path):
    with Engine(tmp_path, TINY, options=EngineOptions(log_bytes=1)) as engine:
        engine.learn(STREAM).result()
        expected = restored(engine._copies.front)
    (newest(tmp_path) / STATE).write_bytes(b"")
    state, notes = recovered(tmp_path)
    assert state == expected
    assert len(notes) == 1


def test_the_log_is_compacted_behind_snapshots_and_says_so(tmp_path):
    with Engine(tmp_path, TINY, options=EngineOptions(log_bytes=1)) as engine:
        for _ in range(4):
            engine.learn(STREAM).result()
            engine.model_file().result().close()
        assert next(lesson.version for lesson in engine.log()) > 1
        metrics = engine.metrics()
    assert (metrics.log_dropped, metrics.log_entries) == (3, 1)
    with Engine(tmp_path) as engine:
        assert engine.metrics().documents_learned == 4 * len(STREAM)
        assert engine.metrics().log_dropped == 3


def test_an_export_reports_a_log_that_was_shortened_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(Log.rows, "__defaults__", (0, 1))  # an entry is a page
    with Engine(tmp_path, TINY, options=EngineOptions(log_bytes=1)) as engine:
        engine.learn([GRAIN]).result()
        export = engine.log()
        assert next(export).version == 1
        for _ in range(4):
            engine.learn([GRAIN]).result()
            engine.model_file().result().close()
        assert engine.metrics().log_dropped > 1
        with pytest.raises(ConflictError, match="after version 1 were deleted during the export"):
            next(export)


def test_the_log_keeps_what_fits_its_budget(tmp_path):
    with Engine(tmp_path, TINY, options=EngineOptions(snapshot_documents=1)) as engine:
        for _ in range(5):
            engine.learn(STREAM).result()
    with Engine(tmp_path) as engine:
        assert len(list(engine.log())) == 5 * len(STREAM)


def test_disk_use_is_bounded(tmp_path):
    """Three times as much does not take more room."""
    options = EngineOptions(snapshot_bytes=400_000, log_bytes=400_000)
    sizes = []
    with Engine(tmp_path, TINY, options=options) as engine:
        for _ in range(30):
            engine.learn([document("word " * 10_000, labels=["x"])] * 10).result()
            sizes.append(engine.metrics().disk_bytes)
        assert max(sizes[20:]) <= 1.1 * max(sizes[:20])
        assert max(sizes) <= engine.metrics().disk_bytes_most


def spoil_log(folder, *queries):
    log = Log(folder / "log.sqlite")
    for query in queries:
        log._db.execute(query)
    log.close()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DELETE FROM entries WHERE seq = 2", "entries after 1 are missing"),
        ("DELETE FROM entries", "the table of the entries is damaged"),
        ("UPDATE entries SET body = zeroblob(9) WHERE seq = 3", "entry 3 is damaged"),
        ("UPDATE about SET value = 99 WHERE name = 'format'", "value of 'format' is damaged"),
        ("UPDATE keys SET seq = 3", "idempotency key 'first' is damaged"),
    ],
)
def test_a_log_that_does_not_fit_is_refused(tmp_path, query, message):
    fill(tmp_path)
    if "seq = 2" in query:
        shutil.rmtree(newest(tmp_path))
    spoil_log(tmp_path, query)
    with pytest.raises(FolderError, match=message):
        recovered(tmp_path)


def test_a_log_of_another_version_is_refused(tmp_path):
    fill(tmp_path)
    log = Log(tmp_path / "log.sqlite")
    with log.transaction():
        log.put_value("format", 99)
    log.close()
    with pytest.raises(FolderError, match="has format 99, made by another version of clasher"):
        Engine(tmp_path)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    fill(tmp_path)
    (tmp_path / "log.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(FolderError, match="the log cannot be opened"):
        Engine(tmp_path)


def test_an_impossible_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="cannot be a data folder"):
        Engine(tmp_path / "file" / "data")
