"""Functions of the user's own, named as ``module:function``."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from clasher.errors import SettingError


def load_function(name: str) -> Callable[..., Any]:
    """Import a function; the current folder counts.

    >>> load_function("json:loads")(b"[1]")
    [1]
    >>> load_function("json")
    Traceback (most recent call last):
    clasher.errors.SettingError: 'json' is not of the form module:function.
    """
    module, _, path = name.partition(":")
    if not module or not path:
        raise SettingError(f"{name!r} is not of the form module:function.")
    sys.path.insert(0, os.getcwd())
    try:
        function: Any = importlib.import_module(module)
        for part in path.split("."):
            function = getattr(function, part)
    except (ImportError, AttributeError) as error:
        raise SettingError(f"{name!r} cannot be imported: {error}.") from error
    finally:
        sys.path.remove(os.getcwd())
    if not callable(function):
        raise SettingError(f"{name!r} is no function.")
    return function  # type: ignore[no-any-return]
