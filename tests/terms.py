"""Random vocabularies."""

from __future__ import annotations

from hypothesis import strategies as st

from clasher.errors import TermError
from clasher.vocabulary import Term, Vocabulary

nasty = st.text(
    st.sampled_from("aBé|\t\n\r<>:/-_ \"',\u200b\ufeff\x85\u2028\x00{}") | st.characters()
)
"""Labels and names, mostly of signs that mean something in files."""

plain = st.text(st.sampled_from("abcDE 12-_."), min_size=1)


@st.composite
def vocabularies(draw: st.DrawFn, text: st.SearchStrategy[str]) -> Vocabulary:
    """Draw a vocabulary; parents are among the earlier terms, then the order is shuffled."""
    text = text.filter(is_visible)
    found: dict[str, Term] = {}
    for label in draw(st.lists(text, max_size=6)):
        parents = draw(st.lists(st.sampled_from(list(found)), max_size=3)) if found else []
        name, others = draw(st.none() | text), draw(st.lists(text, max_size=3))
        term = Term(label, name, others, parents)
        found.setdefault(term.label, term)
    return Vocabulary(draw(st.permutations(list(found.values()))), closed=draw(st.booleans()))


def is_visible(text: str) -> bool:
    try:
        Term(text)
    except TermError:
        return False
    return True
