"""Label sets as arrays, and the index of labels that grows with the stream.

A label of a document is yes, no or unknown: a set means "these labels and no others", a mapping
label → bool leaves the other labels unknown, ``None`` means unlabelled. Many documents may be given
as a Python iterable of these, or as an Arrow, pandas or polars column of lists or mappings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import repeat
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clasher.errors import LabelCapacityError, LabelError, nearest
from clasher.kernels.labels import number
from clasher.text.label_names import check_name, contradiction, normal_name
from clasher.text.tokens import arrow_chunks, plain_text

UNLABELLED, COMPLETE, PARTIAL = 0, 1, 2  # how much is known of a document's labels

Labels: TypeAlias = Set[str] | Sequence[str] | Mapping[str, bool] | None  # of one document


class LabelSets(Sequence[set[str]]):
    """The label sets of many documents: a list of sets, stored as arrays.

    Parameters
    ----------
    names
        The names of the label numbers.
    ids : int32 array
        The label numbers of all documents.
    indptr : int64 array
        Document ``d`` has ``ids[indptr[d]:indptr[d + 1]]``.
    yes : bool array, optional
        Whether each of ``ids`` is a yes; only partial labels have a no.
    known : uint8 array, optional
        UNLABELLED, COMPLETE or PARTIAL for each document.

    Examples
    --------
    >>> sets = LabelSets.of([{"wheat", "grain"}, None, {"oil": True, "gold": False}])
    >>> sets[0] == {"grain", "wheat"}, sets[1], sets[2]
    (True, set(), {'oil'})
    >>> sets.known.tolist()
    [1, 0, 2]
    """

    __slots__ = ("_used", "ids", "indptr", "known", "names", "yes")

    def __init__(
        self,
        names: Sequence[str],
        ids: npt.NDArray[np.int32],
        indptr: npt.NDArray[np.int64],
        yes: npt.NDArray[np.bool_] | None = None,
        known: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        self.names = names
        self.ids = ids
        self.indptr = indptr
        self.yes = np.ones(len(ids), np.bool_) if yes is None else yes
        self.known = np.full(len(indptr) - 1, COMPLETE, np.uint8) if known is None else known
        self._used: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, labels: Any, documents: int | None = None) -> LabelSets:
        """Read the labels of many documents; refuse them if their number is not ``documents``.

        Names are numbered by first document, then by text, so that a stream has the same numbers
        however it is stored.
        """
        sets = labels if isinstance(labels, LabelSets) else _read(labels)
        if documents is not None and documents != len(sets):
            raise LabelError(
                f"every document needs an entry of labels, None where it has none. "
                f"Got {documents} documents and {len(sets)} entries of labels."
            )
        return sets

    @classmethod
    def join(cls, parts: Sequence[LabelSets]) -> LabelSets:
        """Concatenate label sets, which may number their labels differently."""
        if len(parts) < 2:
            return parts[0] if parts else cls.unlabelled(0)
        names, ids = parts[0].names, [part.ids for part in parts]
        if any(part.names is not names for part in parts):  # parts of one model share their names
            numbers: dict[str, int] = {}
            for at, part in enumerate(parts):
                if not at or part.names is not parts[at - 1].names:
                    own = [numbers.setdefault(name, len(numbers)) for name in part.names]
                    renumber = np.array(own, np.int32)
                ids[at] = renumber[part.ids]
            names = list(numbers)
        lengths = [np.diff(part.indptr) for part in parts]
        return cls(
            names,
            np.concatenate(ids),
            np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths])),
            np.concatenate([part.yes for part in parts]),
            np.concatenate([part.known for part in parts]),
        )

    @classmethod
    def unlabelled(cls, documents: int) -> LabelSets:
        """Return the label sets of unlabelled documents."""
        nothing = np.zeros(documents + 1, np.int64)
        return cls([], np.zeros(0, np.int32), nothing, None, np.zeros(documents, np.uint8))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @overload
    def __getitem__(self, index: int) -> set[str]: ...
    @overload
    def __getitem__(self, index: slice) -> LabelSets: ...
    def __getitem__(self, index: int | slice) -> set[str] | LabelSets:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise LabelError("label sets can be sliced with a step of 1 only")
            if start == 0 and stop == len(self):
                return self
            stop = max(start, stop)
            bounds = self.indptr[start : stop + 1]
            inside = slice(int(bounds[0]), int(bounds[-1]))
            own = self.ids[inside], bounds - bounds[0], self.yes[inside], self.known[start:stop]
            return LabelSets(self.names, *own)
        index = range(len(self))[index]
        inside = slice(int(self.indptr[index]), int(self.indptr[index + 1]))
        return {self.names[i] for i in self.ids[inside][self.yes[inside]]}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(s) for s, _ in zip(self, range(3), strict=False))
        return f"LabelSets([{shown}{', …' if len(self) > 3 else ''}], documents={len(self)})"

    def as_given(self, document: int) -> Labels:
        """Return the labels of one document in a form that a model takes."""
        if self.known[document] == UNLABELLED:
            return None
        if self.known[document] == COMPLETE:
            return self[document]
        own = self[document : document + 1]
        return {self.names[i]: yes for i, yes in zip(own.ids, own.yes.tolist(), strict=True)}

    def only(self, kept: npt.NDArray[np.bool_]) -> LabelSets:
        """Keep the labels of some documents; the others become unlabelled."""
        lengths = np.diff(self.indptr)
        entries = np.repeat(kept, lengths)
        indptr = np.concatenate(([0], np.cumsum(lengths * kept)))
        known = np.where(kept, self.known, UNLABELLED).astype(np.uint8)
        return LabelSets(self.names, self.ids[entries], indptr, self.yes[entries], known)

    @property
    def documents(self) -> npt.NDArray[np.int64]:
        """The document number of each entry of ``ids``."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    @property
    def used(self) -> npt.NDArray[np.int64]:
        """The numbers of the labels that documents name, ascending."""
        if self._used is None:
            self._used = np.flatnonzero(np.bincount(self.ids, minlength=len(self.names)))
        return self._used

    def renumbered(self, number: Callable[[str], int]) -> npt.NDArray[np.int64]:
        """Return another number for each label that documents name, by its name, else 0."""
        numbers, used = np.zeros(len(self.names), np.int64), self.used
        numbers[used] = [number(self.names[i]) for i in used.tolist()]
        return numbers

    def to_arrow(self) -> pa.ListArray:
        """Return the positive labels as an Arrow list column, null for unlabelled documents."""
        ends = np.concatenate(([0], np.cumsum(self.yes)))[self.indptr].astype(np.int32)
        ids, names = pa.array(self.ids[self.yes], pa.int32()), pa.array(self.names, pa.string())
        values = pa.DictionaryArray.from_arrays(ids, names).cast(pa.string())
        nulls = pa.array(self.known == UNLABELLED)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=nulls)


class Rankings(Sequence[list[str]]):
    """The best labels of many documents, in order: a list of lists, stored as arrays.

    Parameters
    ----------
    sets : LabelSets
        The ranked labels; ``ids`` lists those of each document from the best on.

    Examples
    --------
    >>> rankings = Rankings.of([["oil", "gold", "corn"], []])
    >>> rankings[0], rankings[1]
    (['oil', 'gold', 'corn'], [])
    """

    __slots__ = ("sets",)

    def __init__(self, sets: LabelSets) -> None:
        self.sets = sets

    @classmethod
    def of(cls, rankings: Any, documents: int | None = None) -> Rankings:
        """Read the rankings of many documents: lists of labels, the best first, or None."""
        if isinstance(rankings, Rankings):
            return cls(LabelSets.of(rankings.sets, documents))
        if arrow_chunks(rankings) is None and isinstance(rankings, Iterable):
            rankings = list(rankings)
            for document, entry in enumerate(rankings):
                if not isinstance(entry, Sequence | np.ndarray | None) or isinstance(entry, str):
                    raise LabelError(
                        f"document {document}: a ranking must be a list of labels, the best "
                        f"first. Got {entry!r} instead."
                    )
        return cls(LabelSets.of(rankings, documents))

    @classmethod
    def numbered(cls, names: Sequence[str], ids: npt.NDArray[np.int32]) -> Rankings:
        """Read label numbers [documents, k], the best first; −1 where a document has fewer."""
        ranked = ids >= 0
        indptr = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(ranked.sum(axis=1), out=indptr[1:])
        return cls(LabelSets(names, ids[ranked], indptr))

    @classmethod
    def join(cls, parts: Sequence[Rankings]) -> Rankings:
        """Concatenate rankings, which may number their labels differently."""
        return cls(LabelSets.join([part.sets for part in parts]))

    def __len__(self) -> int:
        return len(self.sets)

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice) -> Rankings: ...
    def __getitem__(self, index: int | slice) -> list[str] | Rankings:
        if isinstance(index, slice):
            return Rankings(self.sets[index])
        index = range(len(self))[index]
        inside = slice(int(self.sets.indptr[index]), int(self.sets.indptr[index + 1]))
        return [self.sets.names[i] for i in self.sets.ids[inside]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(s) for s, _ in zip(self, range(3), strict=False))
        return f"Rankings([{shown}{', …' if len(self) > 3 else ''}], documents={len(self)})"

    def to_arrow(self) -> pa.ListArray:
        """Return the rankings as an Arrow list column."""
        return self.sets.to_arrow()


class LabelIndex:
    """The numbers of labels, which grow as labels appear."""

    def __init__(self, most: int, names: Iterable[str] = (), setting: str = "max_labels") -> None:
        self.most = most
        self._setting = setting
        self.names: list[str] = list(names)
        self.numbers: dict[str, int] = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    @property
    def limit(self) -> str:
        """What limits the number of labels, and how to raise it."""
        is_given = self._setting == "max_labels"
        limit = f"{self._setting} {'is' if is_given else 'has room for'} {self.most}"
        return f"{limit}{'' if is_given else ' labels'}; raise {self._setting}"

    def number(self, name: str) -> int:
        """Return the number of a label; for an unknown one suggest the nearest name."""
        if name not in self.numbers and isinstance(name, str):
            name = normal_name(name)
        if name not in self.numbers:
            near = nearest(str(name), self.names)
            hint = f"; did you mean {near!r}?" if near else ""
            raise LabelError(f"the model knows no label {name!r}{hint}")
        return self.numbers[name]

    def unknown(self, sets: LabelSets) -> list[str]:
        """Return the names that have no number yet, by first document, then by text."""
        if all(sets.names[i] in self.numbers for i in sets.used.tolist()):
            return []
        names = (name for _, name, _ in _by_first(sets.names, sets.ids, sets.indptr))
        return list(dict.fromkeys(name for name in names if name not in self.numbers))

    def check(self, sets: LabelSets, evicting: bool = False) -> LabelSets:
        """Refuse new names that do not fit; if ``evicting``, only too many in one document."""
        most = self.most
        if len(self) + len(sets.names) <= most:
            return sets
        new = [] if evicting else self.unknown(sets)
        if len(self) + len(new) > most:
            raise LabelCapacityError(
                f"label {new[most - len(self)]!r} would be number {most + 1}, and {self.limit}, or "
                f"set on_full='evict' to evict the label unseen for longest"
            )
        for document in np.flatnonzero(np.diff(sets.indptr) > most):
            own = len(np.unique(sets.ids[sets.indptr[document] : sets.indptr[document + 1]]))
            if own > most:
                what = f"document {document} has {own} labels, and {self.limit}"
                raise LabelCapacityError(what)
        return sets

    def extend(self, names: Iterable[str]) -> None:
        for name in names:
            self.numbers[name] = len(self.names)
            self.names.append(name)

    def replace(self, number: int, name: str) -> None:
        del self.numbers[self.names[number]]
        self.names[number] = name
        self.numbers[name] = number

    def rename(self, old: str, new: str) -> None:
        """Rename a label; earlier predictions keep the old name."""
        number = self.number(old)
        new = check_name(new)
        if self.numbers.get(new, number) != number:
            raise LabelError(f"there is a label {new!r} already; merge_labels joins the two")
        self._rewrite([new if i == number else name for i, name in enumerate(self.names)])

    def remove(self, number: int) -> None:
        names = list(self.names)
        names[number] = names[-1]
        self._rewrite(names[:-1])

    def _rewrite(self, names: list[str]) -> None:
        """Replace the list of names, which predictions may share."""
        self.names = names
        self.numbers = {name: i for i, name in enumerate(names)}

    def translate(self, sets: LabelSets) -> LabelSets:
        """Number ``sets``, whose names all have numbers: ascending in a document, each once."""
        numbers = sets.renumbered(self.numbers.__getitem__)
        ids, indptr = np.empty_like(sets.ids), np.empty_like(sets.indptr)
        yes = np.empty_like(sets.yes)
        number(numbers, sets.ids, sets.indptr, sets.yes, ids, indptr, yes)
        found = int(indptr[-1])
        return LabelSets(self.names, ids[:found], indptr, yes[:found], sets.known)


_LISTS = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")


def _read(labels: Any) -> LabelSets:
    chunks = arrow_chunks(labels)
    if chunks is None:
        if isinstance(labels, str | bytes | Mapping) or not isinstance(labels, Iterable):
            raise LabelError(
                f"labels of many documents must be a sequence with one entry per document. "
                f"Got {type(labels).__name__} instead."
            )
        labels = labels if isinstance(labels, Sequence) else list(labels)
        column = _as_column(labels)
        return _read_objects(labels) if column is None else _read_arrow([column])
    types = (chunk.type for chunk in chunks)
    if not any(pa.types.is_struct(kind) or pa.types.is_map(kind) for kind in types):
        return _read_arrow(chunks)
    entries = (None if entry is None else dict(entry) for c in chunks for entry in c.to_pylist())
    return _read_objects(
        entry and {name: state for name, state in entry.items() if state is not None}
        for entry in entries
    )


_PLAIN = {list, tuple, set, type(None)}
_MANY = 100  # documents from which on Arrow is faster


def _as_column(labels: Sequence[Any]) -> pa.Array | None:
    """Turn lists of text into a column, which is faster to read; None if they are anything else."""
    if len(labels) < _MANY or not _PLAIN.issuperset(map(type, labels)):
        return None
    try:
        column = pa.array(labels)
    except (pa.ArrowException, UnicodeError, OverflowError):
        return None
    is_text = pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type)
    return column if is_text and not column.values.null_count else None


def _read_arrow(chunks: list[pa.Array]) -> LabelSets:
    lists = pa.list_(pa.string())
    chunks = [chunk.cast(lists) if pa.types.is_null(chunk.type) else chunk for chunk in chunks]
    column = pa.chunked_array(chunks or [pa.array([], lists)])
    values = pa.chunked_array(map(_texts, column.chunks), pa.large_string()).combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    indptr = np.cumsum(np.concatenate([[0], lengths]), dtype=np.int64)
    if values.null_count:
        entry = pc.index(values.is_null(), True).as_py()
        document = int(np.searchsorted(indptr, entry, side="right")) - 1
        raise LabelError(f"document {document} has a null among its labels; drop it from the list")
    encoded = values.dictionary_encode()
    names, ids = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
    known = np.where(column.is_null(), UNLABELLED, COMPLETE).astype(np.uint8)
    return _canonical(names, ids, indptr, None, known)


def _texts(chunk: pa.Array) -> pa.Array:
    is_list = any(getattr(pa.types, f"is_{kind}")(chunk.type) for kind in _LISTS)
    texts = plain_text(chunk.flatten()) if is_list else None
    if texts is None:
        raise LabelError(
            f"a column of labels must hold lists of text. Got {chunk.type} instead; split text "
            f"into lists first (pyarrow.compute.split_pattern), or name a label separator"
        )
    return texts.cast(pa.large_string())


def _read_objects(labels: Iterable[Any]) -> LabelSets:
    numbers: dict[str, int] = {}
    ids: list[int] = []
    yes: list[bool] = []
    indptr = [0]
    known: list[int] = []
    for document, entry in enumerate(labels):
        states: Iterable[tuple[Any, Any]] = ()
        if isinstance(entry, Mapping):
            states = entry.items()
        elif isinstance(entry, str | bytes) or not isinstance(entry, Iterable | None):
            raise LabelError(
                f"document {document}: labels must be a set or list of text, a mapping label → "
                f"bool, or None. Got {entry!r} instead"
                + (f"; write {{{entry!r}}}." if isinstance(entry, str) else ".")
            )
        elif entry is not None:
            states = zip(entry, repeat(True), strict=False)
        for name, state in states:
            if state is not True and state is not False:
                raise LabelError(
                    f"document {document}: label {name!r} must be True or False, "
                    f"leave unknown labels out. Got {state!r} instead."
                )
            if not isinstance(name, str):
                check_name(name, f"document {document}: ")
            ids.append(numbers.setdefault(name, len(numbers)))
            yes.append(state)
        indptr.append(len(ids))
        partial = isinstance(entry, Mapping)
        known.append(UNLABELLED if entry is None else PARTIAL if partial else COMPLETE)
    entries = np.array(ids, np.int32), np.array(indptr, np.int64), np.array(yes, np.bool_)
    return _canonical(list(numbers), *entries, np.array(known, np.uint8))


def _by_first(
    names: Sequence[str], ids: npt.NDArray[Any], indptr: npt.NDArray[np.int64]
) -> list[tuple[int, str, int]]:
    """Sort the names in use by first document, then by text; return (document, name, id)."""
    used, first = np.unique(ids, return_index=True)
    documents = (np.searchsorted(indptr, first, side="right") - 1).tolist()
    return sorted((at, names[i], i) for at, i in zip(documents, used.tolist(), strict=True))


def _canonical(
    names: list[str], ids: npt.NDArray[Any], indptr: npt.NDArray[np.int64],
    yes: npt.NDArray[np.bool_] | None, known: npt.NDArray[np.uint8],
) -> LabelSets:  # fmt: skip
    """Normalise each name, and renumber by first document, then by text."""
    found = _by_first(names, ids, indptr)
    firsts: dict[str, int] = {}  # the first document of each normal name
    renumber = np.zeros(len(names), np.int32)
    normal = [check_name(name, f"document {document}: ") for document, name, _ in found]
    for name, (document, _, _) in zip(normal, found, strict=True):
        firsts.setdefault(name, document)
    order = sorted(firsts, key=lambda name: (firsts[name], name))
    numbers = {name: number for number, name in enumerate(order)}
    renumber[[i for _, _, i in found]] = [numbers[name] for name in normal]
    sets = LabelSets(order, renumber[ids], indptr, yes, known)
    if len(order) < len(normal):  # one label under two spellings
        keys = sets.documents * len(order) + sets.ids
        both = np.intersect1d(keys[sets.yes], keys[~sets.yes])
        if both.size:
            document, number = divmod(int(both[0]), len(order))
            raise contradiction(order[number], f"document {document}: ")
    return sets
