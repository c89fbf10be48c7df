"""Write streams as sparse ARFF files, labels first, for MOA and MEKA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ESCAPED = {"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def quoted(name: str) -> str:
    r"""Quote a name for a header.

    >>> print(quoted("Côte d'Ivoire, 100% {cocoa}"))
    'Côte d\'Ivoire, 100% {cocoa}'
    """
    return "'" + re.sub(r"[\\'\n\r\t]", lambda found: ESCAPED[found[0]], name) + "'"


def header(name: str, labels: Sequence[str], dimensions: int) -> Iterator[str]:
    """Yield the lines before the first document; no bucket has the name of a label.

    >>> for line in header("news", ["oil", "#1"], 2):
    ...     print(line)
    @relation 'news: -C 2'
    @attribute 'oil' {0,1}
    @attribute '#1' {0,1}
    @attribute '##0' numeric
    @attribute '##1' numeric
    @data
    """
    sign = "#"
    while any(label.startswith(sign) for label in labels):
        sign += "#"
    yield f"@relation {quoted(f'{name}: -C {len(labels)}')}"
    yield from (f"@attribute {quoted(label)} {{0,1}}" for label in labels)
    yield from (f"@attribute {quoted(f'{sign}{bucket}')} numeric" for bucket in range(dimensions))
    yield "@data"


def row(labels: Iterable[int], buckets: Iterable[int], weights: Iterable[float], first: int) -> str:
    """Write one document: its labels, then its buckets (ascending), numbered from ``first``.

    >>> row([2, 0], [1, 4], [0.5, 3], first=3)
    '{0 1,2 1,4 0.5,7 3}'
    """
    cells = [f"{label} 1" for label in sorted(set(labels))]
    cells += [
        f"{first + bucket} {weight:.4g}" for bucket, weight in zip(buckets, weights, strict=True)
    ]
    return "{" + ",".join(cells) + "}"


def write(
    path: Path,
    name: str,
    labels: Sequence[str],
    given: Iterable[Iterable[str] | None],
    vectors: Any,
) -> None:
    """Write a stream.

    Parameters
    ----------
    path
        The file.
    name
        The name of the stream.
    labels
        All labels of the stream; the format lists them before the documents.
    given
        The labels of each document; None is written as no labels.
    vectors : csr_array
        A row per document, indices sorted.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in header(name, labels, vectors.shape[1]))
        for document, mine in enumerate(given):
            cells = slice(vectors.indptr[document], vectors.indptr[document + 1])
            buckets, weights = vectors.indices[cells].tolist(), vectors.data[cells].tolist()
            ids = [numbers[label] for label in mine or ()]
            file.write(row(ids, buckets, weights, len(labels)) + "\n")
