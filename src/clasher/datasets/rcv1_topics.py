"""The topics of RCV1-v2: which story has which, and which topic lies under which.

Both come from the online appendices of Lewis, Yang, Rose and Li, *RCV1: A New Benchmark Collection
for Text Categorization Research* (2004): the file of relevance judgements has a line ``E11 2286 1``
for each topic of a story, the hierarchy a line ``parent: ECAT  child: E11  child-description: …``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from clasher.datasets.archives import damaged
from clasher.datasets.documents import distinct
from clasher.datasets.folder import text_blocks
from clasher.errors import StreamError

_CODES: Final = (
    "C11 C12 C13 C14 C15 C151 C1511 C152 C16 C17 C171 C172 C173 C174 C18 C181 C182 C183 C21 C22 C23"
    " C24 C31 C311 C312 C313 C32 C33 C331 C34 C41 C411 C42 CCAT E11 E12 E121 E13 E131 E132 E14 E141"
    " E142 E143 E21 E211 E212 E31 E311 E312 E313 E41 E411 E51 E511 E512 E513 E61 E71 ECAT G15 G151"
    " G152 G153 G154 G155 G156 G157 G158 G159 GCAT GCRIM GDEF GDIP GDIS GENT GENV GFAS GHEA GJOB"
    " GMIL GOBIT GODD GPOL GPRO GREL GSCI GSPO GTOUR GVIO GVOTE GWEA GWELF M11 M12 M13 M131 M132"
    " M14 M141 M142 M143 MCAT"
)
CODES: Final = frozenset(_CODES.split())
"""The 103 topics."""

_COLUMNS: Final = {"topic": pa.string(), "story": pa.int32(), "judgement": pa.int8()}


class Judgements:
    r"""The topics of each story, in a few megabytes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rcv1-v2.topics.qrels")
    ...     _ = path.write_text("E11 2286 1\nECAT 2286 1\nCCAT 2287 1\n")
    ...     judgements = Judgements(path)
    >>> judgements.of(2286), judgements.of(1)
    (['E11', 'ECAT'], [])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            table = csv.read_csv(
                path,
                csv.ReadOptions(column_names=list(_COLUMNS)),
                csv.ParseOptions(delimiter=" "),
                csv.ConvertOptions(column_types=_COLUMNS),
            )
        except (pa.ArrowException, OSError) as error:
            raise damaged(str(path), error) from error
        table = table.filter(pc.equal(table["judgement"], 1))
        topics = table["topic"].combine_chunks().dictionary_encode()
        stories = table["story"].to_numpy()
        order = np.argsort(stories, kind="stable")
        self._names: list[str] = topics.dictionary.to_pylist()
        self._topics = topics.indices.to_numpy()[order]
        self._stories, starts = np.unique(stories[order], return_index=True)
        self._starts = np.append(starts, len(stories))

    def of(self, story: int) -> list[str]:
        """The topics of a story; none where it is not among those of RCV1-v2."""
        place = int(np.searchsorted(self._stories, story))
        if place == len(self._stories) or self._stories[place] != story:
            return []
        start, stop = self._starts[place : place + 2]
        return [self._names[topic] for topic in self._topics[start:stop].tolist()]


class Hierarchy:
    r"""Which topics lie above which.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rcv1.topics.hier.orig")
    ...     _ = path.write_text(
    ...         "parent: None  child: Root  child-description: Root\n"
    ...         "parent: Root  child: ECAT  child-description: ECONOMICS\n"
    ...         "parent: ECAT  child: E12  child-description: MONETARY/ECONOMIC\n"
    ...         "parent: E12  child: E121  child-description: MONEY SUPPLY\n"
    ...     )
    ...     Hierarchy(path).closed(["E121"])
    ['E121', 'E12', 'ECAT']
    """

    def __init__(self, path: Path) -> None:
        self.parents: dict[str, str] = {}
        text = b"".join(text_blocks(path)).decode("latin-1")
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if words[0:4:2] == ["parent:", "child:"] and len(words) > 3:
                self.parents[words[3]] = words[1]
            elif words:
                raise StreamError(
                    f"{path}, line {number} is not 'parent: … child: …': get the file again"
                )

    def closed(self, topics: list[str]) -> list[str]:
        """The topics and all above them; those that only hold the tree together are left out."""
        found = list(topics)
        for topic in topics:
            above = self.parents.get(topic)
            while above is not None:
                if above in CODES:
                    found.append(above)
                above = self.parents.get(above)
        return distinct(found)
