"""Files that are replaced whole or not at all, and one module that does it."""

from __future__ import annotations

import os
import re
import stat

import pytest

from clasher import durable
from support.corpora import PROJECT


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    path.chmod(0o640)
    with durable.replaced(path) as scratch:
        with open(scratch, "w") as file:
            file.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["model"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    with (
        pytest.raises(ZeroDivisionError),
        durable.replaced(path) as scratch,
        open(scratch, "w") as file,
    ):
        file.write(f"half of {1 // 0}")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").write_text("old")
    (tmp_path / "link").symlink_to("there")
    durable.replace_text(tmp_path / "link", "new")
    assert (tmp_path / "there").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_bytes_are_replaced_after_a_crash_left_a_scratch_file(tmp_path):
    (tmp_path / "state.json.tmp").write_bytes(b"half of")
    durable.replace_bytes(tmp_path / "state.json", b"new")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"state.json": b"new"}


def test_files_and_folders_are_flushed_in_order(tmp_path, monkeypatch):
    """The content before the name that leads to it, then the folder that holds the name."""
    done = []
    replace, flush = os.replace, os.fsync
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("rename"), replace(*names)))

    def flushed(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        done.append("flush folder" if is_folder else "flush file")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", flushed)
    durable.replace_text(tmp_path / "report.html", "new")
    assert done == ["flush file", "rename", "flush folder"]


def test_no_other_module_flushes_or_renames():
    found = [
        str(path.relative_to(PROJECT))
        for path in (PROJECT / "src").rglob("*.py")
        if re.search(r"\bos\.(fsync|fdatasync|replace|rename)\b", path.read_text("utf-8"))
    ]
    assert found == ["src/clasher/durable.py"]
