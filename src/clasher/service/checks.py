"""Check requests before they are written, so that the log holds only entries that can be learnt."""

from collections.abc import Iterable, Sequence

from clasher.errors import LabelError, RefusedError, SettingError, TextError
from clasher.runtime.judged import Labels
from clasher.service.log import Taught
from clasher.service.state import ServiceState
from clasher.service.structs import Document
from clasher.text import label_names

LONGEST_NAME = 1024  # characters of an id, a key or a person's name


def check_documents(documents: Iterable[Document]) -> None:
    """Refuse invalid texts and ids."""
    for place, document in enumerate(documents):
        check_text(document.text, f"document {place}: ")
        if document.id is not None:
            check_name("id", document.id)


def taught(documents: Sequence[Document]) -> list[Taught]:
    """Return documents as the log holds them; refuse one that cannot be learnt."""
    check_documents(documents)
    return [
        Taught(one.text, _normal_labels(one.labels, f"document {place}: "), one.id)
        for place, one in enumerate(documents)
    ]


def check_labels(labels: Labels) -> list[str] | dict[str, bool]:
    """Return the normalised labels of an answer; refuse null and values of the wrong type."""
    checked = _normal_labels(labels)
    if checked is None:
        raise LabelError("an answer needs labels; send [] if the document has none")
    return checked


def _normal_labels(labels: object, where: str = "") -> Labels:
    """Refuse what ``clasher.LabelSets`` refuses, without making arrays for one document."""
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
    """Refuse a value that is not text, or cannot be encoded."""
    if not isinstance(text, str):
        raise TextError(f"{where}must be text (str). Got {type(text).__name__} instead.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise TextError(f"{where}has a lone surrogate at character {error.start}") from error


def check_name(what: str, name: object) -> None:
    """Refuse an invalid id, key or name of a person."""
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME:
        raise SettingError.of(what, f"text of 1 to {LONGEST_NAME} characters", name, "Engine")
    check_text(name, f"{what} ")


def check_room(state: ServiceState, labels: Iterable[Labels]) -> None:
    """Refuse more labels than there is room for before anything is written."""
    settings, most = state.model.settings, state.model.most_labels
    if settings.on_full != "error":
        return
    known = state.labels.numbers
    new = {state.labels.now(name) for some in labels for name in some or ()} - known.keys()
    if len(known) + len(new) > most:
        raise RefusedError(
            f"{len(new)} new labels would make {len(known) + len(new)}, but "
            f"{state.model.label_limit} by rebuilding the model (clasher replay), or retire or "
            f"merge some"
        )
