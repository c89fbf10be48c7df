"""Shell completion: what is proposed, and the scripts that ask for it."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest

from clasher.cli.main import COMMANDS
from support.environment import missing

SHELLS = ("bash", "zsh", "fish")


def asked(instruction: str, **words: str) -> list[str]:
    """The lines that ``clasher`` answers a shell with."""
    environment = os.environ | {"_CLASHER_COMPLETE": instruction} | words
    done = subprocess.run(
        [sys.executable, "-m", "clasher"], capture_output=True, text=True, env=environment
    )
    assert not done.stderr
    return done.stdout.splitlines()


def proposed(shell: str, words: str, incomplete: str) -> list[tuple[str, str]]:
    """What a shell is told to propose: its kind and its value."""
    if shell == "fish":
        lines = asked("fish_complete", COMP_WORDS=f"{words} {incomplete}", COMP_CWORD=incomplete)
        return [tuple(line.split("\t")[0].split(",", 1)) for line in lines]
    typed = f"{words} {incomplete}"
    lines = asked(f"{shell}_complete", COMP_WORDS=typed, COMP_CWORD=str(len(words.split())))
    if shell == "zsh":  # a line each: kind, value, help
        return list(zip(lines[::3], lines[1::3], strict=True))
    return [tuple(line.split(",", 1)) for line in lines]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_choices_and_files_are_proposed(shell):
    assert [value for _, value in proposed(shell, "clasher", "e")] == ["evaluate", "explain"]
    assert [value for _, value in proposed(shell, "clasher datasets", "re")] == ["read"]
    assert ("plain", "--dimensions") in proposed(shell, "clasher learn", "--dim")
    assert ("plain", "centroid") in proposed(shell, "clasher learn --rule", "c")
    assert [kind for kind, _ in proposed(shell, "clasher learn", "ne")] == ["file"]
    assert [kind for kind, _ in proposed(shell, "clasher predict --model", "ne")] == ["file"]


def test_every_command_is_proposed():
    assert {value for _, value in proposed("bash", "clasher", "")} == set(COMMANDS)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_parses(shell, tmp_path):
    script = "\n".join(asked(f"{shell}_source"))
    assert f"_CLASHER_COMPLETE={shell}_complete" in script
    if shutil.which(shell) is None:
        missing(f"there is no {shell}: apt-get install {shell}")
    path = tmp_path / "completion"
    path.write_text(script)
    subprocess.run([shell, "-n", path], check=True)


def test_bash_completes(tmp_path):
    """The whole way: the script is read by a shell, which asks as it does when Tab is pressed."""
    program = tmp_path / "clasher"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clasher "$@"\n')
    program.chmod(0o755)
    script = tmp_path / "completion"
    script.write_text("\n".join(asked("bash_source")))
    source = f"source {script}\nCOMP_WORDS=(clasher learn --weig)\nCOMP_CWORD=2\n"
    answer = 'COMPREPLY=()\n_clasher_completion clasher\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(
        ["bash", "-c", source + answer],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.stdout == "--weighting\n"
