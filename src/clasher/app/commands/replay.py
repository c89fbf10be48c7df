"""``clasher replay``: a model from what was taught to a service, with other settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from clasher.app import notes
from clasher.app.figures import bytes_, counted
from clasher.app.files import STANDARD_STREAM, check_model_file, check_outputs
from clasher.app.options import Command, model_option, quiet_option
from clasher.app.wanted import Wanted, settings_options

if TYPE_CHECKING:
    from clasher.service.state import State
    from clasher.service.structs import Lesson

EXAMPLES = """
    clasher replay ./my-clasher --model better.clasher --half-life 20000
    clasher log ./my-clasher | clasher replay - -m small.clasher --dimensions 8192
"""


@click.command(
    "replay",
    cls=Command,
    examples=EXAMPLES,
    short_help="Rebuild a model from what was taught to a service.",
)
@click.argument("source", metavar="FOLDER|FILE")
@model_option("The model file to write.")
@settings_options
@quiet_option
def command(source: str, model_path: str, wanted: Wanted, quiet: bool) -> None:
    """Teach a new model all that was taught to a service, in order.

    FOLDER is the data folder of a service that does not run, FILE what clasher
    log wrote, or - for standard input. Every document is predicted before it is
    learnt: the figures tell how good a service with these settings would have
    been.
    """
    check_outputs({"--model": model_path}, [source])
    check_model_file("--model", model_path)
    from clasher.service.replaying import replay
    from clasher.service.state import State

    state = State(wanted.create())
    notes.prepare(state.model.settings, quiet=quiet)
    with _lessons(source) as lessons:
        done = replay(lessons, state)
    if not done.lessons:
        notes.say(f"nothing was taught in {source}; {model_path} is as it was", quiet=quiet)
        return
    state.model.save(model_path)
    if done.passed_over:
        notes.warn(f"passed over {counted(done.passed_over, 'lesson')}; the first: {done.first}")
    notes.say(_summary(state, done.lessons, model_path), quiet=quiet)


@contextmanager
def _lessons(source: str) -> Iterator[Iterator[Lesson]]:
    from clasher.service.lessons import read_folder, read_lines

    if source == STANDARD_STREAM:
        yield read_lines(sys.stdin.buffer, source)
    elif os.path.isdir(source):
        yield read_folder(source)
    else:
        with open(source, "rb") as file:
            yield read_lines(file, source)


def _summary(state: State, lessons: int, path: str) -> str:
    from clasher.service.quality import figures

    quality = figures(state.quality.all)
    return (
        f"learnt {counted(lessons, 'lesson')}, macro F1 {quality.macro_f1.value:.3f}, micro F1 "
        f"{quality.micro_f1.value:.3f} over {counted(quality.documents, 'judged document')}; saved "
        f"{path}: {counted(len(state.model.labels), 'label')}, {bytes_(os.path.getsize(path))}"
    )
