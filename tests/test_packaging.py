"""What stands around the code: the container file and the citation say what is so."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import clasher
from clasher import Settings
from clasher.service import default_settings
from support.environment import optional

PROJECT = Path(__file__).parents[1]
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]


def steps() -> list[tuple[str, str]]:
    """The instructions of the container file, comments left out."""
    lines = (PROJECT / "Containerfile").read_text("utf-8").splitlines()
    written = [line for line in lines if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in written)]


def test_the_container_file_copies_what_is_there():
    for word, rest in steps():
        if word == "COPY" and not rest.startswith("--from"):
            for name in rest.split()[:-1]:
                assert (PROJECT / name).exists(), name


def test_the_container_installs_extras_that_there_are():
    (installed,) = (rest for word, rest in steps() if word == "RUN" and "pip install" in rest)
    extras = re.search(r"\[(.+)\]", installed)[1].split(",")
    assert {"cli", "server"} <= set(extras) <= METADATA["optional-dependencies"].keys()


def test_the_container_is_compiled_ahead_for_its_service():
    commands = [rest for word, rest in steps() if word == "RUN" and "warmup" in rest]
    assert commands[0].endswith("clasher warmup --words --detector window")
    assert default_settings() == Settings(words=True, detector="window")


def test_the_container_runs_as_a_user_of_its_own():
    assert [rest for word, rest in steps() if word == "USER"] == ["clasher"]


def test_what_the_container_runs_is_a_command(tmp_path):
    """It refuses to listen to others while nobody has a token: all options were understood."""
    optional("starlette", "server")
    found = dict(steps())
    command = [*json.loads(found["ENTRYPOINT"]), *json.loads(found["CMD"])]
    assert command[0] == "clasher"
    own = [part.replace("/data", str(tmp_path)) for part in command[1:]]
    done = subprocess.run(
        [sys.executable, "-m", "clasher", *own], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "token" in done.stderr


def test_the_container_asks_for_its_health_at_its_port():
    health = next(rest for word, rest in steps() if word == "HEALTHCHECK")
    assert f"http://127.0.0.1:{dict(steps())['EXPOSE']}/healthz" in health
    command = json.loads(health[health.index("CMD ") + 4 :])
    compile(command[-1], "HEALTHCHECK", "exec")
    assert shlex.join(command).startswith("python -c")


def test_the_version_stands_in_one_place():
    assert METADATA["dynamic"] == ["version"]
    source = (PROJECT / "src" / "clasher" / "version.py").read_text("utf-8")
    assert f'__version__ = "{clasher.__version__}"' in source
    assert clasher.__version__ not in (PROJECT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("said", ["Ñanculef", "Flaounas", "Cristianini", "by Clashing", "2014"])
def test_the_citation_names_the_paper(said):
    assert said in (PROJECT / "CITATION.cff").read_text("utf-8")
