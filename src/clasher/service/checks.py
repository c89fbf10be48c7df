"""What may be said: checked before it is written, so that the log holds nothing that cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clasher.errors import LabelError, RefusedError, SettingError, TextError
from clasher.runtime.judged import Labels
from clasher.service.log import Taught
from clasher.service.state import State
from clasher.service.structs import Document
from clasher.text import label_names

LONGEST_NAME = 1024  # characters of an id, of a key, of who


def taught(documents: Sequence[Document]) -> list[Taught]:
    """Documents as the log holds them; raises where one cannot be learnt."""
    checked: list[Taught] = []
    for place, document in enumerate(documents):
        check_text(document.text, f"document {place}: ")
        if document.id is not None:
            check_name("id", document.id)
        labels = _check_labels(document.labels, f"document {place}: ")
        checked.append(Taught(document.text, labels, document.id))
    return checked


def check_labels(labels: Labels) -> list[str] | dict[str, bool]:
    """Normalise the labels of an answer; refuse unknown ones and those of the wrong kind."""
    checked = _check_labels(labels)
    if checked is None:
        raise LabelError("an answer needs labels: [] says that there are none, null says nothing")
    return checked


def _check_labels(labels: object, where: str = "") -> Labels:
    """Refuse what ``clasher.LabelSets`` refuses, without making arrays of one document."""
    if labels is None:
        return None
    if not isinstance(labels, list | tuple | set | frozenset | dict):
        raise LabelError(
            f"{where}labels must be a list of text, a mapping label → bool, or null. Got "
            f"{labels!r} instead."
        )
    if not isinstance(labels, dict):
        return list(dict.fromkeys(label_names.check_name(name, where) for name in labels))
    for name, yes in labels.items():
        if not isinstance(yes, bool):
            raise LabelError(
                f"{where}label {name!r} must be True or False, leave unknown labels out. Got "
                f"{yes!r} instead."
            )
    return label_names.normal_states(labels, where)


def check_text(text: object, where: str = "") -> None:
    """Refuse what is not text, or cannot be written as such."""
    if not isinstance(text, str):
        raise TextError(f"{where}must be text (str). Got {type(text).__name__} instead.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(f"{where}has a lone surrogate at character {error.start}") from error


def check_name(what: str, name: object) -> None:
    """Refuse an id, a key or the name of a person that cannot be one."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise SettingError.of(what, f"text of 1 to {LONGEST_NAME} characters", name, "Engine")
    check_text(name, f"{what} ")


def check_room(state: State, labels: Iterable[Labels]) -> None:
    """Refuse labels past ``max_labels`` before anything is written."""
    settings = state.model.settings
    if settings.on_full != "error":
        return
    names = {state.labels.now(name) for some in labels for name in some or ()}
    new = names - state.labels.numbers.keys()
    if len(state.labels.numbers) + len(new) > settings.max_labels:
        raise RefusedError(
            f"{len(new)} new labels would make {len(state.labels.numbers) + len(new)}, and "
            f"max_labels is {settings.max_labels}; retire or merge some, or rebuild the model with "
            f"more: clasher replay"
        )
