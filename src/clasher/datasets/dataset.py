"""What a dataset is: its description, its splits, and how its documents are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Self, TypeAlias

from clasher.datasets.document import Document
from clasher.datasets.source_folder import Folder
from clasher.errors import MissingDatasetError, SettingError, StreamError
from clasher.io.formats import Reading
from clasher.io.writers import BadRecords

Part: TypeAlias = Literal["train", "test"]
PARTS: Final[tuple[Part, ...]] = ("train", "test")


@dataclass(frozen=True)
class Split:
    """A division into a training and a test set.

    Parameters
    ----------
    about
        Its definition in a sentence.
    part
        Tells the part of a document; None where it is in neither.
    dated
        Whether it asks for dates.
    whole
        Whether documents without labels belong to it.
    """

    about: str
    part: Callable[[Document], Part | None]
    dated: bool = False
    whole: bool = False


def _odd_day(document: Document) -> Part | None:
    """The test set of section 6.3.

    >>> [_odd_day(Document("", date, "", [])) for date in ("1996-08-20", "1996-08-21")]
    ['train', 'test']
    """
    day = int((document.date or "")[8:10])
    return "test" if day % 2 else "train"


DAYS: Final = Split(
    "documents of odd days are the test set, the rest is for training (section 6.3 of the paper)",
    _odd_day,
    dated=True,
)


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """A corpus as its owners hand it out.

    Attributes
    ----------
    name, title : str
        What it is called here, and by its owners.
    about : str
        What it is.
    labels : str
        What its labels are.
    documents, classes : int | None
        How many documents and labels there are, as its owners or the paper count them; None where
        that differs.
    licence : str
        Under which terms it is handed out.
    source : str
        Who hands it out, and on which page.
    files : tuple of str
        What to put into the folder.
    splits : mapping of name to Split
        Its divisions into training and test sets.
    undated : str
        What to do where dates are asked for and the files have none.
    """

    name: str
    title: str
    about: str
    labels: str
    documents: int | None
    classes: int | None
    licence: str
    source: str
    files: tuple[str, ...]
    finder: Callable[[Path], list[Path]] = field(repr=False)
    reader: Callable[[Folder], Generator[Document]] = field(repr=False)
    splits: Mapping[str, Split] = field(default_factory=dict, repr=False)
    undated: str = "take another split"

    def find(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Which of its files are in a folder, or in a folder of its name there."""
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
        """Its documents in time order.

        Parameters
        ----------
        folder
            Where its files are; a folder in it that is called like the dataset will do too.
        split
            Only the documents of this split; without, all that have labels.
        part
            Only the training or the test set of the split.
        on_error
            What to do with bad records; by default the first one stops the stream.
        unlabelled
            Whether documents without labels are wanted as well.

        Raises
        ------
        MissingDatasetError
            It is not there, or not all of it.
        StreamError
            One of its files is damaged.
        RecordError
            A record is bad and ``on_error`` says to stop.
        """
        if split is not None and split not in self.splits:
            known = ", ".join(self.splits) or "none"
            raise SettingError(f"{self.name} has no split {split!r}; there is {known}")
        if part is not None and (split is None or part not in PARTS):
            raise SettingError(
                "the 'part' of a split is 'train' or 'test', and needs a split. "
                f"Got {part!r} of {split!r} instead."
            )
        home = self._home(folder)
        if not self.finder(home):
            raise self.missing(home)
        opened = Folder(home, Reading(bad=on_error or BadRecords()))
        return Documents(self, opened, split, part, unlabelled=unlabelled)

    def missing(self, folder: Path, what: str | None = None) -> MissingDatasetError:
        """The one sentence for what is not there: what to get, from whom, where to put it."""
        if not folder.exists():
            what = f"there is no {folder}"
        return MissingDatasetError(
            f"{self.name}: {what or f'none of its files is in {folder}'}; put "
            f"{' or '.join(self.files)} there, from {self.source}"
        )

    def _home(self, folder: str | os.PathLike[str]) -> Path:
        path = Path(folder).expanduser()
        inner = path / self.name
        return inner if inner.is_dir() and self.finder(inner) else path


class Documents(Iterator[Document]):
    """The documents of a dataset, one by one.

    Attributes
    ----------
    folder : Folder
        Where they come from.
    delivered : int
        Documents given so far.
    left_out : int
        Documents passed over so far because they have no labels.
    """

    def __init__(
        self,
        dataset: Dataset,
        folder: Folder,
        split: str | None,
        part: Part | None,
        *,
        unlabelled: bool,
    ) -> None:
        self.dataset = dataset
        self.folder = folder
        self.delivered = 0
        self.left_out = 0
        self._split = None if split is None else dataset.splits[split]
        self._split_name = split
        self._part = part
        self._unlabelled = unlabelled or (self._split is not None and self._split.whole)
        self._running = self._run()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Document:
        return next(self._running)

    def close(self) -> None:
        """Let go of files and scratch space."""
        self._running.close()

    def _run(self) -> Generator[Document]:
        with closing(self.dataset.reader(self.folder)) as found:
            for document in found:
                if not self._belongs(document):
                    continue
                if not document.labels and not self._unlabelled:
                    self.left_out += 1
                    continue
                self.delivered += 1
                yield document
        if not self.delivered:
            raise StreamError(self._nothing())

    def _nothing(self) -> str:
        reading, path = self.folder.reading, self.folder.path
        if not reading.records:
            return f"there is no document in {path}"
        if reading.bad.skipped == reading.records:
            first = reading.bad.first
            return f"none of the {reading.records} records in {path} is good; the first: {first}"
        where = "" if self._split is None else f" in the wanted part of {self._split_name!r}"
        return f"none of the {reading.records} documents in {path} has labels{where}"

    def _belongs(self, document: Document) -> bool:
        if self._split is None:
            return True
        if self._split.dated and document.date is None:
            raise SettingError(
                f"split {self._split_name!r} asks for dates, and {self.folder.path} has none: "
                f"{self.dataset.undated}"
            )
        part = self._split.part(document)
        return part is not None and self._part in (None, part)
