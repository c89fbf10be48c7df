"""``clasher plan``: which dimensions to take."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from clasher.app import notes
from clasher.app.figures import size
from clasher.app.files import STANDARD_STREAM, check_outputs, write_json
from clasher.app.options import Command, option, output_option, quiet_option
from clasher.app.streams import Stream, stream_options
from clasher.app.wanted import Wanted, settings_options
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.distortion import Sample
    from clasher.planning import Planner
    from clasher.settings import Settings

SAMPLE = 2000

EXAMPLES = """
    clasher plan --labels 2000 --memory 2GB
    clasher plan news.jsonl --labels 2000 --memory 500MB --rule centroid
    clasher plan news.jsonl --labels 100 --dimensions 65536
    clasher plan news.jsonl --labels 100 --error 0.1 --confidence 0.9
"""


def _memory(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    return None if value is None else size(value)


@click.command(
    "plan", cls=Command, examples=EXAMPLES, short_help="Propose dimensions that fit into memory."
)
@option(
    "--labels",
    "label_count",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    section="Plan",
    help="How many labels the stream will have.",
)
@option(
    "--memory",
    callback=_memory,
    metavar="SIZE",
    section="Plan",
    help="What the model may take: 500MB, 2GB, 1.5GiB.",
)
@option(
    "--error",
    type=float,
    metavar="X",
    section="Plan",
    help="The error one can live with, in place of --memory: find the size for it.",
)
@option(
    "--confidence",
    type=float,
    default=0.9,
    metavar="P",
    section="Plan",
    help="How sure a guarantee has to be, between 0.7 and 1 (default: 0.9).",
)
@stream_options(labelled=False, sample=SAMPLE)
@settings_options
@output_option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write the plan as JSON; - writes it to standard output in place of the tables.",
)
@quiet_option
def command(
    stream: Stream,
    wanted: Wanted,
    label_count: int,
    memory: int | None,
    error: float | None,
    confidence: float,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Propose the dimensions of a model.

    They are the largest power of two that fits into --memory with all labels,
    or what an --error asks for, or what --dimensions says. Beside it stand its
    neighbours, what the theorems guarantee for this model and, given a STREAM,
    the distortion measured on its first documents. A theorem whose premises do
    not hold for the model says which one fails. Most models need a STREAM for
    --error: no theorem covers their weights without text.
    """
    check_outputs({"--json": json_path}, stream.paths)
    asked = [memory, error, wanted.given.get("dimensions")]
    if sum(value is not None for value in asked) != 1:
        raise SettingError("plan wants one of --memory SIZE, --error X and --dimensions N")
    settings = _settings(wanted, label_count)
    planner = _planner(settings, confidence, stream, quiet=quiet)
    proposed = settings.dimensions
    if memory is not None:
        proposed = planner.fitting(memory)
    elif error is not None:
        proposed = planner.sufficient(error)
    _tell(planner, proposed, memory, error, stream, json_path)


def _settings(wanted: Wanted, labels: int) -> Settings:
    settings = wanted.settings()
    if labels > wanted.given.get("max_labels", labels):
        raise SettingError(
            f"--labels {labels} are more than --max-labels {settings.max_labels}; leave that out"
        )
    return settings if "max_labels" in wanted.given else replace(settings, max_labels=labels)


def _planner(settings: Settings, confidence: float, stream: Stream, *, quiet: bool) -> Planner:
    from clasher.planning import Planner

    planner = Planner(settings, confidence)  # finds fault before the stream is read
    if not stream.paths:
        return planner
    with notes.compiling(quiet=quiet):
        return replace(planner, sample=_sample(settings, stream))


def _sample(settings: Settings, stream: Stream) -> Sample:
    from clasher.distortion import Sample

    with stream.opened(labelled=False) as batches:
        texts = list(chain.from_iterable(batch.texts.to_pylist() for batch in batches))
    return Sample.of(texts, settings)


def _tell(
    planner: Planner,
    proposed: int,
    memory: int | None,
    error: float | None,
    stream: Stream,
    json_path: str | None,
) -> None:
    from clasher.app.plan_view import plan_view
    from clasher.app.tables import show

    sizes = planner.sizes(proposed)
    needs = [] if error is None else planner.needs(error)
    if json_path is not None:
        write_json(json_path, _as_dict(planner, proposed, sizes, needs))
    if json_path != STANDARD_STREAM:
        name = stream.name if stream.paths else None
        show(plan_view(planner, proposed, sizes, needs, memory=memory, error=error, stream=name))


def _as_dict(planner: Planner, proposed: int, sizes: Any, needs: Any) -> dict[str, Any]:
    from dataclasses import asdict

    sample = planner.sample
    return {
        "dimensions": proposed,
        "nbytes": planner.nbytes(proposed),
        "labels": planner.settings.max_labels,
        "confidence": planner.confidence,
        "settings": planner.settings.to_dict() | {"dimensions": proposed},
        "sample": None if sample is None else sample.to_dict(),
        "sizes": [size.to_dict() for size in sizes],
        "needs": [asdict(need) for need in needs],
    }
