"""Connectors of other packages: found by their entry points, and built as the recipe says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from clasher.errors import ClasherError, SettingError
from clasher.io.connectors.files import FileSource
from clasher.io.registry import CONNECTORS, plugin_schemes, sink_at, source_at

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'```\w+ title="([^"]+)"\n(.*?)```', re.DOTALL)
GOOD = "from clasher.io import *\nfrom clasher.io.connectors.files import FileSource\n"


def install(folder, entry_points, name="clasher-other", version="1.0"):
    """Write what pip leaves of an installed package."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{scheme} = {value}" for scheme, value in entry_points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[clasher.connectors]", *lines]) + "\n")


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Install a module as the connector of a scheme."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def write(code, scheme="other", name="clasher-other"):
        made.append(f"plugin_{tmp_path.name}_{len(made)}".replace("-", "_"))
        (tmp_path / f"{made[-1]}.py").write_text(code)
        install(tmp_path, {scheme: f"{made[-1]}:connector"}, name)
        monkeypatch.syspath_prepend(tmp_path)  # the same folder once more: look again
        return made[-1]

    return write


def test_a_scheme_of_a_plugin_is_read(plugin):
    name = plugin(GOOD + "connector = Connector(source=lambda a, f: FileSource(a, f))")
    assert plugin_schemes() == ["other"]
    assert name not in sys.modules  # nothing is imported before it is needed
    assert isinstance(source_at("other://host/news.jsonl"), FileSource)
    with pytest.raises(SettingError, match="nothing writes to 'other'; known are a path, -, file:"):
        sink_at("other://host/x")


def test_classes_may_be_named_as_text(plugin):
    plugin(GOOD + "connector = Connector('clasher.io.connectors.files:FileSource')")
    assert isinstance(source_at("other://host/news.jsonl"), FileSource)


def test_an_unknown_scheme_lists_those_of_plugins(plugin):
    plugin("raise RuntimeError('not imported for a list')")
    with pytest.raises(SettingError, match=r"nothing reads from 'mqtt'; .*nats:, other:, redis:"):
        source_at("mqtt://host/x")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
        ("raise RuntimeError('two\\nlines')", "cannot be imported: RuntimeError: two lines"),
        ("def", "cannot be imported: SyntaxError"),
        ("", "AttributeError: module '.*' has no attribute 'connector'"),
        ("connector = 7", "names .*:connector as its connector, which is no clasher.io.Connector"),
        (
            GOOD + "connector = Connector('nothing_of_that_name:Source', extra='tls')",
            r"No module named 'nothing_of_that_name'; pip install 'clasher-other\[tls\]'",
        ),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_named_in_one_line(plugin, code, message):
    plugin(code)
    with pytest.raises(ClasherError, match=message) as error:
        source_at("other://host/x")
    assert str(error.value).startswith("other://: the package clasher-other 1.0 ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("scheme", [scheme for scheme in CONNECTORS if scheme != "-"])
def test_our_own_schemes_cannot_be_taken(plugin, scheme):
    plugin(GOOD + "connector = Connector(source=print)", scheme)
    with pytest.raises(SettingError, match=f"provide '{scheme}': clasher, clasher-other 1.0; unin"):
        source_at(f"{scheme}://host/x")


def test_two_plugins_of_one_scheme_are_refused(plugin):
    for name in ("clasher-one", "clasher-two"):
        plugin(GOOD + "connector = Connector(source=print)", name=name)
    with pytest.raises(SettingError, match=r"clasher-(one|two) 1.0, clasher-(one|two) 1.0; uninst"):
        source_at("other://host/x")


# ── the recipe of CONTRIBUTING.md ───────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package of the recipe, installed."""
    folder = tmp_path_factory.mktemp("countdown")
    for name, code in BLOCK.findall((ROOT / "CONTRIBUTING.md").read_text()):
        (folder / name).write_text(code)
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    install(
        folder, project["entry-points"]["clasher.connectors"], project["name"], project["version"]
    )
    return folder


def run(package, *command):
    path = os.pathsep.join([str(ROOT / "src"), str(package)])
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=package, env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_the_package_of_the_recipe_passes_its_own_test(package):
    done = run(package, "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    passed, skipped = map(int, re.findall(r"(\d+) (?:passed|skipped)", done.stdout))
    assert passed >= 5
    assert skipped >= 1


def test_the_package_of_the_recipe_is_run(package):
    done = run(
        package, "clasher", "run", "--from", "countdown://ten", "--to", "-", "--model", "ten"
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(10, 0, -1))
    assert "countdown://" in run(package, "clasher", "run", "--help").stdout
    wrong = run(package, "clasher", "run", "--from", "countdown://zero", "--model", "zero")
    assert "write countdown://ten" in wrong.stderr
