"""``clasher similar``: near-duplicates of a stream.

The options of commands that look at text without labels.

``clasher clusters``: group a stream of unlabelled text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from clasher.cli import terminal
from clasher.cli.format import counted
from clasher.cli.options import (
    Command,
    chosen,
    handing_over,
    option,
    output_option,
    quiet_option,
    taken,
    written_option,
)
from clasher.cli.settings import ANALYSIS, setting_option
from clasher.cli.streams import Stream, hashed_ahead, stream_options
from clasher.cli.terminal import (
    STANDARD_STREAM,
    Bar,
    check_model_file,
    check_outputs,
    keep_inputs,
    write_json,
)
from clasher.errors import SettingError
from clasher.io.read_ahead import HeldInterrupt

if TYPE_CHECKING:
    from clasher.cli.report.examples import Document, Sample
    from clasher.io import Batch, LineWriter
    from clasher.learning.explain import WordWeight
    from clasher.unsupervised.clusters import Clusters


vector_option = functools.partial(option, section="Model")

_OPTIONS = {
    "dimensions": setting_option("dimensions"),
    "weighting": vector_option(
        "--weighting",
        type=click.Choice(["tfidf", "tf"]),
        help="How to weigh words (default: tfidf).",
    ),
    "tf": setting_option("tf"),
    "seed": setting_option("seed"),
}


def vector_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the settings of vectors as options; those given come as ``vectors``."""
    return handing_over([*_OPTIONS.values(), *ANALYSIS.values()], _gather)(function)


def _gather(given: dict[str, Any]) -> dict[str, Any]:
    vectors, analysis = (chosen(taken(given, names)) for names in (_OPTIONS, ANALYSIS))
    if analysis:
        from clasher.text.analyzer import Analyzer

        vectors["analyzer"] = Analyzer(**analysis)
    return {"vectors": vectors}


SAMPLE = 2000
LONGEST = 100_000
DECIMALS = 6

EXAMPLES = """
    clasher clusters news.jsonl
    clasher clusters news.jsonl --k 100 --output clusters.jsonl
    clasher clusters tickets.csv --text body --json - | jq '.clusters[].words'
"""


@click.command(
    "clusters", cls=Command, examples=EXAMPLES, short_help="Group a stream that has no labels."
)
@stream_options(labelled=False)
@vector_option("--k", type=int, default=20, metavar="N", help="The most clusters (default: 20).")
@vector_option(
    "--threshold",
    type=float,
    default=0.2,
    metavar="X",
    help="A document whose largest cosine is below begins a new cluster (default: 0.2).",
)
@vector_option(
    "--recycle",
    is_flag=True,
    help="Give the place of a cluster that has long been fed nothing to a new one.",
)
@vector_option(
    "--half-life",
    type=float,
    metavar="N",
    help="What was learnt N documents ago weighs half (default: nothing is forgotten).",
)
@vector_options
@output_option(
    "--output",
    "-o",
    metavar="FILE",
    help="Write a JSON line for each document: its id, its cluster, its similarity.",
)
@output_option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write the clusters as JSON; - writes them to standard output in place of the table.",
)
@output_option("--save", metavar="FILE", help="Keep the clusters.")
@output_option(
    "--words",
    type=click.IntRange(min=1),
    default=8,
    metavar="N",
    help="How many words to show for each cluster (default: 8).",
)
@quiet_option
def clusters_command(
    stream: Stream,
    k: int,
    threshold: float,
    recycle: bool,
    half_life: float | None,
    vectors: dict[str, Any],
    output: str | None,
    json_path: str | None,
    save: str | None,
    words: int,
    quiet: bool,
) -> None:
    """Group the documents of a stream by what they are about.

    Each goes to the cluster whose mean it resembles most, and becomes part of
    it; one that resembles none begins a new one. Ctrl-C ends the stream: what
    was asked for is written, with the clusters so far.
    """
    check_outputs({"--output": output, "--json": json_path, "--save": save}, stream.paths)
    if save is not None:
        check_model_file("--save", save)
    if output == json_path == STANDARD_STREAM:
        raise SettingError("--output - and --json - cannot both be standard output; name a file")
    from clasher.cli.report.examples import Sample
    from clasher.unsupervised.clusters import Clusters

    clusters = Clusters(k, threshold=threshold, recycle=recycle, half_life=half_life, **vectors)
    sample = Sample(SAMPLE, seed=clusters.settings.seed, longest=LONGEST, labelled=False)
    with stream.opened(labelled=False) as batches, _writer(output) as writer:
        with terminal.compiling(quiet=quiet):
            Clusters(1, 2).learn_many(["a word"])
        with stream.bar(quiet=quiet) as bar:
            interrupted = _learn(clusters, batches, sample, writer, bar)
    results = Results.of(clusters, sample.documents, words)
    if save is not None:
        clusters.save(save)
    if json_path is not None:
        write_json(json_path, results.to_dict())
    if STANDARD_STREAM not in (json_path, output):
        results.show(stream.name)
    if interrupted:
        terminal.leave_interrupted(bar.documents)


def _writer(path: str | None) -> Any:
    from clasher.io import LineWriter

    return nullcontext() if path is None else LineWriter(path)


def _learn(
    clusters: Clusters,
    batches: Iterator[Batch],
    sample: Sample,
    writer: LineWriter | None,
    bar: Bar,
) -> bool:
    """Learn the stream, and tell whether Ctrl-C came in between."""
    with HeldInterrupt() as ctrl_c, closing(hashed_ahead(clusters, batches)) as source:
        for batch, hashed in ctrl_c.between(source):
            found = clusters.learn_many(hashed)
            sample.add(batch)
            if writer is not None:
                writer.write_lines(
                    [
                        {"id": id_, "cluster": cluster, "similarity": round(cosine, DECIMALS)}
                        for id_, cluster, cosine in zip(
                            batch.ids,
                            found.clusters.tolist(),
                            found.similarities.tolist(),
                            strict=True,
                        )
                    ]
                )
            bar.predicted(len(batch))
    return ctrl_c.asked


@dataclass(frozen=True)
class Results:
    """What is told of the clusters: sizes, words, and an example of the sample for each."""

    clusters: Clusters
    words: list[list[WordWeight]]
    examples: dict[int, Document]

    @classmethod
    def of(cls, clusters: Clusters, documents: list[Document], words: int) -> Results:
        """Find an example of each cluster in a sample of the stream."""
        texts = [document.text for document in documents]
        found = clusters.predict_many(texts)
        examples: dict[int, Document] = {}
        for at in (-found.similarities).argsort(kind="stable").tolist():
            examples.setdefault(int(found.clusters[at]), documents[at])
        named = [clusters.top_words(number, words) for number in range(len(clusters))]
        return cls(clusters, named, examples)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; the largest cluster first."""
        return {
            "documents": self.clusters.documents,
            "settings": self.clusters.settings.to_dict(),
            "clusters": [
                {
                    "cluster": number,
                    "size": size,
                    "words": {word: round(weight, DECIMALS) for word, weight in words},
                    "example": None if example is None else example._asdict() | {"labels": []},
                }
                for number, size, words, example in self._rows()
            ],
        }

    def show(self, name: str) -> None:
        """Print a table."""
        from clasher.cli.format import clusters_view, show

        texts = [
            (number, size, [word for word, _ in words], "" if example is None else example.text)
            for number, size, words, example in self._rows()
        ]
        show(clusters_view(texts, name, self.clusters.documents))

    def _rows(self) -> Iterator[tuple[int, int, list[WordWeight], Document | None]]:
        sizes = self.clusters.sizes
        for number in (-sizes).argsort(kind="stable").tolist():
            yield number, int(sizes[number]), self.words[number], self.examples.get(number)


SIMILAR_EXAMPLES = """
    clasher similar news.jsonl > duplicates.jsonl
    clasher similar inbox.csv --text body --threshold 0.7 --window 100000
    tail -f feed.jsonl | clasher similar - | jq .of
"""


@click.command(
    "similar",
    cls=Command,
    examples=SIMILAR_EXAMPLES,
    short_help="Find near-duplicates in a stream.",
)
@stream_options(labelled=False)
@vector_option(
    "--threshold",
    type=float,
    default=0.9,
    metavar="X",
    help="How similar two documents have to be: their cosine (default: 0.9).",
)
@vector_option(
    "--window",
    type=int,
    default=10_000,
    metavar="N",
    help="How many of the latest documents to compare with (default: 10000).",
)
@vector_options
@written_option
@quiet_option
def similar_command(
    stream: Stream,
    threshold: float,
    window: int,
    vectors: dict[str, Any],
    output: str,
    quiet: bool,
) -> None:
    """Find the documents of a stream that are nearly the same as earlier ones.

    Writes a JSON line for each: its id, the id of the most similar document
    before it, and their similarity.
    """
    keep_inputs({"--output": output}, stream.paths)
    from clasher.io import LineWriter
    from clasher.unsupervised.similar import Similar, check_threshold

    check_threshold(threshold)
    similar = Similar(window, **vectors)
    found = 0
    with stream.opened(labelled=False) as batches, LineWriter(output) as writer:
        with terminal.compiling(quiet=quiet):
            Similar(1, 2).add_many(["a word"])
        aside = output != STANDARD_STREAM or not terminal.on_terminal()
        with (
            stream.bar(quiet=quiet or not aside) as bar,
            HeldInterrupt() as ctrl_c,
            closing(hashed_ahead(similar, batches)) as source,
        ):
            for batch, hashed in ctrl_c.between(source):
                copies = similar.near_duplicates(hashed, batch.ids, threshold)
                writer.write_lines(
                    [copy._asdict() | {"similarity": round(copy.similarity, DECIMALS)}
                     for copy in copies]
                )  # fmt: skip
                found += len(copies)
                bar.predicted(len(batch))
    of = counted(bar.documents, "document")
    terminal.say(f"{counted(found, 'near-duplicate')} in {of}", quiet=quiet)
    if ctrl_c.asked:
        terminal.leave_interrupted(bar.documents)
