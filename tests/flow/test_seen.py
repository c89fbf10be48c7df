from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clasher.flow.seen import DIGEST, Seen

digests = st.lists(st.integers(0, 30).map(lambda number: number.to_bytes(DIGEST, "big")))


@given(st.integers(0, 12), st.lists(digests))
def test_the_last_ones_are_known_however_they_are_cut_into_chunks(most, chunks):
    seen, order = Seen(most), []
    for chunk in chunks:
        wanted = []
        for place, digest in enumerate(chunk):
            if digest not in order or not most:
                wanted.append(place)
                order = [*order, digest][-most:] if most else []
        assert seen.new(chunk) == wanted
        assert Seen.of(seen.to_plain(), most).to_plain() == b"".join(order).hex()
