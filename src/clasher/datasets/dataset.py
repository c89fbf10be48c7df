"""Datasets: their description, their splits, their folder and their documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from clasher.datasets.archives import Member
from clasher.datasets.document import Document
from clasher.errors import MissingDatasetError, SettingError, StreamError
from clasher.io.formats import COMPRESSIONS, InputFile, Reading
from clasher.io.lines import read_blocks
from clasher.io.records import FaultError
from clasher.io.writers import BadRecords

T = TypeVar("T")
Part: TypeAlias = Literal["train", "test"]


@dataclass(frozen=True)
class Split:
    """A division into a training and a test set.

    Parameters
    ----------
    about
        A definition in a sentence.
    part
        Returns the part of a document, None if it is in neither.
    dated, whole
        Whether it needs dates, and whether it includes documents without labels.
    """

    about: str
    part: Callable[[Document], Part | None]
    dated: bool = False
    whole: bool = False


DAYS: Final = Split(
    "odd days are the test set, even days the training set (section 6.3 of the paper)",
    lambda document: "test" if int((document.date or "")[8:10]) % 2 else "train",
    dated=True,
)


@dataclass(slots=True)
class Folder:
    """An opened folder, or a single file in its place."""

    path: Path
    reading: Reading = field(default_factory=Reading)  # the policy for bad records, and counts
    on_held: Callable[[int], None] | None = None  # gets the number of documents to be sorted

    def parsed(
        self,
        name: str,
        records: Iterable[tuple[int, T]],
        parse: Callable[[T], Document],
        raw: Callable[[T], bytes],
    ) -> Iterator[Document]:
        """Parse numbered records; hand bad ones, as ``raw`` bytes, to the policy."""
        for number, record in records:
            self.reading.records += 1
            try:
                yield parse(record)
            except FaultError as fault:
                self.reading.reject(name, number, fault, raw(record))

    def parsed_members(
        self, members: Generator[Member], parse: Callable[[str, bytes], Document | None]
    ) -> Iterator[Document]:
        """Parse a document from each member; ``parse`` returns None to leave one out."""
        with closing(members):
            for member in members:
                self.reading.records += 1
                raw = None
                try:
                    raw = member.read()
                    document = parse(member.name, raw)
                except FaultError as fault:
                    self.reading.reject(member.name, 1, fault, raw)
                    continue
                if document is not None:
                    yield document

    def only(self, found: list[Path], what: str) -> Path:
        """Return the only file found."""
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise StreamError(f"{self.path} has more than one {what} ({names}): name one of them")
        return found[0]


def text_blocks(path: Path) -> Iterator[bytes]:
    """Read a text file, decompressed according to its extension."""
    if not path.stat().st_size:
        raise StreamError(f"{path} is empty; get it again")
    compression = COMPRESSIONS.get(path.suffix.removeprefix("."))
    return read_blocks(InputFile(str(path), "text", compression))


def matching(path: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a folder that match the first pattern with a match, or the file."""
    if path.is_file():
        return [path] if any(map(path.match, patterns)) else []
    found = (sorted(filter(Path.is_file, path.glob(pattern))) for pattern in patterns)
    return next(filter(None, found), [])


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A corpus as its owners distribute it.

    Attributes
    ----------
    name, title : str
        Its name here, and its official name.
    about, labels : str
        Descriptions of the documents and the labels.
    documents, classes : int | None
        The number of documents and labels, by its owners or the paper; None if it varies.
    licence, source : str
        Its licence, and where to get it.
    files : tuple of str
        The files to put into the folder, as alternatives.
    splits : mapping of name to Split
        Its training and test sets.
    undated : str
        The remedy if a split needs dates and the files have none.
    """

    name: str
    title: str
    about: str
    labels: str
    documents: int | None = None
    classes: int | None = None
    licence: str
    source: str
    files: tuple[str, ...]
    finder: Callable[[Path], list[Path]] = field(repr=False)
    reader: Callable[[Folder], Generator[Document]] = field(repr=False)
    splits: Mapping[str, Split] = field(default_factory=lambda: {"days": DAYS}, repr=False)
    undated: str = "use another split"

    def find(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Find its files in a folder, or in a subfolder of its name."""
        return self.finder(self._home(folder))

    def read(
        self,
        folder: str | os.PathLike[str],
        split: str | None = None,
        part: Part | None = None,
        *,
        on_error: BadRecords | None = None,
        unlabelled: bool = False,
    ) -> Documents:
        """Read its documents in time order.

        Parameters
        ----------
        folder
            The folder of its files, or the parent of a folder with its name.
        split
            Read only the documents of this split; by default, all with labels.
        part
            Read only the training or the test set of the split.
        on_error
            The policy for bad records; by default, the first one raises.
        unlabelled
            Include documents without labels.
        """
        if split is not None and split not in self.splits:
            known = ", ".join(self.splits) or "none"
            raise SettingError(f"{self.name} has no split {split!r}; choose from: {known}")
        if part is not None and (split is None or part not in get_args(Part)):
            must = "The 'part' parameter must be 'train' or 'test', with a split"
            raise SettingError(f"{must}. Got {part!r} of {split!r} instead.")
        home = self._home(folder)
        if not self.finder(home):
            raise self.missing(home)
        opened = Folder(home, Reading(bad=on_error or BadRecords()))
        return Documents(self, opened, split, part, unlabelled)

    def missing(self, folder: Path, what: str | None = None) -> MissingDatasetError:
        """Return the error for missing files: what to get, where from, where to put it."""
        if not folder.exists():
            what = f"{folder} does not exist"
        what = what or f"none of its files is in {folder}"
        files = " or ".join(self.files)
        return MissingDatasetError(f"{self.name}: {what}; put {files} there, from {self.source}")

    def _home(self, folder: str | os.PathLike[str]) -> Path:
        path = Path(folder).expanduser()
        inner = path / self.name
        return inner if inner.is_dir() and self.finder(inner) else path


@dataclass
class Documents(Iterator[Document]):
    """The documents of a dataset, one by one.

    Attributes
    ----------
    folder : Folder
        The folder they are read from.
    delivered, left_out : int
        The number of documents yielded, and of those left out because they have no labels.
    """

    dataset: Dataset
    folder: Folder
    split: str | None
    part: Part | None
    unlabelled: bool
    delivered: int = 0
    left_out: int = 0

    def __post_init__(self) -> None:
        self._documents = self._read()

    def __next__(self) -> Document:
        return next(self._documents)

    def close(self) -> None:
        """Close files and delete temporary ones."""
        self._documents.close()

    def _read(self) -> Generator[Document]:
        split = None if self.split is None else self.dataset.splits[self.split]
        with closing(self.dataset.reader(self.folder)) as found:
            for document in found:
                if split is not None and split.dated and document.date is None:
                    needs = f"split {self.split!r} needs dates, and {self.folder.path} has none"
                    raise SettingError(f"{needs}: {self.dataset.undated}")
                part = None if split is None else split.part(document)
                if split is not None and (part is None or self.part not in (None, part)):
                    continue
                if not document.labels and not (self.unlabelled or (split and split.whole)):
                    self.left_out += 1
                    continue
                self.delivered += 1
                yield document
        if self.delivered:
            return
        reading, path = self.folder.reading, self.folder.path
        if not reading.records:
            raise StreamError(f"{path} has no documents")
        if reading.bad.skipped == reading.records:
            bad = f"all {reading.records} records in {path} are bad"
            raise StreamError(f"{bad}; the first: {reading.bad.first}")
        where = "" if split is None else f" in this part of {self.split!r}"
        raise StreamError(f"none of the {reading.records} documents in {path} has labels{where}")
