"""Files of terms: TSV, CSV, JSON, JSON lines and SKOS.

``read_records`` returns a file as records: mappings with ``label``, ``name``, ``alternatives`` and
``parents``, each with its place in the file. ``clasher.vocabulary`` checks their values. RDF is
read with rdflib (extra ``skos``). XML that declares entities is refused before rdflib sees it:
entities can expand without end, or name files and servers to read.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Final, TypeAlias
from xml.parsers import expat

import msgspec

from clasher.durable import replace_text
from clasher.errors import (
    MissingExtraError,
    RecordError,
    SettingError,
    StreamError,
    TermError,
    nearest,
)
from clasher.text.label_names import local_name

Place: TypeAlias = int | str  # a line or row, counted from 1, or the URI of a concept
Record: TypeAlias = tuple[Place, Any]

FIELDS: Final = ("label", "name", "alternatives", "parents")
KINDS: Final = {
    "tsv": "tsv", "csv": "csv", "json": "json", "jsonl": "jsonl", "ndjson": "jsonl",
    "ttl": "turtle", "nt": "turtle", "rdf": "xml", "xml": "xml", "skos": "skos",
}  # fmt: skip
KEYS: Final = ("uri", "notation", "name", "prefLabel")

_SPELLINGS: Final = {name: name for name in FIELDS} | {
    "prefLabel": "name", "altLabel": "alternatives", "broader": "parents"
}  # fmt: skip
_FIELD_OF: Final = {spelling.casefold(): field for spelling, field in _SPELLINGS.items()}
_LISTS: Final = ("alternatives", "parents")
_SEPARATOR: Final = "|"
_URI_IN_BRACKETS: Final = re.compile(r"\s*<([A-Za-z][\w+.-]*:[^<>\s]*)>\s*")
_SIGNS: Final = {"\t": "a tab", "\n": "a line end"}
_BOM: Final = b"\xef\xbb\xbf"
_BASE: Final = "file:///"  # of relative URIs, the same on every machine


def read_records(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002
    language: str | None = None,
    key: str | None = None,
) -> list[Record]:
    """Read the records of a file; ``Vocabulary.read`` explains the parameters."""
    source = os.fspath(path)
    kind = _kind(source, format)
    if kind not in ("turtle", "xml", "skos"):
        for parameter, value in (("language", language), ("key", key)):
            if value is not None:
                must_be = "left out, it is for SKOS only"
                raise SettingError.of(parameter, must_be, value, "Vocabulary.read")
    if key is not None and key not in KEYS:
        raise SettingError.of("key", f"one of {', '.join(KEYS)}", key, "Vocabulary.read")
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StreamError(f"{source} cannot be read: {reason}") from error
    if not raw.strip():
        raise StreamError(f"{source} is empty; is it the right file?")
    if kind in ("turtle", "xml", "skos"):
        return _read_skos(source, raw, kind, language, key or "uri")
    text = _decode(source, raw)
    return list(_READERS[kind](source, text))


def bad_record(source: str, place: Place, problem: str, remedy: str) -> StreamError:
    """Return the error for a bad record of a file."""
    if isinstance(place, int):
        return RecordError(source, place, problem, remedy)
    return StreamError(f"{source}, concept <{place}>: {problem}; {remedy}")


def entries(value: Any) -> list[Any]:
    """Return the terms of a list, or of a mapping from labels to names or terms."""
    if isinstance(value, Mapping):
        return [_entry(label, about) for label, about in value.items()]
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        problem = f"terms must be a list, or a mapping label → name. Got {type(value).__name__}"
        raise TermError(problem, "write one of them")
    return list(value)


def _entry(label: Any, about: Any) -> Any:
    if not isinstance(about, Mapping):
        return {"label": label, "name": about} if isinstance(about, str | None) else about
    if about.get("label", label) != label:
        raise TermError(f"key {label!r} has a term of label {about['label']!r}", "make them equal")
    return {"label": label, **about}


def fields_of(names: Iterable[Any]) -> dict[str, str]:
    """Find the fields of a term among the names in a record or header: field → name."""
    found: dict[str, str] = {}
    for name in names:
        field = _field(name) if isinstance(name, str) else None
        if field in found:
            problem = f"{found[field]!r} and {name!r} are the same field"
            raise TermError(problem, "keep one of them")
        if field is not None:
            found[field] = name
    return found


@lru_cache(1000)  # records of a file repeat their names
def _field(name: str) -> str | None:
    """Return the field of a name, None if it is another; refuse a misspelt one."""
    name = name.strip()
    field = _FIELD_OF.get(name.casefold())
    near = nearest(name, _SPELLINGS, 0.8) if field is None else None
    if near is not None:
        raise TermError(f"field {name!r} is unknown", f"did you mean {near!r}?")
    return field


def _kind(source: str, format: str | None) -> str:  # noqa: A002
    extension = os.path.splitext(source)[1] if format is None else format
    extension = extension.lower().removeprefix(".")
    if extension not in KINDS:
        known = ", ".join(f".{name}" for name in KINDS)
        if format is None:
            what = f"the extension of {source} is unknown for a vocabulary"
            raise StreamError(f"{what}; known are {known}; name the format with format=EXT")
        raise StreamError(f"format {format!r} is unknown for a vocabulary; known are {known}")
    return KINDS[extension]


def _decode(source: str, raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise StreamError(f"{source} is UTF-16 text; save it as UTF-8")
    raw = raw.removeprefix(_BOM)
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte = error.start - raw.rfind(b"\n", 0, error.start)
        problem = f"invalid UTF-8 at byte {byte}"
        raise RecordError(source, line, problem, "save the file as UTF-8") from None


def _read_tsv(source: str, text: str) -> Iterator[Record]:
    """Read cells without quotes; the header may be missing, as in the TSV of Annif."""
    columns: Sequence[str | None] | None = None
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        row = content.removesuffix("\r").split("\t")
        if columns is None:
            columns = _header(source, line, row)
            if columns is not None:
                continue
            columns = ()  # there is no header
        own: Sequence[str | None] = columns or FIELDS
        if not columns:
            if len(row) == 1:
                problem, remedy = "the row has no name", "write the label, a tab and the name"
                raise RecordError(source, line, problem, remedy)
            if _URI_IN_BRACKETS.fullmatch(row[0]):
                own = ("label", "name", None)  # the third cell of Annif's is a notation
        yield line, _cells(source, line, own, row)


def _header(source: str, line: int, row: Sequence[str]) -> list[str | None] | None:
    """Return the field of each column if a row is a header: it names the label and another."""
    fields = {_FIELD_OF.get(cell.strip().casefold()) for cell in row} - {None}
    if "label" not in fields or len(fields) < min(2, len(row)):
        return None
    return _columns(source, line, row)


def _columns(source: str, line: int, row: Sequence[str]) -> list[str | None]:
    try:
        names = {name: field for field, name in fields_of(row).items()}
    except TermError as error:
        raise RecordError(source, line, f"in the header, {error.problem}", error.remedy) from None
    if "label" not in names.values():
        shown = ", ".join(repr(name[:40]) for name in row[:8])
        problem = f"the header has no column 'label', its columns are {shown}"
        raise RecordError(source, line, problem, f"name the columns {', '.join(FIELDS)}")
    return [names.get(name) for name in row]


def _cells(
    source: str, line: int, columns: Sequence[str | None], row: Sequence[str]
) -> dict[str, Any]:
    if len(row) > len(columns):
        problem = f"the row has {len(row)} cells, at most {len(columns)} are known"
        raise RecordError(source, line, problem, "remove separators of cells from labels and names")
    given = zip(columns, row, strict=False)
    values: dict[str, Any] = {field: cell for field, cell in given if field is not None}
    values["label"] = _without_brackets(values.get("label", ""))
    for field in _LISTS:
        parts = values.get(field, "").split(_SEPARATOR)
        values[field] = [part for part in parts if part.strip()]
    values["parents"] = [_without_brackets(parent) for parent in values["parents"]]
    if "name" in columns:
        values.setdefault("name", "")
    return values


def _without_brackets(cell: str) -> str:
    found = _URI_IN_BRACKETS.fullmatch(cell)
    return found[1] if found else cell


def _read_csv(source: str, text: str) -> Iterator[Record]:
    """Read quoted cells under a header; its first line tells the separator."""
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns: list[str | None] | None = None
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            remedy = "close every quote, and double quotes inside of quotes"
            raise RecordError(source, line, f"broken quoting: {error}", remedy) from None
        if not any(cell.strip() for cell in row):
            continue
        if columns is None:
            columns = _columns(source, line, row)
        else:
            yield line, _cells(source, line, columns, row)


class _BadObjectError(ValueError):
    """JSON has a repeated key, or is nested too deeply."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _BadObjectError(f"key {key!r} appears twice in one object; keep one of them")
    return found


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError:
        raise _BadObjectError("it is nested too deeply; write a list of objects") from None


def _read_json(source: str, text: str) -> Iterator[Record]:
    try:
        found = entries(_parse(text))
    except json.JSONDecodeError as error:
        remedy = "check it with jq"
        if error.msg == "Extra data":
            remedy = "name the format with format='jsonl' if each line is an object of its own"
        place = f"{source}, line {error.lineno}"
        raise StreamError(f"{place}: broken JSON: {error.msg}; {remedy}") from None
    except (ValueError, TermError) as error:
        raise StreamError(f"{source}: {error}") from None
    yield from enumerate(found, 1)


def _read_jsonl(source: str, text: str) -> Iterator[Record]:
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            yield line, _parse(content)
        except json.JSONDecodeError as error:
            problem = f"broken JSON: {error.msg} (column {error.colno})"
            raise RecordError(source, line, problem, "write one whole object a line") from None
        except ValueError as error:
            problem, _, remedy = str(error).rpartition("; ")
            raise RecordError(source, line, problem, remedy) from None


_READERS: Final = {"tsv": _read_tsv, "csv": _read_csv, "json": _read_json, "jsonl": _read_jsonl}


def write_records(path: str | os.PathLike[str], records: Sequence[Mapping[str, Any]]) -> None:
    """Write records as TSV or JSON, by the extension; the file is replaced whole or not at all."""
    name = os.fspath(path)
    extension = os.path.splitext(name)[1].lower()
    if extension not in (".tsv", ".json"):
        raise StreamError(f"{name}: a vocabulary is written as .tsv or .json; choose one of them")
    text = _tsv(name, records) if extension == ".tsv" else _json(records)
    try:
        replace_text(path, text)
    except OSError as error:
        raise StreamError(f"{name} cannot be written: {error.strerror or error}") from error


def _json(records: Sequence[Mapping[str, Any]]) -> str:
    lines = ",\n".join(msgspec.json.encode(record).decode() for record in records)
    return f"[\n{lines}\n]\n"


def _tsv(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    columns = [
        field for field in FIELDS if field in FIELDS[:2] or any(r.get(field) for r in records)
    ]
    lines = ["\t".join(columns)]
    for record in records:
        cells = [_cell(name, record, field) for field in columns]
        lines.append("\t".join(cells).rstrip("\t"))
    return "\n".join([*lines, ""])


def _cell(name: str, record: Mapping[str, Any], field: str) -> str:
    """Return a value as a cell; refuse one that would be read as another."""
    parts = record.get(field, ()) if field in _LISTS else [record[field]]
    for part in parts:
        held = next((shown for sign, shown in _SIGNS.items() if sign in part), None)
        if field in _LISTS and _SEPARATOR in part:
            held = repr(_SEPARATOR)
        elif field in ("label", "parents") and _URI_IN_BRACKETS.fullmatch(part):
            held = "a URI in brackets"
        if held is not None:
            where = f"{name}: label {record['label']!r}"
            raise StreamError(f"{where}: {part!r} holds {held}, which TSV cannot; write .json")
    return _SEPARATOR.join(parts)


def _read_skos(source: str, raw: bytes, kind: str, language: str | None, key: str) -> list[Record]:
    """Read the concepts of a thesaurus, sorted by URI, without the deprecated ones."""
    try:
        rdf = import_module("rdflib")
    except ImportError as error:
        raise MissingExtraError.of("Reading SKOS", "skos") from error
    if kind == "skos":
        start = raw.removeprefix(_BOM).lstrip()[:5]
        kind = "xml" if start.startswith((b"<?xml", b"<!", b"<rdf:")) else "turtle"
    graph = _graph(rdf, source, raw, kind)
    names = _concepts(rdf, graph, language)
    if not names:
        raise StreamError(f"{source} has no skos:Concept; is it a SKOS vocabulary?")
    labels = _labels(rdf, graph, source, names, key)
    pairs = {(child, parent) for child, parent in graph.subject_objects(rdf.SKOS.broader)}
    pairs |= {(child, parent) for parent, child in graph.subject_objects(rdf.SKOS.narrower)}
    parents: dict[Any, list[str]] = {concept: [] for concept in names}
    for child, parent in sorted(pairs):
        if child in names and parent in names:
            parents[child].append(labels[parent])
    return [
        (
            str(concept),
            {
                "label": labels[concept],
                "name": None if name is None else str(name),
                "alternatives": _alternatives(rdf, graph, concept, name),
                "parents": parents[concept],
            },
        )
        for concept, name in names.items()
    ]


def _graph(rdf: Any, source: str, raw: bytes, kind: str) -> Any:
    """Parse Turtle or RDF/XML; nothing is fetched."""
    if kind == "xml":
        _check_xml(source, raw)
    else:
        raw = _decode(source, raw).encode()
    try:
        return rdf.Graph().parse(io.BytesIO(raw), format=kind, publicID=_BASE)
    except Exception as error:  # rdflib raises errors of many kinds
        line = getattr(error, "lines", None)
        place = source if line is None else f"{source}, line {line + 1}"
        reason = getattr(error, "_why", None) or " ".join(str(error).split())
        reason = "its end is missing" if isinstance(error, IndexError) else reason
        form = "Turtle" if kind == "turtle" else "RDF/XML"
        remedy = "correct it, or name the right format with format=EXT"
        raise StreamError(f"{place}: broken {form}: {reason[:300]}; {remedy}") from error


def _check_xml(source: str, raw: bytes) -> None:
    """Refuse XML that is not well-formed, or declares entities."""

    def refuse(entity: str, *_: Any) -> None:
        problem = f"it declares an XML entity, {entity!r}, which is not allowed"
        raise StreamError(f"{source}: {problem}; write its text in its place, or save as Turtle")

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        place = f"{source}, line {error.lineno}"
        reason = expat.ErrorString(error.code)
        remedy = "correct it, or name the right format with format=EXT"
        raise StreamError(f"{place}: broken XML: {reason}; {remedy}") from error
    except (LookupError, ValueError) as error:
        raise StreamError(
            f"{source}: its encoding is unknown ({error}); save it as UTF-8"
        ) from error


def _concepts(rdf: Any, graph: Any, language: str | None) -> dict[Any, Any]:
    """Return the concepts that have a URI and are in use, with their preferred name or None."""
    concepts = {
        concept
        for concept in graph.subjects(rdf.RDF.type, rdf.SKOS.Concept)
        if isinstance(concept, rdf.URIRef)
        and not any(
            str(value).lower() in ("true", "1")
            for value in graph.objects(concept, rdf.OWL.deprecated)
        )
    }
    wanted = [one.lower() for one in (language, "en") if one is not None]
    preferred = rdf.SKOS.prefLabel
    return {
        concept: min(graph.objects(concept, preferred), key=partial(_rank, wanted), default=None)
        for concept in sorted(concepts)
    }


def _rank(wanted: Sequence[str], name: Any) -> tuple[int, str, str]:
    """Order names by language: those wanted, none, any other."""
    tag = _tag(name)
    for place, language in enumerate(wanted):
        if tag == language or tag.startswith(f"{language}-"):
            return 2 * place + (tag != language), tag, str(name)
    return 2 * len(wanted) + (tag != ""), tag, str(name)


def _tag(name: Any) -> str:
    """Return the language of a literal, empty if it has none."""
    return (getattr(name, "language", None) or "").lower()


def _alternatives(rdf: Any, graph: Any, concept: Any, name: Any) -> list[str]:
    """Return the other names in the language of the preferred one."""
    return [
        str(other)
        for kind in (rdf.SKOS.altLabel, rdf.SKOS.hiddenLabel)
        for other in sorted(graph.objects(concept, kind), key=str)
        if _tag(other) == _tag(name) and str(other).strip()
    ]


def _labels(
    rdf: Any, graph: Any, source: str, names: Mapping[Any, Any], key: str
) -> dict[Any, str]:
    """Return the label of each concept: its URI, or what else ``key`` asks for, if unique."""
    if key == "uri":
        return {concept: str(concept) for concept in names}
    labels: dict[Any, str] = {}
    owners: dict[str, Any] = {}
    for concept, name in names.items():
        if key == "name":
            label: Any = local_name(concept)
        elif key == "prefLabel":
            label = name
        else:
            label = min(graph.objects(concept, rdf.SKOS.notation), key=str, default=None)
        remedy = "leave out key, then labels are URIs"
        if label is None or not str(label).strip():
            raise bad_record(source, concept, f"it has no skos:{key}", remedy)
        labels[concept] = str(label)
        other = owners.setdefault(labels[concept], concept)
        if other is not concept:
            problem = f"its {key} {labels[concept]!r} is also that of <{other}>"
            raise bad_record(source, concept, problem, remedy)
    return labels
