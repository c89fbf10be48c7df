"""The report of an evaluation: one self-contained HTML page.

The charts are inline SVG, so that the style sheet alone adapts them to light, dark, phone and
paper, and a report takes a hundred kilobytes; a plotting library would add megabytes. Texts and
labels are hostile input: the template escapes every value, and the page's content security policy
allows only its own script and no requests.
"""

import base64
import functools
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from clasher.cli.format import bytes_, decimals, setting
from clasher.cli.report.charts import Chart, Line, line_chart, scatter_chart
from clasher.cli.report.examples import Sample, examples
from clasher.cli.tables import nearest_region
from clasher.durable import replace_text
from clasher.errors import MissingExtraError
from clasher.evaluate import Evaluation, Point
from clasher.learning.explain import Explanation
from clasher.metrics import RANKS, RankedFigures
from clasher.model import Clasher

try:
    import jinja2
    from markupsafe import Markup
except ImportError as error:
    raise MissingExtraError.of("Writing a report", "report") from error

MOST_ROWS = 5000  # of the label table
MOST_DOTS = 2000  # of the chart of labels
PRINTED_ROWS = 60  # of the label table; report.css hides the others
HARDEST = 10  # labels
HARD_SUPPORT = 10  # documents that a label needs to be listed as hard

OUTCOMES = {
    "hit": "Predicted and true",
    "alarm": "Predicted, but not true",
    "miss": "True, but not predicted",
    "unknown": "Predicted, not known if true",
}


def write_report(
    path: str | os.PathLike[str],
    evaluation: Evaluation,
    *,
    title: str = "Evaluation",
    stream: str = "",
    command: str = "",
    model: Clasher | None = None,
    sample: Sample | None = None,
    comparison: Mapping[str, Evaluation] | None = None,
) -> None:
    """Write the report of an evaluation as an HTML file.

    ``stream`` describes the stream, ``comparison`` shows other evaluations of it side by side. With
    the ``model`` after the evaluation and a ``sample``, the report shows the words that decide.
    """
    loader = jinja2.PackageLoader("clasher.cli.report")
    environment = jinja2.Environment(loader=loader, autoescape=True)
    environment.undefined = jinja2.StrictUndefined
    environment.filters |= {
        "ratio": decimals, "bytes": bytes_, "count": "{:,.0f}".format, "percent": "{:.0%}".format,
    }  # fmt: skip
    comparison = comparison or {}
    charts = {chart.key: chart for chart in (*_curves(evaluation), *_compared(comparison))}
    rows = evaluation.per_label[:MOST_ROWS]
    dots = [row for row in rows if row.support][:MOST_DOTS]
    scatter = scatter_chart("labels", [(row.label, row.support, row.f1) for row in dots])
    templates = files("clasher.cli.report") / "templates"
    style, script = ((templates / f"report.{kind}").read_text("utf-8") for kind in ("css", "js"))
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Labels of fewer documents are not listed as hard, unless all are rare.
    most = max((row.support for row in evaluation.per_label), default=1)
    hard_support = max(1, min(HARD_SUPPORT, most))
    hard = [row for row in evaluation.per_label if row.support >= hard_support]
    page = environment.get_template("report.html").render(
        result=evaluation,
        title=title,
        stream=stream,
        command=command,
        comparison=comparison,
        examples=examples(model, sample) if model is not None and sample is not None else [],
        reason=functools.partial(_reason, evaluation.settings, model),
        charts=charts,
        scatter=scatter,
        rows=rows,
        hidden_rows=len(evaluation.per_label) - len(rows),
        printed_rows=PRINTED_ROWS,
        hardest=sorted(hard, key=lambda row: (row.f1, -row.support))[:HARDEST],
        hard_support=hard_support,
        outcomes=OUTCOMES,
        facts=_facts(evaluation),
        settings=_settings(evaluation.settings),
        data={chart.key: chart.data for chart in (*charts.values(), scatter)},
        style=Markup(style),
        script=Markup(script),
        script_hash=Markup(f"'sha256-{script_hash}'"),
    )
    # A lone surrogate, in a label for instance, cannot be encoded.
    replace_text(path, page.encode("utf-8", "replace").decode())


LINES: Sequence[tuple[str, str, str, Callable[[Point], float]]] = (
    ("macro", "over labels seen", "macro dashed", lambda point: point.cumulative.macro_f1),
    ("macro", "window", "macro thin", lambda point: point.window.macro_f1),
    ("micro", "cumulative", "micro", lambda point: point.cumulative.micro_f1),
    ("micro", "window", "micro thin", lambda point: point.window.micro_f1),
    ("rate", "current", "rate", lambda point: point.documents_per_second),
    ("rate", "average", "rate dashed", lambda point: point.documents / point.seconds),
    ("memory", "model", "size", lambda point: point.state_bytes),
    ("memory", "process", "other", lambda point: point.memory_bytes),
)
"""The chart, the name, the style and the value of each line."""


def _curves(result: Evaluation) -> Iterator[Chart]:
    documents = [point.documents for point in result.curve]
    lines = {"macro": [Line("over all labels", result.macro_f1_over_all(), "macro")]}
    for chart, name, style, value in LINES:
        line = Line(name, [value(point) for point in result.curve], style)
        lines.setdefault(chart, []).append(line)
    kinds = {"macro": "ratio", "micro": "ratio", "rate": "rate", "memory": "size"}
    for chart, kind in kinds.items():
        yield line_chart(chart, documents, lines[chart], kind)


def _compared(comparison: Mapping[str, Evaluation]) -> Iterator[Chart]:
    """Yield charts of macro and micro F1 that compare several evaluations."""
    if not comparison:
        return
    documents = [point.documents for point in next(iter(comparison.values())).curve]
    macro, micro = [], []
    for number, (name, result) in enumerate(comparison.items()):
        style = f"rule-{number % 6}"
        macro.append(Line(name, result.macro_f1_over_all(), style))
        micro.append(Line(name, [p.cumulative.micro_f1 for p in result.curve], style))
    yield line_chart("compared_macro", documents, macro, "ratio")
    yield line_chart("compared_micro", documents, micro, "ratio")


def _reason(settings: Mapping[str, Any], model: Clasher | None, found: Explanation) -> str:
    """Explain the probability of a label in a sentence."""
    threshold = "" if model is None else f" (predicted above {decimals(model.threshold)})"
    near = nearest_region(found)
    if settings["rule"] in ("margin", "perceptron"):
        return (
            f"Probability {decimals(found.probability)}{threshold}; {near}. "
            f"The parts add up to the evidence (log-odds), {found.evidence:+.2f}:"
        )
    return (
        f"{found.probability:.0%} of the documents in its region have the label{threshold}; "
        f"{near}. The parts add up to the cosine:"
    )


def _facts(result: Evaluation) -> list[tuple[str, str]]:
    ratios = (
        "macro_F1", "macro_precision", "macro_recall", "micro_F1", "micro_precision",
        "micro_recall", "accuracy", "subset_accuracy",
    )  # fmt: skip
    return [
        ("documents", f"{result.documents:,}"),
        ("documents judged", f"{result.judged:,}"),
        ("documents learnt with labels", f"{result.taught:,}"),
        ("labels", f"{result.labels:,}"),
        *((name.replace("_", " "), decimals(getattr(result, name.lower()))) for name in ratios),
        ("Hamming loss", f"{result.hamming_loss:.5f}"),
        *_ranked_facts(result.ranked),
        ("seconds", f"{result.seconds:.2f}"),
        ("documents per second", f"{result.documents_per_second:,.0f}"),
        ("model", f"{result.state_bytes:,} bytes"),
        ("process", f"{result.memory_bytes:,} bytes"),
    ]


def _ranked_facts(figures: RankedFigures | None) -> Iterator[tuple[str, str]]:
    if figures is not None:
        for name, key in {"precision": "precision", "propensity-scored precision": "psp"}.items():
            for k in RANKS:
                yield f"{name} at {k}", decimals(getattr(figures, f"{key}_at_{k}"))


def _settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the settings, with the effective value of those left at None."""
    rule = settings["rule"]
    unset = {
        "threshold": "learnt" if rule == "margin" else "0.5",
        "at_least_one": "learnt" if rule in ("margin", "perceptron") else "True",
    }
    return [
        (name, unset.get(name, "none") if value is None else setting(value))
        for name, value in settings.items()
    ]
