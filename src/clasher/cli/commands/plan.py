"""``clasher plan``: propose the dimensions of a model."""

from dataclasses import asdict, replace
from itertools import chain

from clasher.cli import terminal
from clasher.cli.options import command, json_option, section
from clasher.cli.settings import ModelOptions, settings_options
from clasher.cli.streams import Stream, stream_options
from clasher.errors import SettingError

SAMPLE = 2000  # documents

_plan = section("Plan")


@command("plan", "Propose dimensions that fit into memory.")
@_plan("label_count --labels N  How many labels the stream will have.", required=True)
@_plan("--error X  Find the size for this acceptable error, instead of --memory.")
@_plan(
    "--confidence P = 0.9  The probability that a guarantee holds, between 0.7 and 1.", type=float
)
@stream_options(labelled=False, sample=SAMPLE)
@settings_options
@json_option("the plan")
def plan_command(
    stream: Stream,
    options: ModelOptions,
    label_count: int,
    error: float | None,
    confidence: float,
    json_path: str | None,
) -> None:
    """Propose the dimensions of a model.

    They are the largest power of two that fits into --memory even if every
    word meets every label, the size for an --error, or the given --dimensions.
    A model takes as much as it has learnt, so most take far less. Shows the sizes around
    it, what the theorems guarantee for this model and, given a STREAM, the
    distortion of its first documents. A theorem that does not apply to the
    model says why. Most models need a STREAM for --error: no theorem covers
    their weights without text.

    $ clasher plan --labels 2000 --memory 2GB
    $ clasher plan news.jsonl --labels 2000 --memory 500MB --rule centroid
    $ clasher plan news.jsonl --labels 100 --dimensions 65536
    $ clasher plan news.jsonl --labels 100 --error 0.1 --confidence 0.9
    """
    terminal.check_outputs({"--json": json_path}, stream.paths)
    from clasher.cli.tables import plan_view, write_or_show
    from clasher.theory.distortion import Sample
    from clasher.theory.plan import Planner

    memory = options.given.get("max_bytes")
    choices = [memory, error, options.given.get("dimensions")]
    if sum(value is not None for value in choices) != 1:
        raise SettingError("give one of --memory SIZE, --error X and --dimensions N")
    settings = options.settings()
    if label_count > options.given.get("max_labels", label_count):
        most = settings.max_labels
        raise SettingError(
            f"--labels {label_count} is more than --max-labels {most}; leave that out"
        )
    if "max_labels" not in options.given:
        settings = replace(settings, max_labels=label_count)
    planner = Planner(settings, confidence)  # checks the settings before the stream is read
    if stream.paths:
        with terminal.compiling():
            with stream.opened(labelled=False) as batches:
                texts = list(chain.from_iterable(batch.texts.to_pylist() for batch in batches))
            planner = replace(planner, sample=Sample.of(texts, settings))
    proposed = settings.dimensions
    if memory is not None:
        proposed = planner.fitting(memory)
    elif error is not None:
        proposed = planner.sufficient(error)
    sizes = planner.sizes(proposed)
    needs = [] if error is None else planner.needs(error)
    name = stream.name if stream.paths else None
    shown = plan_view(planner, proposed, sizes, needs, memory=memory, error=error, stream=name)
    write_or_show(
        json_path,
        lambda: {
            "dimensions": proposed,
            "nbytes": planner.nbytes(proposed),
            "labels": planner.settings.max_labels,
            "confidence": planner.confidence,
            "settings": planner.settings.to_dict() | {"dimensions": proposed},
            "sample": None if planner.sample is None else planner.sample.to_dict(),
            "sizes": [size.to_dict() for size in sizes],
            "needs": [asdict(need) for need in needs],
        },
        shown,
    )
