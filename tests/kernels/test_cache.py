"""Compiled kernels are kept where they can be written and nobody else can change them."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from numba import config

import clasher
from clasher.kernels import cache

pytestmark = pytest.mark.compiled
unix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users and permissions")

ONE_KERNEL = """
from clasher.kernels.margin import sigmoid
assert sigmoid(0.0) == 0.5
from clasher.kernels.cache import Tally
print(Tally.compiled, Tally.loaded, Tally.folder)
"""


@pytest.fixture
def installed(tmp_path):
    """Copy the package to a folder of its own."""
    package = tmp_path / "installed" / "clasher"
    source, ignored = Path(clasher.__file__).parent, shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, package, ignore=ignored)
    return package


def make_read_only(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)


def _obey_permissions() -> None:
    """Let permissions bind root too, in a process that is about to start."""
    if os.getuid() == 0:
        pr_capbset_drop, cap_dac_override = 24, 1
        assert ctypes.CDLL(None).prctl(pr_capbset_drop, cap_dac_override, 0, 0, 0) == 0


def run(package: Path, **environment: str) -> tuple[str, str]:
    """Run a kernel in a new process; return its counts and folder, and its standard error."""
    kept = dict(os.environ)
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        kept.pop(name, None)
    kept |= {"HOME": "/dev/null", "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ONE_KERNEL],
        env=kept | environment, capture_output=True, text=True, check=True,
        preexec_fn=_obey_permissions,
    )  # fmt: skip
    return done.stdout.strip(), done.stderr


@unix
@pytest.mark.skipif(sys.platform != "linux", reason="drops a capability of Linux")
def test_a_read_only_installation_keeps_kernels_elsewhere(installed, tmp_path):
    make_read_only(installed)
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    for folder in (home, temporary):
        folder.mkdir(mode=0o700)
    found, said = run(installed, HOME=str(home))
    assert found.startswith(f"1 0 {home}/.cache/clasher/")
    assert run(installed, HOME=str(home)) == (found.replace("1 0", "0 1"), said)
    found, _ = run(installed, TMPDIR=str(temporary))  # the home does not exist
    assert found.startswith(f"1 0 {temporary}/clasher-{os.getuid()}/")
    make_read_only(home)
    found, _ = run(installed, HOME=str(home), TMPDIR=str(temporary))
    assert found.startswith(f"0 1 {home}/.cache/clasher/")
    found, _ = run(installed, NUMBA_CACHE_DIR=str(tmp_path / "given"))
    assert found.startswith(f"1 0 {tmp_path}/given/")
    assert said == ""


@unix
@pytest.mark.skipif(sys.platform != "linux", reason="drops a capability of Linux")
def test_a_read_only_installation_that_was_compiled_ahead_compiles_nothing(installed):
    found, _ = run(installed)
    own = installed / "kernels" / "__pycache__"
    assert found == f"1 0 {own}"
    make_read_only(installed)
    assert run(installed) == (f"0 1 {own}", "")


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return a folder of sources that keeps no kernels, a user's cache, and a temporary folder."""
    found = [tmp_path / name for name in ("source", "user", "temporary")]
    for folder in found:
        folder.mkdir(mode=0o700)
    (found[0] / "__pycache__").write_text("a file in the way")
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(found[1]))
    monkeypatch.setattr(tempfile, "tempdir", str(found[2]))
    cache.warn.cache_clear()
    yield found
    cache.warn.cache_clear()


def folder_for(source: Path) -> Path | None:
    return cache.folders.__wrapped__(source).new


@unix
@pytest.mark.skipif(sys.platform == "darwin", reason="reads no XDG_CACHE_HOME")
def test_a_folder_that_others_can_write_to_is_refused(places, caplog):
    source, user, temporary = places
    inside = folder_for(source)
    assert inside.is_relative_to(user / "clasher")
    assert inside.stat().st_mode & 0o777 == 0o700
    for folder in (inside, user / "clasher", user):
        folder.chmod(0o777)
        assert folder_for(source).is_relative_to(temporary / f"clasher-{os.getuid()}")
        folder.chmod(0o700)
    assert set(caplog.messages) == {cache.UNSAFE.format(inside)}
    user.chmod(0o1777)  # sticky, as /tmp: others cannot replace what is in it
    assert folder_for(source) == inside


@unix
@pytest.mark.skipif(sys.platform == "darwin", reason="reads no XDG_CACHE_HOME")
def test_a_link_in_the_place_of_the_folder_is_refused(places):
    source, user, temporary = places
    (temporary / "of another").mkdir()
    (temporary / f"clasher-{os.getuid()}").symlink_to(temporary / "of another")
    (user / "clasher").write_text("a file in the way")
    assert folder_for(source) is None


@unix
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root, to give away")
def test_a_folder_of_another_user_is_refused(places):
    source, user, temporary = places
    inside = folder_for(source)
    os.chown(inside, 12345, -1)
    assert folder_for(source).is_relative_to(temporary)
    os.chown(inside, 0, -1)
    os.chown(user, 12345, -1)
    assert folder_for(source).is_relative_to(temporary)


def test_a_given_folder_may_be_open_but_not_what_is_inside(places, tmp_path, monkeypatch, caplog):
    source, *_ = places
    given = tmp_path / "given"
    monkeypatch.setattr(config, "CACHE_DIR", str(given))
    inside = folder_for(source)
    assert inside.is_relative_to(given)
    if hasattr(os, "getuid"):
        given.chmod(0o777)
        assert folder_for(source) == inside
        inside.chmod(0o777)
        assert not folder_for(source).is_relative_to(given)
        assert caplog.messages == [cache.UNSAFE.format(inside)]


def test_without_any_folder_kernels_are_compiled_and_a_warning_says_so(places, caplog):
    source, user, temporary = places
    for folder in (user, temporary):
        shutil.rmtree(folder)
        folder.write_text("a file in the way")
    assert folder_for(source) is None
    assert folder_for(source) is None
    assert caplog.messages == [cache.NOWHERE]
    assert "NUMBA_CACHE_DIR" in cache.NOWHERE


def test_sources_outside_of_a_folder_are_compiled_and_not_kept(places, caplog):
    kept = cache.Kept(make_read_only, None)
    assert kept.load_overload(None, None) is None
    kept.save_overload(None, None)
    assert kept.cache_path is None
    assert caplog.messages == [cache.NO_SOURCES]


@pytest.mark.parametrize("damaged", ["*.nbi", "*.nbc"])
def test_damaged_files_are_compiled_again(installed, damaged):
    own = installed / "kernels" / "__pycache__"
    assert run(installed)[0] == f"1 0 {own}"
    for path in own.glob(damaged):
        path.write_bytes(b"")
    assert run(installed) == (f"1 0 {own}", "")
    assert run(installed) == (f"0 1 {own}", "")
