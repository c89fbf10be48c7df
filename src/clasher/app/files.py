"""The files a command writes: looked at before the work, written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from clasher.errors import SettingError

STANDARD_STREAM = "-"


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str] = ()) -> None:
    """Refuse, before the work begins, files that could not be replaced after it.

    Parameters
    ----------
    outputs
        The file of each option, None where it was not given.
    inputs
        The files of the stream.
    """
    keep_inputs(outputs, inputs)
    for option, path in outputs.items():
        if path is None or path == STANDARD_STREAM:
            continue
        folder = os.path.dirname(os.path.realpath(path))
        device = os.path.exists(path) and not os.path.isfile(path)
        if os.path.isdir(path):
            raise SettingError(f"{option} {path}: is a directory; name a file in it")
        if not os.path.isdir(folder):
            raise SettingError(f"{option} {path}: there is no directory {folder}")
        if not os.access(path if device else folder, os.W_OK):
            raise SettingError(f"{option} {path}: cannot be written, permission denied")


def keep_inputs(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Refuse to write to a file that is being read, or to a standard output that is closed."""
    for option, path in outputs.items():
        if path == STANDARD_STREAM and sys.stdout is None:
            raise SettingError(f"{option} -: there is no standard output; name a file")
        if path is not None and any(_are_same(path, given) for given in inputs):
            raise SettingError(f"{option} {path}: is a file of the stream, and would destroy it")


def _are_same(path: str, other: str) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def check_model_file(option: str, path: str) -> None:
    """Refuse to replace what is no ordinary file, a device for instance, by a model."""
    check_outputs({option: path})
    if os.path.exists(path) and not os.path.isfile(path):
        raise SettingError(f"{option} {path}: is not an ordinary file")


def write_json(path: str, value: Mapping[str, Any]) -> None:
    """Write a JSON text to a file, or to standard output where the path is ``-``."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_STREAM:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_whole(path, text)


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by ``text``, so that nobody ever sees half of it."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):  # a device, a named pipe
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        return
    scratch = f"{target}.{secrets.token_hex(4)}.tmp"
    try:
        with open(scratch, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, target)
    finally:
        if os.path.exists(scratch):
            os.unlink(scratch)
