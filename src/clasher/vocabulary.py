"""Names and parents of labels: a vocabulary, thesaurus or taxonomy.

A vocabulary tells what labels are called and which labels are above them. It may be closed: then
labels that are not in it are refused. ``clasher.term_files`` reads and writes its files.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Any, Final, TypeVar, overload

import numpy as np

from clasher.errors import LabelError, TermError, UnknownLabelError, nearest, require
from clasher.labels import LabelSets
from clasher.term_files import FIELDS, bad_record, entries, fields_of, read_records, write_records
from clasher.text.label_names import check_name, normal_name, readable

__all__ = ["Term", "Vocabulary", "readable", "with_ancestors"]

T = TypeVar("T")

_CANDIDATES: Final = 1000  # spellings compared with an unknown label
_COMPARED: Final = 40  # characters of it
_IMPLIED: Final = 2  # of a label of a document; 0 and 1 are a no and a yes


@dataclass(frozen=True, slots=True, init=False)
class Term:
    """A label with its names and parents.

    Parameters
    ----------
    label
        The label, as in the stream; normalised as everywhere.
    name
        The preferred name; by default the words of the label. White space becomes single blanks,
        in the alternatives too.
    alternatives
        Other names, such as synonyms.
    parents
        The labels of broader terms.

    Examples
    --------
    >>> Term("crude_oil", alternatives=["petroleum"], parents=["fuel"])
    Term(label='crude_oil', name='crude oil', alternatives=('petroleum',), parents=('fuel',))
    """

    label: str
    name: str
    alternatives: tuple[str, ...]
    parents: tuple[str, ...]

    def __init__(
        self,
        label: str,
        name: str | None = None,
        alternatives: Iterable[str] = (),
        parents: Iterable[str] = (),
    ) -> None:
        label = _clean("label", label)
        name = _clean("name", readable(label) if name is None else name)
        others = _clean_list("alternatives", alternatives)
        values = label, name, tuple(o for o in others if o != name), _clean_list("parents", parents)
        for field, value in zip(FIELDS, values, strict=True):
            object.__setattr__(self, field, value)

    @classmethod
    def of(cls, value: Any) -> Term:
        """Read a term from a mapping such as ``to_dict`` returns.

        ``prefLabel``, ``altLabel`` and ``broader`` are other spellings of the fields. Fields of
        other names are ignored, unless they look like misspelt ones.
        """
        if isinstance(value, Term):
            return value
        if not isinstance(value, Mapping):
            wanted = ", ".join(FIELDS)
            raise TermError(f"it is {_shown(value)}, not an object", f"write one with {wanted}")
        names = fields_of(value)
        if "label" not in names:
            raise TermError("field 'label' is missing", "write it")
        found = {field: value[name] for field, name in names.items()}
        for field in ("alternatives", "parents"):
            if found.get(field) is None:
                found[field] = ()
        return cls(**found)

    def to_dict(self) -> dict[str, Any]:
        """Return the term as JSON holds it; empty lists are left out."""
        found: dict[str, Any] = {"label": self.label, "name": self.name}
        if self.alternatives:
            found["alternatives"] = list(self.alternatives)
        if self.parents:
            found["parents"] = list(self.parents)
        return found


class Vocabulary(Mapping[str, Term]):
    """Terms by label, in order; it never changes.

    Labels are found in any spelling that has the same normal form. Two vocabularies are equal if
    they have equal terms, in any order, and both are open or both closed.

    Parameters
    ----------
    terms
        Terms with different labels. Their parents must be labels of terms too, and must not lead
        back to a term.
    closed
        Whether ``check`` refuses other labels.

    Examples
    --------
    >>> vocabulary = Vocabulary([
    ...     Term("commodity"),
    ...     Term("grain", "Grain", ["cereals"], parents=["commodity"]),
    ...     Term("wheat", "Wheat", parents=["grain"]),
    ... ], closed=True)
    >>> vocabulary.names_of("grain"), vocabulary.ancestors("wheat")
    (('Grain', 'cereals'), ('grain', 'commodity'))
    >>> vocabulary.check("weat")
    Traceback (most recent call last):
    clasher.errors.UnknownLabelError: the vocabulary has no label 'weat'; did you mean 'wheat'?
    """

    def __init__(self, terms: Iterable[Term] = (), *, closed: bool = False) -> None:
        require(isinstance(closed, bool), "closed", "True or False", closed, "Vocabulary")
        self._closed = closed
        self._terms: dict[str, Term] = {}
        for number, term in enumerate(terms, 1):
            if not isinstance(term, Term):
                got = f"it is {_shown(term)}, not a Term"
                raise TermError(got, "read others with Vocabulary.of", number)
            if self._terms.setdefault(term.label, term) is not term:
                raise TermError(f"label {term.label!r} appears twice", "keep one of them", number)
        _check_parents(self._terms)
        self._spellings: _Spellings | None = None

    @classmethod
    def of(cls, terms: Any, *, closed: bool = False) -> Vocabulary:
        """Read terms from mappings, as ``to_dicts`` returns them, or from label → name.

        >>> Vocabulary.of([{"label": "oil", "name": "Crude oil"}]) == Vocabulary.of(
        ...     {"oil": "Crude oil"}
        ... )
        True
        """
        return cls(_terms(terms), closed=closed)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        closed: bool = False,
        language: str | None = None,
        key: str | None = None,
    ) -> Vocabulary:
        r"""Read a file of terms.

        Parameters
        ----------
        path
            A file: ``.tsv``, ``.csv``, ``.json``, ``.jsonl``, or SKOS (extra ``skos``): ``.ttl``,
            ``.nt``, ``.rdf``, ``.xml``, ``.skos``.
        format
            One of these extensions, for files with another.
        closed
            Whether ``check`` refuses other labels; files do not say it.
        language
            The language of names in SKOS, such as ``"de"``. A concept without a name in it gets
            its English name, else one without a language, else the first by language. By default
            English is first.
        key
            The part of a SKOS concept that becomes the label: its ``"uri"``, as Annif has it and
            by default, its ``"notation"``, the local ``"name"`` at the end of its URI, or its
            ``"prefLabel"``.

        Raises
        ------
        StreamError
            The file is missing, empty, not what its extension says, or in an unknown format.
        RecordError
            A line or row is bad; the message says which.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "topics.tsv")
        ...     _ = path.write_text("fuel\tFuel\noil\tCrude oil\tpetroleum|crude\tfuel\n")
        ...     Vocabulary.read(path)["oil"]
        Term(label='oil', name='Crude oil', alternatives=('petroleum', 'crude'), parents=('fuel',))
        """
        records = read_records(path, format, language, key)
        try:
            return cls.of([value for _, value in records], closed=closed)
        except TermError as error:
            if error.number is None:
                raise
            place = records[error.number - 1][0]
            raise bad_record(os.fspath(path), place, error.problem, error.remedy) from None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.tsv`` or ``.json`` file, whole or not at all; ``read`` gives equal terms.

        TSV has no way to write tabs and line ends in labels, or ``|`` in parents and alternatives.
        Such terms are refused.
        """
        write_records(path, self.to_dicts())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the terms as JSON holds them; ``of`` reads them."""
        return [term.to_dict() for term in self._terms.values()]

    @property
    def closed(self) -> bool:
        """Whether ``check`` refuses labels that are not in the vocabulary."""
        return self._closed

    def check(self, label: str) -> str:
        """Return the normal form of a label; refuse an unknown one if the vocabulary is closed."""
        normal = check_name(label)
        if self._closed and normal not in self._terms:
            raise self._unknown(normal)
        return normal

    def name_of(self, label: str) -> str:
        """Return the preferred name of a label; the words of one that is not in the vocabulary."""
        term = self.get(label)
        return readable(label) if term is None else term.name

    def names_of(self, label: str) -> tuple[str, ...]:
        """Return all names of a label, the preferred one first."""
        term = self.get(label)
        return (readable(label),) if term is None else (term.name, *term.alternatives)

    def ancestors(self, label: str) -> tuple[str, ...]:
        """Return the parents of a label, their parents and so on, nearest first.

        A label that is not in the vocabulary has none.
        """
        term = self.get(label)
        found = dict.fromkeys(() if term is None else term.parents)
        pending = deque(found)
        while pending:
            for parent in self._terms[pending.popleft()].parents:
                if parent not in found:
                    found[parent] = None
                    pending.append(parent)
        return tuple(found)

    def with_ancestors(self, labels: Iterable[str]) -> set[str]:
        """Return labels together with all their ancestors."""
        own = {normal_name(label) for label in labels}
        return own.union(*map(self.ancestors, own))

    def updated(self, terms: Any) -> Vocabulary:
        """Return a vocabulary with more terms, which replace those of the same labels."""
        new = {term.label: term for term in _terms(terms)}
        return Vocabulary((self._terms | new).values(), closed=self._closed)

    def without(self, labels: Iterable[str]) -> Vocabulary:
        """Return a vocabulary without some labels; their children get their parents."""
        if isinstance(labels, str):
            raise LabelError(f"labels must be a list or set of text. Got {labels!r} instead.")
        gone = {self[label].label for label in labels}
        kept = (term for term in self._terms.values() if term.label not in gone)
        return Vocabulary((self._adopted(term, gone) for term in kept), closed=self._closed)

    def _adopted(self, term: Term, gone: set[str]) -> Term:
        """Replace parents that are gone by their nearest ancestors that stay."""
        if gone.isdisjoint(term.parents):
            return term
        found: dict[str, bool] = {}
        pending = deque(term.parents)
        while pending:
            parent = pending.popleft()
            if parent not in found:
                found[parent] = parent not in gone
                if not found[parent]:
                    pending.extendleft(reversed(self._terms[parent].parents))
        parents = [parent for parent, stays in found.items() if stays]
        return Term(term.label, term.name, term.alternatives, parents)

    def __getitem__(self, label: str) -> Term:
        term = self.get(label)
        if term is None:
            raise self._unknown(label)
        return term

    def __contains__(self, label: object) -> bool:
        return isinstance(label, str) and self.get(label) is not None

    @overload
    def get(self, label: str, /) -> Term | None: ...
    @overload
    def get(self, label: str, /, default: Term | T) -> Term | T: ...
    def get(self, label: str, /, default: Term | T | None = None) -> Term | T | None:
        """Return the term of a label, else ``default``."""
        term = self._terms.get(label)
        if term is None and isinstance(label, str):
            term = self._terms.get(normal_name(label))
        return default if term is None else term

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._closed == other._closed and self._terms == other._terms

    def __hash__(self) -> int:
        return hash((self._closed, frozenset(self._terms.values())))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, islice(self, 3)))
        more = ", …" if len(self) > 3 else ""
        closed = ", closed=True" if self._closed else ""
        return f"Vocabulary([{shown}{more}], terms={len(self)}{closed})"

    def _unknown(self, label: object) -> UnknownLabelError:
        if self._spellings is None:
            self._spellings = _Spellings(self._terms.values())
        near = self._spellings.nearest(str(label))
        remedy = "add a term for it" if near is None else f"did you mean {near}?"
        return UnknownLabelError(f"the vocabulary has no label {_shown(label)}; {remedy}")


def with_ancestors(labels: Any, vocabulary: Vocabulary) -> LabelSets:
    """Return label sets extended by the ancestors of their labels.

    Measures of extended truth and predictions credit a near miss: *corn* instead of *wheat* is
    wrong, but *grain*, which is above both, is right.

    Each label brings its ancestors as further labels. Unlabelled documents stay unlabelled, and
    partial labels stay partial. A label that a document denies stays denied, even if it is an
    ancestor of another of its labels: people said so. Denied labels bring no ancestors.

    Parameters
    ----------
    labels
        A column for ``LabelSets.of``.
    vocabulary
        The vocabulary; labels that are not in it have no ancestors.

    Examples
    --------
    >>> vocabulary = Vocabulary([Term("grain"), Term("wheat", parents=["grain"])])
    >>> sets = with_ancestors([{"wheat"}, {"wheat": True, "grain": False}, None], vocabulary)
    >>> sorted(sets[0]), sets[1], sets.known.tolist()
    (['grain', 'wheat'], {'wheat'}, [1, 2, 0])
    """
    sets = LabelSets.of(labels)
    names = list(sets.names)
    numbers = {name: number for number, name in enumerate(names)}
    above: list[int] = []  # the ancestors of all labels in use, one after the other
    lengths = np.zeros(len(names), np.int64)
    for number in sets.used.tolist():
        ancestors = vocabulary.ancestors(sets.names[number])
        lengths[number] = len(ancestors)
        for name in ancestors:
            if name not in numbers:
                numbers[name] = len(names)
                names.append(name)
            above.append(numbers[name])
    if not above:
        return sets

    documents, own = sets.documents, sets.ids[sets.yes]
    starts, counts = (np.cumsum(lengths) - lengths)[own], lengths[own]
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    implied = np.array(above)[np.repeat(starts, counts) + inside]
    said = documents * len(names) + sets.ids
    keys = np.repeat(documents[sets.yes], counts) * len(names) + implied
    # in one sort: by document and label, and what is said of a label before what is implied
    entries = np.sort(np.concatenate([said * 4 + sets.yes, keys * 4 + _IMPLIED]))
    keys = entries >> 2
    entries = entries[np.diff(keys, prepend=-1) > 0]
    documents, ids = np.divmod(entries >> 2, len(names))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(documents, minlength=len(sets)))))
    return LabelSets(names, ids.astype(np.int32), indptr, (entries & 3) > 0, sets.known)


class _Spellings:
    """The labels and names of a vocabulary, to find the one that resembles a misspelt one most.

    Only spellings that share three letters with it are compared, those with rare ones first. They
    are found in one long text of all spellings, so that 100,000 terms need no index.
    """

    def __init__(self, terms: Iterable[Term]) -> None:
        self._owners: dict[str, str] = {}  # spelling → what to suggest
        for term in terms:
            label = repr(term.label)
            self._owners.setdefault(_folded(term.label), label)
            for name in (term.name, *term.alternatives):
                self._owners.setdefault(_folded(name), f"{label} ({name})")
        self._list = list(self._owners)
        self._text = "".join(f"\n{spelling}" for spelling in self._list) + "\n"
        lengths = [len(spelling) + 1 for spelling in self._list]
        self._starts: list[int] = (np.cumsum(lengths) - lengths).tolist() if lengths else []

    def nearest(self, label: str) -> str | None:
        wanted = _folded(label)[:_COMPARED]
        if wanted in self._owners:
            return self._owners[wanted]
        near = nearest(wanted, [self._list[i] for i in sorted(self._candidates(wanted))])
        return None if near is None else self._owners[near]

    def _candidates(self, wanted: str) -> set[int]:
        padded = f"\n{wanted}\n"
        grams = {padded[at : at + 3] for at in range(len(padded) - 2)} | {padded[:2]}
        found: set[int] = set()
        for gram in sorted(grams, key=lambda gram: (self._text.count(gram), gram)):
            at = self._text.find(gram)
            while at >= 0 and len(found) < _CANDIDATES:
                # a gram may begin with the line feed before a spelling, or end with the one after
                found.add(bisect_right(self._starts, at) - 1)
                at = self._text.find(gram, at + 1)
        return found


def _folded(spelling: str) -> str:
    return spelling.casefold().replace("\n", " ")


def _terms(values: Any) -> list[Term]:
    """Read terms, and say the number of a bad one."""
    terms = []
    for number, value in enumerate(entries(values), 1):
        try:
            terms.append(Term.of(value))
        except TermError as error:
            raise TermError(error.problem, error.remedy, number) from None
    return terms


def _check_parents(terms: Mapping[str, Term]) -> None:
    """Refuse parents that are no terms, and those that lead back to a term."""
    for number, term in enumerate(terms.values(), 1):
        for parent in term.parents:
            if parent not in terms:
                problem = f"parent {parent!r} of {term.label!r} is not a label of the vocabulary"
                raise TermError(problem, "add a term for it, or remove the parent", number)
    graph = {term.label: term.parents for term in terms.values() if term.parents}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1][::-1]  # from child to parent, back to the start
        number = list(terms).index(cycle[0]) + 1
        shown = [_shown(label) for label in cycle]
        shown = shown if len(shown) < 10 else [*shown[:8], "…", shown[-1]]
        problem = f"the parents lead in a circle: {' → '.join(shown)}"
        raise TermError(problem, "remove one of these parents", number) from None


def _clean(field: str, value: Any) -> str:
    """Return the normal form of a label or name."""
    if isinstance(value, str) and not value.strip():
        raise TermError(f"the {field} is empty", "write one")
    try:
        normal = check_name(value)
    except LabelError:
        problem = f"the {field} must be text with a visible character. Got {_shown(value)} instead"
        raise TermError(problem, "write one") from None
    if field in ("label", "parent"):
        return normal
    return normal_name(" ".join(normal.split()))


def _clean_list(field: str, values: Any) -> tuple[str, ...]:
    """Clean the texts of a list, and keep each once."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        problem = f"{field} must be a list of text. Got {_shown(values)} instead"
        raise TermError(problem, f"write a list, such as [{_shown(values)}]")
    return tuple(dict.fromkeys(_clean(field.removesuffix("s"), value) for value in values))


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:100]}…"
