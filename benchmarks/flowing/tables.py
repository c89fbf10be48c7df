"""The figures of streams as Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.tables import markdown, provenance

TOLD = {
    "group": "through a Redis group, outputs to a file",
    "group, to Redis": "through a Redis group, outputs to another stream",
    "position": "through a Redis stream without a group, outputs to a file",
    "topic": "through a Kafka topic without a group, outputs to a file",
    "members": "through a Kafka group, outputs to a file",
    "transactions": "through a Kafka group, outputs to another topic in transactions",
    "decoding topic": "a loop of confluent-kafka that reads, with `json.loads`",
    "decoding members": "a loop of confluent-kafka that joins a group, reads with `json.loads` and "
    "commits",
    "run": "out of a file, outputs to a file",
    "bare group": "a loop of redis-py that reads and acknowledges",
    "bare": "a loop of redis-py that reads",
    "evaluate": "`clasher evaluate`, which writes nothing",
}


def table(study: dict[str, Any]) -> str:
    """All that was measured, and how to measure it again."""
    rows = [row for name, found in study["figures"].items() for row in _rows(name, found)]
    heads = ["what", "documents/s", "against", "documents/s", "ratio"]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"


def _rows(study: str, found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for one in found["ratios"]:
        own, peer = (statistics.median(found["rates"][one[way]]) for way in ("way", "peer"))
        rows.append(
            [f"{found['corpus']}, {TOLD[one['way']]}", f"{own:,.0f}", TOLD[one["peer"]],
             f"{peer:,.0f}", f"{one['ratio']:.2f}"]
        )  # fmt: skip
    compared = {name for one in found["ratios"] for name in (one["way"], one["peer"])}
    alone = [name for name in found["rates"] if name not in compared]
    rows += [
        [f"{found['corpus']}, {TOLD[name]}", f"{statistics.median(found['rates'][name]):,.0f}"]
        + ["–"] * 3
        for name in alone
    ]
    return rows
