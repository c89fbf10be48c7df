"""Who must agree to the snapshots of a flow: one at most."""

from __future__ import annotations

from collections.abc import Sequence

from clasher.errors import SettingError
from clasher.io.streams import Party, Sink, Source


def only_party(documents: Source, labels: Source | None, sinks: Sequence[Sink]) -> Party | None:
    """The one party that must agree to snapshots; two could not agree in one step."""
    if labels is not None and labels.party is not None:
        raise SettingError(
            f"{labels.name}: labels cannot come from a group; leave the group out, then their "
            f"position is kept with the model"
        )
    parties = [documents.party, *(sink.party for sink in sinks)]
    distinct = list({party.name: party for party in parties if party is not None}.values())
    if len(distinct) > 1:
        names = " and ".join(party.name for party in distinct)
        raise SettingError(
            f"{names} would each have to agree to every snapshot, which only one can; read without "
            f"a group, or write without transactions"
        )
    return distinct[0] if distinct else None
