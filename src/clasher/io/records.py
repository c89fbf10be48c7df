"""What a record is made of, and how many of them become a batch.

A record has a text, labels and an id. Labels are a list of text, a mapping label → bool, null for
an unlabelled document, or one text, which ``clasher.io.cells`` reads: a list, or names with a
separator between them. Blanks around a label are stripped and empty pieces dropped. A blank text
means unlabelled too, for that is how CSV writes null; a lone separator says "labelled, with
nothing".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from clasher.errors import SettingError
from clasher.io import cells
from clasher.label_columns import UNLABELLED
from clasher.labels import LabelSets

Id: TypeAlias = int | str
LabelValue: TypeAlias = list[str] | dict[str, bool] | None

_LABEL_COLUMN: Final = pa.large_list(pa.large_string())


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a record hold what.

    A dot reaches into nested fields (``payload.body``); a field of that very name goes first.

    Parameters
    ----------
    text
        The field of the text; ``None`` for a stream of labels alone, whose texts are empty.
    labels
        The field of the labels; not looked at when the stream is read without labels.
    id
        The field of the id. A record without one gets its running number in the stream, counted
        from 1; ``None`` numbers them all.
    separator
        What stands between labels that are written as one text. ``None``: texts may be JSON or
        Python lists, and ``|`` separates; ``open_stream`` also finds out about ``;`` and ``,``.
    labels_json
        Labels that are written as one text are JSON, nothing else.

    Examples
    --------
    >>> Fields(text="payload.body", separator=",").split("oil, gold,")
    ['oil', 'gold']
    """

    text: str | None = "text"
    labels: str = "labels"
    id: str | None = "id"
    separator: str | None = None
    labels_json: bool = False

    def __post_init__(self) -> None:
        for parameter in ("text", "labels", "id", "separator"):
            value = getattr(self, parameter)
            if value is None and parameter != "labels":
                continue
            if not isinstance(value, str) or not value:
                raise SettingError(
                    f"the {parameter!r} of a stream must be non-empty text. Got {value!r} instead."
                )
        if self.labels_json and self.separator is not None:
            raise SettingError(
                f"labels are JSON (--labels-json) or separated by {self.separator!r} "
                f"(--label-separator), not both; leave one out"
            )
        if len({self.text, self.labels, self.id}) < 3:
            raise SettingError(
                f"text, labels and id must be different fields. Got {self.text!r}, "
                f"{self.labels!r} and {self.id!r}."
            )

    def split(self, text: str, found: str | None = None) -> LabelValue:
        """Read the labels in one text; None, unlabelled, where it is blank.

        ``found`` separates labels where nothing was said; without it, a text that may hold
        several labels is refused.
        """
        value = self.listed(text)
        if not isinstance(value, str):
            return value
        if found is None:
            cells.refuse_doubtful(value)
        return cells.split(value, found or cells.DEFAULT_SEPARATOR)

    def listed(self, text: str) -> LabelValue | str:
        """Read one text as far as that needs no look at others; else return it as it is.

        >>> Fields().listed('["oil"]'), Fields().listed("oil;gas"), Fields().listed(" ")
        (['oil'], 'oil;gas', None)
        """
        if not text or text.isspace():
            return None
        if self.separator is not None:
            return cells.split(text, self.separator)
        return cells.read_json(text) if self.labels_json else cells.read_list(text)


class Record(NamedTuple):
    """One record whose values were found good; no id means its running number.

    Labels are text where it is not known yet how to split it.
    """

    id: Id | None
    text: str
    labels: LabelValue | str


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive records of a stream.

    Attributes
    ----------
    ids : list of int or str
    texts : pyarrow.LargeStringArray
    labels : LabelSets
        All unlabelled when the stream is read without labels.

    Examples
    --------
    >>> batch = Batch.of([7], ["oil prices rise"], ["oil|energy"], Fields())
    >>> len(batch), batch.labels[0] == {"energy", "oil"}
    (1, True)
    """

    ids: list[Id]
    texts: pa.LargeStringArray
    labels: LabelSets

    @classmethod
    def of(
        cls,
        ids: list[Id],
        texts: Sequence[str],
        labels: Sequence[LabelValue | str] | None,
        fields: Fields,
    ) -> Batch:
        """Make a batch of columns whose values are known to be good."""
        if labels is None:
            sets = unlabelled(len(ids))
        else:
            sets = label_sets(labels, fields)
        return cls(ids, pa.array(texts, pa.large_string()), sets)

    @classmethod
    def of_records(cls, records: Sequence[Record], fields: Fields, *, labelled: bool) -> Batch:
        """Make a batch of records that were judged one by one and have their ids."""
        ids: list[Any] = [record.id for record in records]
        labels = [record.labels for record in records] if labelled else None
        return cls.of(ids, [record.text for record in records], labels, fields)

    def only(self, places: Sequence[int]) -> Batch:
        """The records at some places.

        >>> Batch.of([7, 8], ["oil", "gold"], None, Fields()).only([1]).ids
        [8]
        """
        return Batch(
            [self.ids[at] for at in places],
            self.texts.take(pa.array(places, pa.int64())),
            LabelSets.of([self.labels.as_given(at) for at in places]),
        )

    @classmethod
    def empty(cls) -> Batch:
        """A batch without records."""
        return cls([], pa.array([], pa.large_string()), unlabelled(0))

    def __len__(self) -> int:
        return len(self.ids)


def unlabelled(documents: int) -> LabelSets:
    """The labels of ``documents`` documents of which nothing is known."""
    return LabelSets(
        [],
        np.zeros(0, np.int32),
        np.zeros(documents + 1, np.int64),
        known=np.full(documents, UNLABELLED, np.uint8),
    )


def label_sets(labels: Sequence[LabelValue | str], fields: Fields) -> LabelSets:
    """A column of label values as label sets, by way of Arrow unless there are mappings."""
    kinds = set(map(type, labels))
    if str in kinds:
        labels = [fields.split(value) if isinstance(value, str) else value for value in labels]
    return LabelSets.of(labels if dict in kinds else pa.array(labels, _LABEL_COLUMN))


def numbered(ids: Sequence[Id | None], spare: Iterable[Id]) -> list[Id]:
    """Give the records without an id theirs of ``spare``, which has one for each record.

    >>> from itertools import count
    >>> numbered(["a", None, 7], count(10))
    ['a', 11, 7]
    """
    if None not in ids:
        return list(ids)  # type: ignore[arg-type]
    return [other if own is None else own for own, other in zip(ids, spare, strict=False)]
