"""Run flows with small chunks and frequent snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clasher.flow import Figures, Flow, FlowOptions, Outlet, Route
from clasher.io.records import Fields
from clasher.io.registry import commit_as_one, sink_at, source_at
from clasher.settings import Settings
from tests.flow.plain import SETTINGS

# Little is remembered: what is learnt twice after a crash must not pass for a duplicate.
OFTEN: dict[str, Any] = {
    "chunk": 20, "snapshot_documents": 60, "remember": 5, "idle": 0.0, "give_up": 20.0,
}  # fmt: skip


def flow(
    folder: Path,
    source: str,
    sink: str | None = None,
    *,
    labels: str | None = None,
    routes: Sequence[str] = (),
    letters: str | None = None,
    transactional: bool = False,
    settings: Settings | None = SETTINGS,
    notes: list[str] | None = None,
    enough: int | None = None,
    **options: Any,
) -> Flow:
    """Make a flow that ends when nothing more comes, with options of ``FlowOptions``.

    One that knows how many documents are ``enough`` ends with them.
    """
    ways = [Outlet(sink_at(route.url), route) for route in map(Route.of, routes)]
    documents, outlets = (
        source_at(source),
        [*([] if sink is None else [Outlet(sink_at(sink))]), *ways],
    )
    if transactional:
        commit_as_one(documents, [outlet.sink for outlet in outlets])
    made = Flow(
        folder,
        documents,
        outlets,
        labels=None if labels is None else source_at(labels, Fields(text=None)),
        letters=None if letters is None else sink_at(letters),
        settings=None if (folder / "model.clasher").exists() else settings,
        options=FlowOptions(**OFTEN | options),
        on_note=(lambda line: None) if notes is None else notes.append,
        on_progress=lambda figures: made.stop() if figures.documents == enough else None,
    )
    return made


def run(*given: Any, **options: Any) -> Figures:
    """Run a flow to its end."""
    return flow(*given, **options).run()
