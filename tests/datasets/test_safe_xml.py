from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.datasets.safe_xml import parse_xml, text_of
from clasher.io.records import FaultError

printable = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")


@given(st.text(printable))
def test_escaped_text_is_read_as_it_was(text):
    assert text_of(parse_xml(f"<p>{escape(text)}</p>".encode())) == text


@given(st.binary())
def test_any_bytes_end_in_a_tree_or_a_fault(raw):
    try:
        assert parse_xml(raw).tag
    except FaultError as fault:
        reported = str(fault)
        assert reported.isprintable()


BOMB = (
    b'<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(
        b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
    )
    + b"]><lolz>&j;</lolz>"
)  # fmt: skip
DANGEROUS = {
    "a bomb": BOMB,
    "a file": b'<!DOCTYPE p [<!ENTITY a SYSTEM "file:///etc/passwd">]><p>&a;</p>',
    "the network": b'<!DOCTYPE p [<!ENTITY a SYSTEM "http://localhost:1/">]><p>&a;</p>',
    "parameters": b'<!DOCTYPE p [<!ENTITY % a SYSTEM "http://localhost:1/"> %a;]><p/>',
}


@pytest.mark.parametrize("raw", DANGEROUS.values(), ids=DANGEROUS)
def test_a_document_with_entities_of_its_own_is_refused(raw):
    with pytest.raises(FaultError, match="it declares an entity"):
        parse_xml(raw)


def test_an_outer_dtd_is_not_looked_at():
    raw = b'<!DOCTYPE p SYSTEM "http://localhost:1/p.dtd"><p>caf&eacute;</p>'
    assert parse_xml(raw).text == "café"


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "broken XML: no element found (line 1, column 1)"),
        (b"<p>wheat", "broken XML: no element found (line 1, column 9)"),
        (b"<p></q>", "broken XML: mismatched tag (line 1, column 6)"),
        (b"<p>\x03</p>", "broken XML: not well-formed (invalid token) (line 1, column 4)"),
        (b"<p>\xff</p>", "invalid UTF-8 at byte 4"),
        (b'<?xml version="1.0" encoding="utf-8"?><p>\xff</p>', "invalid UTF-8 at byte 42"),
        (b'<?xml version="1.0" encoding="klingon"?><p/>', "its encoding is unknown"),
        (b'<?xml version="1.0" encoding="shift_jis"?><p/>', "its encoding is unknown"),
        (b"<p>&nonsense;</p>", "entity &nonsense; is unknown"),
    ],
)
def test_broken_xml_is_reported(raw, problem):
    with pytest.raises(FaultError) as caught:
        parse_xml(raw)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "windows-1252", "utf-16"])
def test_a_document_is_read_in_the_encoding_it_says(encoding):
    raw = f'<?xml version="1.0" encoding="{encoding}"?><p>Café Öl</p>'.encode(encoding)
    assert parse_xml(raw).text == "Café Öl"


def test_a_deep_document_does_no_harm():
    depth = 100_000
    root = parse_xml(b"<p>" * depth + b"wheat" + b"</p>" * depth)
    assert text_of(root) == "wheat"


def test_nothing_has_no_text():
    assert text_of(None) == ""
