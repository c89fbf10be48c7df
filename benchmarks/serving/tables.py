"""Make the table of the service."""

from __future__ import annotations

from typing import Any

from benchmarks.tables import markdown, provenance


def table(study: dict[str, Any]) -> str:
    """Show all figures, with the commands that measured them."""
    found = study["figures"]
    rows = [row for name, render in _ROWS.items() if name in found for row in render(found[name])]
    heads = ["load", "throughput", "p50", "p99", "p99.9"]
    return (
        f"{markdown(heads, rows)}\n\n{_commands(found)}\n\n{study['corpus']}; {provenance(study)}"
    )


def _commands(found: dict[str, Any]) -> str:
    """List the command of each study, and the load of the machine before it."""
    return "\n".join(
        f"- {name}: `{one['command']}`, {one['date']}, load before the run {one['load_before']}"
        for name, one in found.items()
    )


def _latencies(figures: dict[str, Any]) -> list[str]:
    return [f"{figures[name]:.1f} ms" for name in ("p50_ms", "p99_ms", "p999_ms")]


def _single(found: dict[str, Any]) -> list[list[str]]:
    clients = found["clients"]
    bare = {"FastAPI endpoint that returns nothing": found["bare"]}
    if "starlette" in found:
        bare["Starlette endpoint that returns nothing"] = found["starlette"]
    return [
        [f"{name}, {clients} clients", f"{one['per_second']:,.0f} requests/s", *_latencies(one)]
        for name, one in bare.items()
    ] + [
        [f"single predictions, {clients} clients",
         f"{found['predict']['per_second']:,.0f} requests/s, {found['ratio']:.2f} × FastAPI",
         *_latencies(found["predict"])],
    ]  # fmt: skip


def _batches(found: dict[str, Any]) -> list[list[str]]:
    return [
        [f"predictions in batches of 100, while learning {found['learnt_per_second']:,.0f}/s",
         f"{found['documents_per_second']:,.0f} documents/s", *_latencies(found)]
    ]  # fmt: skip


def _learning(found: dict[str, Any]) -> list[list[str]]:
    return [
        [f"durable learning, single documents, {found['clients']} clients",
         f"{found['per_second']:,.0f} documents/s", *_latencies(found)]
    ]  # fmt: skip


def _soak(found: dict[str, Any]) -> list[list[str]]:
    memory = [size for _, size in found["memory"]]
    sizes = [memory[len(memory) // 10], memory[-1], max(memory)]
    return [
        [f"soak of {found['minutes']:g} minutes, predictions",
         f"{found['predict']['per_second']:,.0f} requests/s", *_latencies(found["predict"])],
        ["the same soak, learning", f"{found['learn']['per_second']:,.0f} documents/s",
         *_latencies(found["learn"])],
        ["memory after a tenth of the soak, at its end, at its peak (while writing a snapshot)",
         ", ".join(f"{size / 1e6:,.0f} MB" for size in sizes), "", "", ""],
    ]  # fmt: skip


def _recovery(found: dict[str, Any]) -> list[list[str]]:
    empty = found["empty_seconds"]
    return [["start with an empty folder", f"{empty:.1f} s", "", "", ""]] + [
        [f"start after a kill, {row['documents']:,} documents since the last snapshot",
         f"{row['seconds']:.1f} s", "", "", ""]
        for row in found["rows"]
    ]  # fmt: skip


_ROWS = {
    "single": _single,
    "batches": _batches,
    "learning": _learning,
    "soak": _soak,
    "recovery": _recovery,
}
