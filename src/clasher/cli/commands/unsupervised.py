"""Commands for text without labels: ``clusters`` and ``similar``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from clasher.cli import terminal
from clasher.cli.format import counted
from clasher.cli.options import command, json_option, output_option, section, written_option
from clasher.cli.settings import vector_options
from clasher.cli.streams import Stream, stream_options
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.cli.report.examples import Document
    from clasher.unsupervised.clusters import Clusters

SAMPLE = 2000  # documents to find examples among
LONGEST = 100_000  # characters of an example
DECIMALS = 6

_model = section("Model")


@command("clusters", "Group the documents of a stream without labels.")
@stream_options(labelled=False)
@_model("--k N = 20  The maximum number of clusters.", type=int)
@_model(
    "--threshold X = 0.2  Start a new cluster for a document whose cosine to every cluster is "
    "lower.",
    "--recycle  Replace a cluster that has had no new document for long when a new one starts.",
)
@_model(
    "--half-life N  Halve the weight of a document after N more (default: nothing is forgotten).",
    type=float,
)
@vector_options
@output_option("--output -o FILE  Write a JSON line for each document: id, cluster, similarity.")
@json_option("the clusters")
@output_option(
    "--save FILE  Save the clusters.", "--words N = 8  How many words to show for each cluster."
)
def clusters_command(
    stream: Stream,
    vectors: dict[str, Any],
    output: str | None,
    json_path: str | None,
    save: str | None,
    words: int,
    **settings: Any,
) -> None:
    """Group the documents of a stream by their words.

    Each document joins the cluster whose mean is most similar to it, or starts
    a new one if none is similar. Ctrl-C ends the stream: all outputs are
    written, with the clusters so far.

    $ clasher clusters news.jsonl
    $ clasher clusters news.jsonl --k 100 --output clusters.jsonl
    $ clasher clusters tickets.csv --text body --json - | jq '.clusters[].words'
    """
    outputs = {"--output": output, "--json": json_path, "--save": save}
    terminal.check_outputs(outputs, stream.paths, models=["--save"])
    if output == json_path == terminal.STANDARD_STREAM:
        raise SettingError("--output - and --json - cannot both use standard output; name a file")
    from clasher.cli.report.examples import Sample
    from clasher.io import LineWriter
    from clasher.unsupervised.clusters import Clusters

    clusters = Clusters(**settings, **vectors)
    sample = Sample(SAMPLE, seed=clusters.settings.seed, longest=LONGEST, labelled=False)
    with (
        stream.hashed(clusters, warm_up=lambda: Clusters(1, 2).learn_many(["a word"])) as source,
        nullcontext() if output is None else LineWriter(output) as writer,
    ):
        for batch, hashed in source:
            found = clusters.learn_many(hashed)
            sample.add(batch)
            if writer is not None:
                cosines = (round(cosine, DECIMALS) for cosine in found.similarities.tolist())
                triples = zip(batch.ids, found.clusters.tolist(), cosines, strict=True)
                names = ("id", "cluster", "similarity")
                writer.write_lines([dict(zip(names, row, strict=True)) for row in triples])
    if save is not None:
        clusters.save(save)
    rows = list(_clusters(clusters, sample.documents, words))
    if json_path is not None:
        figures = {"documents": clusters.documents, "settings": clusters.settings.to_dict()}
        terminal.write_json(json_path, figures | {"clusters": rows})
    if terminal.STANDARD_STREAM not in (json_path, output):
        from clasher.cli.tables import clusters_view, show

        show(clusters_view(rows, stream.name, clusters.documents))
    source.exit_if_interrupted()


def _clusters(
    clusters: Clusters, documents: list[Document], words: int
) -> Iterator[dict[str, Any]]:
    """Describe the clusters, the largest first, each with its most typical sampled document."""
    found = clusters.predict_many([document.text for document in documents])
    examples: dict[int, Document] = {}
    for at in (-found.similarities).argsort(kind="stable").tolist():
        examples.setdefault(int(found.clusters[at]), documents[at])
    sizes = clusters.sizes
    for number in (-sizes).argsort(kind="stable").tolist():
        example = examples.get(number)
        top = clusters.top_words(number, words)
        yield {
            "cluster": number,
            "size": int(sizes[number]),
            "words": {word: round(weight, DECIMALS) for word, weight in top},
            "example": None if example is None else example._asdict() | {"labels": []},
        }


@command("similar", "Find near-duplicates in a stream.")
@stream_options(labelled=False)
@_model("--threshold X = 0.9  The lowest cosine of two near-duplicates.")
@_model("--window N = 10000  Compare with the last N documents.", type=int)
@vector_options
@written_option
def similar_command(
    stream: Stream, threshold: float, window: int, vectors: dict[str, Any], output: str
) -> None:
    """Find documents of a stream that are nearly the same as earlier ones.

    Writes a JSON line for each: its id, the id of the most similar document
    before it, and their similarity.

    $ clasher similar news.jsonl > duplicates.jsonl
    $ clasher similar inbox.csv --text body --threshold 0.7 --window 100000
    $ tail -f feed.jsonl | clasher similar - | jq .of
    """
    terminal.protect_inputs({"--output": output}, stream.paths)
    from clasher.io import LineWriter
    from clasher.unsupervised.similar import Similar, check_threshold

    check_threshold(threshold)
    similar = Similar(window, **vectors)
    found = 0
    with (
        stream.hashed(
            similar, warm_up=lambda: Similar(1, 2).add_many(["a word"]), output=output
        ) as source,
        LineWriter(output) as writer,
    ):
        for batch, hashed in source:
            copies = similar.near_duplicates(hashed, batch.ids, threshold)
            rounded = (
                copy._replace(similarity=round(copy.similarity, DECIMALS)) for copy in copies
            )
            writer.write_lines([copy._asdict() for copy in rounded])
            found += len(copies)
    documents = counted(source.bar.documents, "document")
    terminal.say(f"{counted(found, 'near-duplicate')} in {documents}")
    source.exit_if_interrupted()
