import json
import os
import stat

import pytest

from clasher.cli.terminal import check_outputs, write_json
from clasher.durable import replace_text
from clasher.errors import SettingError
from support.environment import nobody


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    target = tmp_path / "figures.json"
    write_json(str(target), {"label": "Öl", "f1": 0.5})
    assert json.loads(target.read_text()) == {"label": "Öl", "f1": 0.5}

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        write_json(str(target), {})
    assert json.loads(target.read_text()) == {"label": "Öl", "f1": 0.5}
    assert os.listdir(tmp_path) == ["figures.json"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    replace_text(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "text"


def test_a_device_stays_a_device():
    replace_text("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_labels_need_not_be_unicode_text(tmp_path):
    target = tmp_path / "figures.json"
    write_json(str(target), {"a\udcff": 1})
    assert json.loads(target.read_text()) == {"a\udcff": 1}


def test_permissions_are_looked_at(closed_folder):
    with nobody(), pytest.raises(SettingError, match="permission denied"):
        check_outputs({"--json": str(closed_folder / "figures.json")})
