"""Shell completion: the proposals, and the scripts of the shells."""

import os
import shlex
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from clasher.cli.commands import COMMANDS, cli
from support.environment import missing

SHELLS = ("bash", "zsh", "fish")


def answer(instruction: str, **words: str) -> list[str]:
    """Return the lines that ``clasher`` answers a shell with."""
    environment = {"_CLASHER_COMPLETE": instruction, **words}
    return CliRunner().invoke(cli, env=environment, prog_name="clasher").stdout.splitlines()


def proposed(shell: str, words: str, incomplete: str) -> list[tuple[str, str]]:
    """Return what a shell proposes: kinds and values."""
    if shell == "fish":
        lines = answer("fish_complete", COMP_WORDS=f"{words} {incomplete}", COMP_CWORD=incomplete)
        return [tuple(line.split("\t")[0].split(",", 1)) for line in lines]
    typed = f"{words} {incomplete}"
    lines = answer(f"{shell}_complete", COMP_WORDS=typed, COMP_CWORD=str(len(words.split())))
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
    script = "\n".join(answer(f"{shell}_source"))
    assert f"_CLASHER_COMPLETE={shell}_complete" in script
    if shutil.which(shell) is None:
        missing(f"there is no {shell}: apt-get install {shell}")
    path = tmp_path / "completion"
    path.write_text(script)
    subprocess.run([shell, "-n", path], check=True)


def test_bash_completes(tmp_path):
    """A shell reads the script, and calls it as if Tab were pressed."""
    program = tmp_path / "clasher"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clasher "$@"\n')
    program.chmod(0o755)
    script = tmp_path / "completion"
    script.write_text("\n".join(answer("bash_source")))
    source = f"source {script}\nCOMP_WORDS=(clasher learn --weig)\nCOMP_CWORD=2\n"
    call = 'COMPREPLY=()\n_clasher_completion clasher\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(
        ["bash", "-c", source + call],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert done.stdout == "--weighting\n"
