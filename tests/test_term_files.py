"""Files of terms: read in each format, written and read again, refused with their place."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import (
    ClasherError,
    MissingExtraError,
    RecordError,
    SettingError,
    StreamError,
    UnknownLabelError,
)
from clasher.vocabulary import Term, Vocabulary
from support.environment import optional
from tests.terms import nasty, plain, vocabularies


def read(tmp_path: Path, name: str, content: str | bytes, **options: Any) -> Vocabulary:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Vocabulary.read(path, **options)


OIL = Vocabulary(
    [Term("fuel", "Fuel"), Term("oil", "Crude oil", ["petroleum", "black gold"], ["fuel"])]
)
FILES = {
    "plain.tsv": "fuel\tFuel\noil\tCrude oil\tpetroleum|black gold\tfuel\n",
    "no line end.tsv": "fuel\tFuel\noil\tCrude oil\tpetroleum|black gold\tfuel",
    "windows.tsv": "\ufefffuel\tFuel\r\n\r\noil\tCrude oil\tpetroleum|black gold|\tfuel\r\n",
    "header.tsv": "label\tname\tparents\talternatives\n"
    "fuel\tFuel\noil\tCrude oil\tfuel\tpetroleum|black gold\n",
    "skos names.tsv": "Label\tprefLabel\tnotes\tbroader\taltLabel\n"
    "fuel\tFuel\t7\noil\tCrude oil\t\tfuel\tpetroleum|black gold\n",
    "quoted.csv": "label,name,alternatives,parents\n"
    'fuel,Fuel,,\noil,"Crude\noil","petroleum|black gold",fuel\n',
    "semicolons.csv": "broader;altLabel;label;name\n"
    ";;fuel;Fuel\nfuel;petroleum|black gold;oil;Crude oil\n",
    "list.json": json.dumps(OIL.to_dicts()),
    "object.json": '{"fuel": "Fuel", "oil": {"name": "Crude oil", '
    '"altLabel": ["petroleum", "black gold"], "broader": ["fuel"]}}',
    "lines.jsonl": "\n\n".join(map(json.dumps, OIL.to_dicts())),
    "lines.ndjson": "\n".join(map(json.dumps, OIL.to_dicts())),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read(tmp_path, name):
    found = read(tmp_path, name, FILES[name])
    assert found == OIL
    assert list(found) == ["fuel", "oil"]
    assert not found.closed


@pytest.mark.parametrize("name", FILES)
def test_the_format_of_another_extension_is_named(tmp_path, name):
    extension = name.partition(".")[2]
    assert read(tmp_path, "vocabulary", FILES[name], format=extension) == OIL
    closed = read(tmp_path, "a.txt", FILES[name], format=f".{extension.upper()}", closed=True)
    assert closed == Vocabulary(OIL.values(), closed=True)


def test_the_tsv_of_annif_is_read(tmp_path):
    content = "<http://example.org/oil>\tCrude oil\n<http://example.org/gas>\tGas\t665.7\n"
    assert read(tmp_path, "topics.tsv", content) == Vocabulary.of(
        {"http://example.org/oil": "Crude oil", "http://example.org/gas": "Gas"}
    )


def test_names_may_be_left_out_under_a_header(tmp_path):
    assert read(tmp_path, "a.csv", "label,broader\ncrudeOil,\nbrent,crudeOil\n") == Vocabulary(
        [Term("crudeOil", "crude Oil"), Term("brent", parents=["crudeOil"])]
    )
    assert read(tmp_path, "a.tsv", "label\ncrudeOil\n") == Vocabulary([Term("crudeOil")])


def test_a_first_row_of_data_is_no_header(tmp_path):
    found = read(tmp_path, "a.tsv", "label\tLabel\nname\tName\n")
    assert list(found.values()) == [Term("label", "Label"), Term("name", "Name")]


def test_a_file_may_hold_no_terms(tmp_path):
    assert read(tmp_path, "a.json", "[]") == Vocabulary()
    assert read(tmp_path, "a.tsv", "label\tname\n") == Vocabulary()


NO_OBJECT = "not an object; write one with label, name, alternatives, parents"
CELLS = "remove separators of cells from labels and names"
BAD_RECORDS = [
    ("a.tsv", "a\n", "1: the row has no name; write the label, a tab and the name"),
    ("a.tsv", "a\tA\n\nb\t \n", "3: the name is empty; write one"),
    ("a.tsv", "a\tA\n\tB\n", "2: the label is empty; write one"),
    ("a.tsv", "a\tA\nb\tB\na\tC\n", "3: label 'a' appears twice; keep one of them"),
    ("a.tsv", "a\tA\tx\t\ty\n", f"1: the row has 5 cells, at most 4 are known; {CELLS}"),
    ("a.tsv", "label\tname\na\tA\tx\n", f"2: the row has 3 cells, at most 2 are known; {CELLS}"),
    ("a.tsv", "label\tname\na\n", "2: the name is empty; write one"),
    (
        "a.tsv",
        "label\tname\tparent\na\tA\tx\n",
        "1: in the header, field 'parent' is unknown; did you mean 'parents'?",
    ),
    (
        "a.tsv",
        "label\tname\tprefLabel\n",
        "1: in the header, 'name' and 'prefLabel' are the same field; keep one of them",
    ),
    (
        "a.tsv",
        "a\tA\t\tb\n",
        "1: parent 'b' of 'a' is not a label of the vocabulary; "
        "add a term for it, or remove the parent",
    ),
    (
        "a.tsv",
        "x\tX\na\tA\t\tb\nb\tB\t\ta\n",
        "2: the parents lead in a circle: 'a' → 'b' → 'a'; remove one of these parents",
    ),
    ("a.tsv", b"a\tA\nb\tcaf\xe9\n", "2: invalid UTF-8 at byte 6; save the file as UTF-8"),
    ("a.tsv", b"\xef\xbb\xbf\xe9\n", "1: invalid UTF-8 at byte 1; save the file as UTF-8"),
    (
        "a.csv",
        "foo,bar\n",
        "1: the header has no column 'label', its columns are 'foo', 'bar'; "
        "name the columns label, name, alternatives, parents",
    ),
    (
        "a.csv",
        "lable,name\n",
        "1: in the header, field 'lable' is unknown; did you mean 'label'?",
    ),
    (
        "a.csv",
        'label,name\na,"A\nA"\n\nb,"B\n',
        "5: broken quoting: unexpected end of data; "
        "close every quote, and double quotes inside of quotes",
    ),
    ("a.csv", "label,name\na,A,x\n", f"2: the row has 3 cells, at most 2 are known; {CELLS}"),
    ("a.csv", 'label,name\na,"A\nA"\na,B\n', "4: label 'a' appears twice; keep one of them"),
    ("a.json", '[{"label": "a"}, {"name": "b"}]', "2: field 'label' is missing; write it"),
    ("a.json", '{"a": "A", "b": 7}', f"2: it is 7, {NO_OBJECT}"),
    (
        "a.jsonl",
        '{"label": "a"}\n\n{"label": "b"',
        "3: broken JSON: Expecting ',' delimiter (column 14); write one whole object a line",
    ),
    ("a.jsonl", '{"label": "a"}\n[]', f"2: it is [], {NO_OBJECT}"),
    (
        "a.jsonl",
        '{"label": "a", "label": "b"}',
        "1: key 'label' appears twice in one object; keep one of them",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_RECORDS)
def test_a_bad_record_is_named(tmp_path, name, content, message):
    with pytest.raises(RecordError) as caught:
        read(tmp_path, name, content)
    assert str(caught.value) == f"{tmp_path / name}, record {message}"


BAD_FILES = [
    ("a.tsv", "", " is empty; is it the right file?"),
    ("a.json", "\n", " is empty; is it the right file?"),
    ("a.tsv", "a\tA".encode("utf-16"), " is UTF-16 text; save it as UTF-8"),
    (
        "a.json",
        "5",
        ": terms must be a list, or a mapping label → name. Got int; write one of them",
    ),
    ("a.json", '{"a": "A", "a": "B"}', ": key 'a' appears twice in one object; keep one of them"),
    ("a.json", '{"a": {"label": "b"}}', ": key 'a' has a term of label 'b'; make them equal"),
    ("a.json", '{"a":\n A}', ", line 2: broken JSON: Expecting value; check it with jq"),
    (
        "a.json",
        '{"label": "a"}\n{"label": "b"}',
        ", line 2: broken JSON: Extra data; "
        "name the format with format='jsonl' if each line is an object of its own",
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES)
def test_a_bad_file_is_named(tmp_path, name, content, message):
    with pytest.raises(StreamError) as caught:
        read(tmp_path, name, content)
    assert str(caught.value) == f"{tmp_path / name}{message}"


def test_json_that_is_nested_deeply_is_refused(tmp_path):
    with pytest.raises(StreamError, match="it is nested too deeply; write a list of objects"):
        read(tmp_path, "a.json", "[" * 100_000)
    with pytest.raises(RecordError, match="record 1: it is nested too deeply"):
        read(tmp_path, "a.jsonl", "[" * 100_000)


signs = st.text(st.sampled_from("abA \t\n\r|,;\"'<>:/{}[]@.\x00é") | st.characters(codec="utf-8"))


@pytest.mark.parametrize("extension", ["tsv", "csv", "json", "jsonl", "ttl", "rdf"])
@given(content=st.binary() | signs.map(str.encode))
def test_any_bytes_end_in_a_vocabulary_or_an_error(tmp_path_factory, extension, content):
    if extension in ("ttl", "rdf"):
        optional("rdflib", "skos")
    try:
        found = read(tmp_path_factory.getbasetemp(), f"any.{extension}", content)
    except ClasherError as error:
        message = str(error)
        assert "\n" not in message
    else:
        assert Vocabulary.of(found.to_dicts()) == found


KNOWN = ".tsv, .csv, .json, .jsonl, .ndjson, .ttl, .nt, .rdf, .xml, .skos"


def test_missing_and_unknown_files_are_refused(tmp_path):
    with pytest.raises(StreamError, match=r"nothing\.tsv cannot be read: No such file"):
        Vocabulary.read(tmp_path / "nothing.tsv")
    with pytest.raises(StreamError, match="cannot be read: Is a directory"):
        Vocabulary.read(tmp_path, format="tsv")
    with pytest.raises(StreamError) as caught:
        read(tmp_path, "a.xls", "")
    assert str(caught.value) == (
        f"the extension of {tmp_path / 'a.xls'} is unknown for a vocabulary; known are {KNOWN}; "
        f"name the format with format=EXT"
    )
    with pytest.raises(StreamError) as caught:
        read(tmp_path, "a.tsv", "", format="xls")
    assert str(caught.value) == f"format 'xls' is unknown for a vocabulary; known are {KNOWN}"


def test_options_of_skos_are_refused_for_other_files(tmp_path):
    for options in ({"language": "de"}, {"key": "uri"}):
        with pytest.raises(SettingError, match="must be left out, it is for SKOS only"):
            read(tmp_path, "a.tsv", "a\tA", **options)
    with pytest.raises(SettingError, match=r"one of uri, notation, name, prefLabel\. Got 'x'"):
        read(tmp_path, "a.ttl", "", key="x")


# Writing


@pytest.mark.parametrize("extension", ["tsv", "json"])
@given(vocabulary=vocabularies(nasty) | vocabularies(plain))
def test_a_written_file_is_read_as_it_was(tmp_path_factory, extension, vocabulary):
    path = tmp_path_factory.getbasetemp() / f"round-trip.{extension}"
    try:
        vocabulary.write(path)
    except StreamError as error:
        refusal = str(error)
    else:
        found = Vocabulary.read(path, closed=vocabulary.closed)
        assert found == vocabulary
        assert list(found) == list(vocabulary)
        return
    assert extension == "tsv"
    assert refusal.endswith("which TSV cannot; write .json")


@pytest.mark.parametrize(
    ("term", "what"),
    [
        (Term("a\tb"), "label 'a\\tb': 'a\\tb' holds a tab"),
        (Term("a\nb"), "label 'a\\nb': 'a\\nb' holds a line end"),
        (Term("a", alternatives=["x|y"]), "label 'a': 'x|y' holds '|'"),
        (Term("<urn:a>"), "label '<urn:a>': '<urn:a>' holds a URI in brackets"),
    ],
    ids=["tab", "line end", "separator", "brackets"],
)
def test_what_tsv_cannot_hold_is_refused_and_the_old_file_stays(tmp_path, term, what):
    path = tmp_path / "a.tsv"
    OIL.write(path)
    with pytest.raises(StreamError) as caught:
        OIL.updated([term]).write(path)
    assert str(caught.value) == f"{path}: {what}, which TSV cannot; write .json"
    assert Vocabulary.read(path) == OIL
    OIL.updated([term]).write(tmp_path / "a.json")
    assert Vocabulary.read(tmp_path / "a.json") == OIL.updated([term])


def test_a_written_file_is_plain(tmp_path):
    OIL.write(tmp_path / "oil.tsv")
    assert (tmp_path / "oil.tsv").read_text() == (
        "label\tname\talternatives\tparents\nfuel\tFuel\n"
        "oil\tCrude oil\tpetroleum|black gold\tfuel\n"
    )
    Vocabulary.of({"oil": "Öl"}).write(tmp_path / "oil.json")
    assert (tmp_path / "oil.json").read_text() == '[\n{"label":"oil","name":"Öl"}\n]\n'


def test_files_that_cannot_be_written_are_refused(tmp_path):
    with pytest.raises(StreamError, match=r"a\.csv: a vocabulary is written as \.tsv or \.json"):
        OIL.write(tmp_path / "a.csv")
    with pytest.raises(StreamError, match=r"a\.tsv cannot be written: No such file or directory"):
        OIL.write(tmp_path / "missing" / "a.tsv")


def test_100_000_terms(tmp_path):
    many = Vocabulary(
        (
            Term(f"t{n}", f"term number {n}", [f"n{n}"], [f"t{n // 10}"] if n else [])
            for n in range(100_000)
        ),
        closed=True,
    )
    many.write(tmp_path / "many.tsv")
    found = Vocabulary.read(tmp_path / "many.tsv", closed=True)
    assert found == many
    assert found.ancestors("t99999") == ("t9999", "t999", "t99", "t9", "t0")
    with pytest.raises(UnknownLabelError, match=r"did you mean 't12345' \(term number 12345\)"):
        found.check("term nubmer 12345")


# SKOS

PREFIXES = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://example.org/topics/> .
"""
TURTLE = (
    PREFIXES
    + """
:oil a skos:Concept ; skos:notation "665.5" ; skos:broader :fuel ;
    skos:prefLabel "Crude oil"@en, "Rohöl"@de, "pétrole"@fr ;
    skos:altLabel "petroleum"@en, "black gold"@en, "Erdöl"@de ; skos:hiddenLabel "cruide oil"@en .
:fuel a skos:Concept ; skos:notation "662" ; skos:prefLabel "Brennstoff"@de, "fuel"@en-GB ;
    skos:narrower :gas, :old .
:gas a skos:Concept ; skos:notation "665.7" ; skos:prefLabel "Gas"@de, "gaz"@fr ;
    skos:broader :unknown .
:old a skos:Concept ; owl:deprecated true ; skos:prefLabel "Whale oil"@en ; skos:narrower :oil .
:topics a skos:ConceptScheme ; skos:prefLabel "Topics"@en .
"""
)
RDF_XML = """<?xml version="1.0" encoding="{0}"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#" xmlns:owl="http://www.w3.org/2002/07/owl#"
  xml:base="http://example.org/topics/">
<skos:Concept rdf:about="oil"><skos:notation>665.5</skos:notation>
  <skos:prefLabel xml:lang="en">Crude oil</skos:prefLabel>
  <skos:prefLabel xml:lang="de">Rohöl</skos:prefLabel>
  <skos:prefLabel xml:lang="fr">pétrole</skos:prefLabel>
  <skos:altLabel xml:lang="en">petroleum</skos:altLabel>
  <skos:altLabel xml:lang="en">black gold</skos:altLabel>
  <skos:altLabel xml:lang="de">Erdöl</skos:altLabel>
  <skos:hiddenLabel xml:lang="en">cruide oil</skos:hiddenLabel>
  <skos:broader rdf:resource="fuel"/></skos:Concept>
<skos:Concept rdf:about="fuel"><skos:notation>662</skos:notation>
  <skos:prefLabel xml:lang="de">Brennstoff</skos:prefLabel>
  <skos:prefLabel xml:lang="en-GB">fuel</skos:prefLabel>
  <skos:narrower><skos:Concept rdf:about="gas"><skos:notation>665.7</skos:notation>
    <skos:prefLabel xml:lang="de">Gas</skos:prefLabel>
    <skos:prefLabel xml:lang="fr">gaz</skos:prefLabel></skos:Concept></skos:narrower>
</skos:Concept>
<skos:Concept rdf:about="old"><skos:prefLabel xml:lang="en">Whale oil</skos:prefLabel>
  <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated>
</skos:Concept>
</rdf:RDF>
"""
SYNTAXES = {
    "a.ttl": TURTLE,
    "turtle.skos": TURTLE,
    "a.rdf": RDF_XML.format("utf-8"),
    "xml.skos": "\ufeff" + RDF_XML.format("utf-8"),
    "latin.xml": RDF_XML.format("iso-8859-1").encode("latin-1"),
    "utf-16.xml": RDF_XML.format("utf-16").encode("utf-16"),
}
CONCEPTS = ("fuel", "gas", "oil")
URI = "http://example.org/topics/"


@pytest.fixture
def rdflib() -> Any:
    return optional("rdflib", "skos")


def topics(fuel: str, gas: str, oil: str) -> Vocabulary:
    """Return what the files above hold, under these labels."""
    others = ["black gold", "petroleum", "cruide oil"]
    return Vocabulary(
        [
            Term(fuel, "fuel"),
            Term(gas, "Gas", parents=[fuel]),
            Term(oil, "Crude oil", others, [fuel]),
        ]
    )


@pytest.mark.parametrize("name", SYNTAXES)
def test_skos_is_read(tmp_path, rdflib, name):
    found = read(tmp_path, name, SYNTAXES[name])
    uris = [URI + concept for concept in CONCEPTS]
    assert found == topics(*uris)
    assert list(found) == uris


def test_n_triples_are_read(tmp_path, rdflib):
    skos = "http://www.w3.org/2004/02/skos/core#"
    kind = f"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{skos}Concept>"
    content = f'<urn:x:1> {kind} .\n<urn:x:1> <{skos}prefLabel> "One"@en .\n'
    assert read(tmp_path, "a.nt", content) == Vocabulary.of({"urn:x:1": "One"})


@pytest.mark.parametrize(
    ("key", "labels"),
    [
        ("uri", [URI + concept for concept in CONCEPTS]),
        ("notation", ["662", "665.7", "665.5"]),
        ("name", CONCEPTS),
        ("prefLabel", ["fuel", "Gas", "Crude oil"]),
    ],
)
def test_the_key_chooses_the_label(tmp_path, rdflib, key, labels):
    assert read(tmp_path, "a.ttl", TURTLE, key=key) == topics(*labels)


ENGLISH = ("black gold", "petroleum", "cruide oil")


@pytest.mark.parametrize(
    ("language", "names", "alternatives"),
    [
        (None, ["fuel", "Gas", "Crude oil"], ENGLISH),
        ("en", ["fuel", "Gas", "Crude oil"], ENGLISH),
        ("DE", ["Brennstoff", "Gas", "Rohöl"], ("Erdöl",)),
        ("fr", ["fuel", "gaz", "pétrole"], ()),
        ("fi", ["fuel", "Gas", "Crude oil"], ENGLISH),
    ],
)
def test_names_are_in_the_language(tmp_path, rdflib, language, names, alternatives):
    found = read(tmp_path, "a.ttl", TURTLE, language=language)
    assert [term.name for term in found.values()] == names
    assert found[URI + "oil"].alternatives == alternatives


def test_a_name_without_a_language_comes_before_foreign_ones(tmp_path, rdflib):
    content = PREFIXES + ':a a skos:Concept ; skos:prefLabel "Ä"@de, "plain", "Å"@sv .'
    assert read(tmp_path, "a.ttl", content).name_of(URI + "a") == "plain"


def test_a_concept_without_a_name_is_named_by_its_uri(tmp_path, rdflib):
    content = PREFIXES + ":windPower a skos:Concept . [] a skos:Concept ."
    assert read(tmp_path, "a.ttl", content) == Vocabulary([Term(f"{URI}windPower", "wind Power")])


def test_relative_uris_do_not_depend_on_the_folder(tmp_path, rdflib):
    found = read(tmp_path, "a.ttl", PREFIXES + "<oil> a skos:Concept .")
    assert list(found) == ["file:///oil"]


A = PREFIXES + ":a a skos:Concept"
RIGHT = "correct it, or name the right format with format=EXT"
URIS = "leave out key, then labels are URIs"
CONCEPT = f", concept <{URI}a>: "
BAD_SKOS = [
    ("a.ttl", PREFIXES, None, " has no skos:Concept; is it a SKOS vocabulary?"),
    (
        "a.ttl",
        A + " ;\n foaf:name 'A' .",
        None,
        f', line 5: broken Turtle: Prefix "foaf:" not bound; {RIGHT}',
    ),
    ("a.ttl", A, None, f": broken Turtle: its end is missing; {RIGHT}"),
    ("a.ttl", A + " ; skos:prefLabel ' '@en .", None, CONCEPT + "the name is empty; write one"),
    (
        "a.ttl",
        A + " ; skos:broader :a .",
        "name",
        CONCEPT + "the parents lead in a circle: 'a' → 'a'; remove one of these parents",
    ),
    ("a.ttl", A + " .", "notation", CONCEPT + f"it has no skos:notation; {URIS}"),
    (
        "a.ttl",
        A + " . <http://example.org/b#a> a skos:Concept .",
        "name",
        f"{CONCEPT}its name 'a' is also that of <http://example.org/b#a>; {URIS}",
    ),
    ("a.rdf", "<p>wheat", None, f", line 1: broken XML: no element found; {RIGHT}"),
    ("a.rdf", "<html/>", None, " has no skos:Concept; is it a SKOS vocabulary?"),
]


@pytest.mark.parametrize(("name", "content", "key", "message"), BAD_SKOS)
def test_bad_skos_is_refused(tmp_path, rdflib, name, content, key, message):
    with pytest.raises(StreamError) as caught:
        read(tmp_path, name, content, key=key)
    assert str(caught.value) == f"{tmp_path / name}{message}"


def test_xml_that_is_no_rdf_is_refused(tmp_path, rdflib):
    content = RDF_XML.format("utf-8").replace("</rdf:RDF>", "<rdf:RDF/></rdf:RDF>")
    with pytest.raises(StreamError, match=r"a\.rdf: broken RDF/XML: .*; correct it"):
        read(tmp_path, "a.rdf", content)


BOMB = (
    '<!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "' + f"&{a};" * 10 + '">' for a, b in pairwise("abcdefghij"))
    + "]><lolz>&j;</lolz>"
)


@pytest.mark.parametrize("name", ["a.rdf", "a.xml", "a.skos"])
@pytest.mark.parametrize(
    "content",
    [
        BOMB,
        '<!DOCTYPE p [<!ENTITY a SYSTEM "file:///etc/passwd">]><p>&a;</p>',
        '<!DOCTYPE p [<!ENTITY % a SYSTEM "http://localhost:1/"> %a;]><p/>',
    ],
    ids=["bomb", "file", "network"],
)
def test_xml_that_declares_entities_is_refused(tmp_path, rdflib, name, content):
    with pytest.raises(StreamError) as caught:
        read(tmp_path, name, content)
    assert str(caught.value) == (
        f"{tmp_path / name}: it declares an XML entity, 'a', which is not allowed; "
        f"write its text in its place, or save as Turtle"
    )


@pytest.mark.parametrize("encoding", ["klingon", "shift_jis"])
def test_xml_in_an_unknown_encoding_is_refused(tmp_path, rdflib, encoding):
    with pytest.raises(StreamError, match=r"its encoding is unknown .*; save it as UTF-8"):
        read(tmp_path, "a.rdf", f'<?xml version="1.0" encoding="{encoding}"?><p/>')


def test_skos_without_its_library_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError) as caught:
        read(tmp_path, "a.ttl", TURTLE)
    assert str(caught.value) == (
        "Reading SKOS needs an optional library: pip install 'clasher[skos]'"
    )
