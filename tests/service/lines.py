"""Documents for tests of the service."""

from __future__ import annotations

from clasher.service.structs import Document

GRAIN = Document(text="wheat and corn harvest", labels=["grain"])
METAL = Document(text="gold and zinc from the smelter", labels=["metal"])
BOTH = Document(text="gold prices and wheat prices", labels=["grain", "metal"])
STREAM = [GRAIN, METAL, BOTH, Document(text="corn harvest", labels=["grain"])] * 10


def document(text: str, **given: object) -> Document:
    return Document(text=text, **given)
