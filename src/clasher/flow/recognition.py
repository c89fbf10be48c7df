"""Recognise a stream, whatever its address is spelt like.

A snapshot keeps a position for each address, and beside it what the stream says of itself
(``Source.identity``). A stream that is given under another address is found again by that, so that
nothing is learnt twice. A stream that a folder does not know must be allowed by the user.
"""

from __future__ import annotations

from collections.abc import Callable

from clasher.errors import StreamError
from clasher.flow.state import State
from clasher.io.streams import Source

OPTION = "--new-stream"


def recognise(
    state: State, role: str, source: Source, tell: Callable[[str], object], *, new: bool
) -> None:
    """Let a state know a source: under its address, an earlier one, or as a new stream.

    Parameters
    ----------
    state
        What is changed: the positions and identities of its streams.
    role
        ``documents`` or ``labels``.
    source
        The stream that will be read, not open yet.
    tell
        Told of another address, or of a new stream.
    new
        Whether a stream that the folder does not know is welcome.
    """
    identity, kept = source.identity(), state.streams[role]
    if source.name in state.positions:
        before = kept.get(source.name)
        if before is not None and identity is not None and not source.same(before):
            _welcome_other(state, source, tell, new=new)
    else:
        known = [name for name in kept if name in state.positions]
        earlier = None if identity is None else _earlier(source, kept, known)
        if earlier is not None:
            _move(state, role, earlier, source.name)
            tell(f"{source.name}: is the stream that was read as {earlier}; goes on where it was")
        elif known:
            _welcome_new(state, role, source, known, tell, new=new)
    kept[source.name] = kept.get(source.name) if identity is None else identity


def _earlier(source: Source, kept: dict[str, str | None], known: list[str]) -> str | None:
    """The address under which a stream was read before."""
    for name in known:
        identity = kept[name]
        if identity is not None and source.same(identity):
            return name
    return None


def _move(state: State, role: str, earlier: str, name: str) -> None:
    """Go on under another address; the party may be the source itself, and is named like it."""
    state.positions[name] = state.positions.pop(earlier)
    state.streams[role][name] = state.streams[role].pop(earlier)
    if earlier in state.agreed:
        state.agreed[name] = state.agreed.pop(earlier)


def _welcome_other(
    state: State, source: Source, tell: Callable[[str], object], *, new: bool
) -> None:
    if not new:
        raise StreamError(
            f"{source.name}: is not the stream that was read before: it was set back, replaced or "
            f"made again. Restore it, or learn it from its beginning as a new one: {OPTION}"
        )
    tell(f"{source.name}: is not the stream that was read before; begins with it as a new one")
    del state.positions[source.name]
    if source.party is not None:
        state.agreed.pop(source.party.name, None)


def _welcome_new(
    state: State, role: str, source: Source, known: list[str], tell: Callable[[str], object],
    *, new: bool,
) -> None:  # fmt: skip
    if not new:
        raise StreamError(
            f"{source.name}: this folder has learnt {role} of {', '.join(known)}, and does not "
            f"know this stream. To learn it as well, from its beginning: {OPTION}"
        )
    tell(f"{source.name}: begins with it as a new stream, after {', '.join(known)}")
