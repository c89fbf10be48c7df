"""Damage to the files of a data folder is reported in one line, or changes nothing."""

from __future__ import annotations

import random
import shutil
import tarfile
from pathlib import Path

import pytest

from clasher import durable
from clasher.errors import ConflictError, FolderError, RefusedError
from clasher.service.documents import DocumentQueue
from clasher.service.engine import Engine
from clasher.service.export import read_folder
from clasher.service.log import SEAL, Log
from clasher.service.recovery import ServiceFolder, recover
from clasher.service.structs import QueueBounds
from clasher.settings import Settings
from tests.service.lines import GRAIN, METAL, document
from tests.service.plain import file_bytes

TINY = Settings(dimensions=16, max_labels=8)
FEW, MANY = 8, 40  # places to damage in each file
GOLDEN = Path(__file__).parents[1] / "golden" / "service-2.tar.gz"


def teach(engine, rounds=1):
    """Say a bit of everything that a log holds."""
    for number in range(rounds):
        engine.learn([GRAIN, METAL], who="Jörg", key=f"key {number}").result()
        engine.predict([document(f"corn {number}", id=f"doc {number}")])
        engine.feedback(f"doc {number}", ["grain"], who="ann").result()
    with pytest.raises(RefusedError):
        engine.relabel("rename", "grain", "metal", who="eve").result()


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A folder as it was closed, and one as a kill leaves it: before there is any snapshot."""
    base = tmp_path_factory.mktemp("images")
    with Engine(base / "open", TINY) as engine:
        teach(engine, rounds=3)
        engine._pipeline.call(lambda log: None).result()
        shutil.copytree(base / "open", base / "early")
        teach_more(engine)
        shutil.copytree(base / "open", base / "killed")
        engine._pipeline._snapshot = lambda: None
    (base / "open").rename(base / "closed")
    return base


def teach_more(engine):
    for _ in range(3):
        engine.learn([METAL], who="bob").result()


@pytest.fixture
def spoilt(images, tmp_path):
    """Makes a copy of an image that may be spoilt."""

    def copy(name):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return shutil.copytree(images / name, tmp_path / "copy")

    return copy


def contents(path):
    """All that a service reads from a folder at its start."""
    folder = ServiceFolder(path)
    try:
        log = Log(folder.log)
        try:
            state, *_ = recover(folder, log, None)
            awaiting = DocumentQueue(QueueBounds())
            awaiting.load(log.documents(), log.elapsed())
            keys = [log.key(f"key {number}") for number in range(3)]
            return (
                state.to_plain(), file_bytes(state.model), log.rows(),
                awaiting.newest(100), keys,
            )  # fmt: skip
        finally:
            log.close()
    finally:
        folder.close()


def outcomes(spoilt, image, name, spoil, number):
    """Return what each damage led to: an error, or a silent change of the content."""
    expected = contents(spoilt(image))
    found = []
    for place in places((spoilt(image) / name).read_bytes(), number):
        path = spoilt(image) / name
        path.write_bytes(spoil(path.read_bytes(), place))
        try:
            found.append("" if contents(path.parent) == expected else f"silent at {place}")
        except FolderError as error:
            found.append(str(error))
    return found


def places(raw, number):
    """Draw places that are in use: most bytes of a small database are zero."""
    used = [place for place, byte in enumerate(raw) if byte]
    return sorted({0, len(raw) - 1, *random.Random(len(raw)).sample(used, number)})


def flipped(raw, place):
    changed = bytearray(raw)
    changed[place] ^= 1 << place % 8
    return bytes(changed)


def overwritten(raw, place):
    return raw[:place] + bytes(byte ^ 0xFF for byte in raw[place : place + 9]) + raw[place + 9 :]


def cut(raw, place):
    return raw[:place]


FILES = [("closed", "log.sqlite"), ("killed", "log.sqlite-wal"), ("killed", "log.mark")]


@pytest.mark.parametrize(("image", "name"), FILES)
@pytest.mark.parametrize("spoil", [flipped, overwritten, cut])
@pytest.mark.parametrize("number", [FEW, pytest.param(MANY, marks=pytest.mark.trial)])
def test_damage_is_reported_or_harmless(spoilt, image, name, spoil, number):
    found = outcomes(spoilt, image, name, spoil, number)
    assert [one for one in found if one.startswith("silent")] == []
    reported = [one for one in found if one]
    assert len(reported) > len(found) // 4 or name == "log.mark"  # the rest hit bytes not in use
    assert all("restore the folder from a backup" in one and "\n" not in one for one in reported)
    assert all(str(spoilt(image)) in one for one in reported)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "UPDATE documents SET body = replace(body, 'corn 1', 'korn 1')",
            "document 2 of the queue",
        ),
        ("UPDATE documents SET body = x'c3' || substr(body, 2) WHERE seq = 2", "document 2 of"),
        ("UPDATE entries SET who = 'eve' WHERE seq = 1", "entry 1 is damaged"),
        ("UPDATE entries SET at = at + 1 WHERE seq = 1", "entry 1 is damaged"),
        ("UPDATE entries SET refused = NULL WHERE refused NOT NULL", "entry 7 is damaged"),
        ("UPDATE keys SET key = 'kex 1' WHERE key = 'key 1'", "idempotency key 'kex 1' is damaged"),
        ("UPDATE about SET value = '0 0 0' WHERE name = 'progress'", "value of 'progress'"),
        ("DELETE FROM entries", "the table of the entries is damaged"),
        ("ALTER TABLE documents ADD COLUMN more", "the description of the tables is damaged"),
    ],
)
def test_a_changed_row_is_reported(spoilt, query, message):
    folder = spoilt("closed")
    log = Log(folder / "log.sqlite")
    log._db.execute(query)
    log.close()
    with pytest.raises(FolderError, match=message):
        Engine(folder)


# ── the write-ahead log ──────────────────────────────────────────────────────────────────────────


def test_a_deleted_journal_is_reported_and_nothing_is_touched(spoilt, images):
    folder = spoilt("killed")
    (folder / "log.sqlite-wal").unlink()
    for _ in range(2):  # the first try must not make the second succeed
        with pytest.raises(FolderError, match=r"log\.sqlite-wal: missing.*--accept-loss"):
            Engine(folder)
        with pytest.raises(FolderError, match=r"log\.sqlite-wal: missing"):
            list(read_folder(folder))
    shutil.copy(images / "killed" / "log.sqlite-wal", folder)
    with Engine(folder) as engine:
        assert engine.metrics().documents_learned == 12


@pytest.mark.parametrize("older", ["empty", "early"])
def test_an_older_journal_is_reported(spoilt, images, older):
    folder = spoilt("killed")
    journal = folder / "log.sqlite-wal"
    raw = b"" if older == "empty" else (images / "early" / journal.name).read_bytes()
    journal.write_bytes(raw)
    with pytest.raises(FolderError, match=r"of \d+ commits are missing.*deleted or replaced"):
        Engine(folder)
    assert journal.read_bytes() == raw
    shutil.copy(images / "killed" / journal.name, folder)
    with Engine(folder) as engine:
        assert engine.metrics().documents_learned == 12


def test_a_journal_lost_after_a_snapshot_is_reported(tmp_path):
    with Engine(tmp_path / "open", TINY) as engine:
        teach(engine)
        engine.model_file().result().close()
        engine.learn([METAL]).result()
        shutil.copytree(tmp_path / "open", tmp_path / "killed")
    (tmp_path / "killed" / "log.sqlite-wal").write_bytes(b"")
    with pytest.raises(FolderError, match="commits are missing"):
        Engine(tmp_path / "killed")
    with Engine(tmp_path / "killed", accept_loss=True) as engine:
        assert engine.metrics().documents_learned == 3  # as in the snapshot
        assert "the loss is accepted" in engine.notes[0]
        assert "are lost; the model has learnt them" in engine.notes[1]
        assert engine.learn([GRAIN]).result().version == 4
    with Engine(tmp_path / "killed") as engine:
        assert (engine.notes, engine.metrics().documents_learned) == ([], 4)
        assert [lesson.version for lesson in engine.log()] == [4]


@pytest.mark.parametrize("name", ["log.sqlite", "log.mark"])
@pytest.mark.parametrize("image", ["killed", "closed"])
def test_a_missing_file_is_reported(spoilt, image, name):
    folder = spoilt(image)
    (folder / name).unlink()
    for _ in range(2):
        with pytest.raises(FolderError, match=rf"{name}: .*missing.*--accept-loss"):
            Engine(folder)
    assert not (folder / name).exists()


def test_a_missing_log_beside_snapshots_is_reported(tmp_path):
    with Engine(tmp_path, TINY) as engine:
        teach(engine)
    (tmp_path / "log.sqlite").unlink()
    (tmp_path / "log.mark").unlink()
    with pytest.raises(FolderError, match=r"log\.sqlite: missing, although there are snapshots"):
        Engine(tmp_path)
    assert not (tmp_path / "log.sqlite").exists()


def test_an_accepted_loss_is_reported_once(spoilt):
    folder = spoilt("killed")
    (folder / "log.sqlite-wal").unlink()
    with Engine(folder, TINY, accept_loss=True) as engine:
        assert engine.metrics().documents_learned == 0
        assert len(engine.notes) == 1
        engine.learn([GRAIN]).result()
    with Engine(folder) as engine:
        assert (engine.notes, engine.metrics().documents_learned) == ([], 1)


def test_an_accepted_loss_drops_damaged_keys_and_documents(spoilt):
    folder = spoilt("closed")
    log = Log(folder / "log.sqlite")
    log._db.execute("UPDATE documents SET body = zeroblob(7) WHERE seq = 2")
    log._db.execute("UPDATE keys SET key = 'kex 1' WHERE key = 'key 1'")
    log.close()
    with Engine(folder, accept_loss=True) as engine:
        assert len(engine.notes) == 2
        assert [one.id for one in engine.recent()] == ["doc 2", "doc 0"]
        assert engine.learn([GRAIN, METAL], key="key 0").result().is_duplicate
        assert not engine.learn([GRAIN, METAL], key="key 1").result().is_duplicate
    with Engine(folder) as engine:
        assert engine.notes == []


def test_a_kill_at_any_step_of_the_first_start_loses_nothing(tmp_path, monkeypatch):
    """Flushes are where files become durable: end a start at each of them in turn."""

    class Killed(BaseException):
        pass

    for last in range(100):
        folder, left, ends = tmp_path / str(last), iter(range(last)), []

        def flush(path, left=left):
            if next(left, None) is None:
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(durable, "flush_folder", flush)
            try:
                Engine(folder, TINY, on_failure=ends.append).close()
            except Killed as error:
                ends.append(error)
        if not ends:
            break
        shutil.copytree(folder, tmp_path / "left", dirs_exist_ok=True)
        with Engine(tmp_path / "left", TINY) as engine:
            assert (engine.notes, engine.version) == ([], 0)
        shutil.rmtree(tmp_path / "left")
    assert last > 5


# ── the format before ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def before(tmp_path):
    """A folder that was killed, of the version before there were checksums and marks."""
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "data"


def check_before(engine):
    assert [(one.id, one.text, one.taught) for one in engine.recent()] == [
        ("c", "naïve café — 小麦", None), ("b", "zinc mine", None), ("a", "corn prices", ["grain"]),
    ]  # fmt: skip
    assert [(one.version, one.who, one.refused is None) for one in engine.log()] == [
        *[(1, "ann", True)] * 3, (2, "bob", True), (3, "ann", True), (4, "eve", False),
        (5, "ann", True),
    ]  # fmt: skip
    assert engine.metrics().documents_learned == 6
    barley = document("barley", labels=["grain"])
    assert engine.learn([barley], key="fourth").result().is_duplicate
    with pytest.raises(ConflictError):
        engine.learn([barley], key="first").result()


def test_a_folder_of_the_previous_format_opens(before, clock):
    with Engine(before, clock=clock, timer=clock.timer) as engine:
        check_before(engine)
        clock.wait(60.0)
        assert [item.id for item in engine.teach("ann", 5)] == ["b", "c"]  # leases ended
    with Engine(before) as engine:
        check_before(engine)
    log = Log(before / "log.sqlite")
    log._db.execute("UPDATE entries SET who = 'bob' WHERE seq = 1")
    log.close()
    with pytest.raises(FolderError, match="entry 1 is damaged"):
        list(read_folder(before))


def test_the_conversion_of_the_previous_format_can_be_interrupted(before, monkeypatch):
    monkeypatch.setattr("clasher.service.log.SEAL", SEAL + "SELECT 1 FROM nowhere")
    with pytest.raises(FolderError, match="nowhere"):
        Engine(before)
    monkeypatch.undo()
    with Engine(before) as engine:
        check_before(engine)


def test_damage_to_a_folder_of_the_previous_format_is_reported(before):
    import apsw

    db = apsw.Connection(str(before / "log.sqlite"))
    db.execute("UPDATE entries SET body = zeroblob(9) WHERE seq = 2")
    db.close()
    with pytest.raises(FolderError, match="entry 2 is damaged"):
        Engine(before)
