"""XML of unknown origin as a tree: no entities of its own, nothing fetched.

A document that declares entities is refused, which prevents everything that they could do: expand
without end, read files, ask the network. An external DTD is never read. HTML entities
(``&eacute;``), which the DTDs of news formats declare, are known all the same.
"""

import re
from html.entities import html5
from typing import Any, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from clasher.io.records import FaultError, invalid_utf8

_ENCODING = re.compile(rb"<\?xml[^>]*\bencoding=[\"']([\w.-]+)")
_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]


def parse_xml(raw: bytes) -> Element:
    """Parse a document and return its root; ``FaultError`` if it is not well-formed or not safe."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.UseForeignDTD(True)  # skip unknown entities, which an external DTD may declare
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _refuse
    parser.SkippedEntityHandler = lambda name, _: builder.data(_character(name))
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        declared = _ENCODING.match(raw)
        if error.code == _INVALID_TOKEN and (declared is None or declared[1].lower() == b"utf-8"):
            try:
                raw.decode()
            except UnicodeDecodeError:
                raise invalid_utf8(raw) from error
        place = f"line {error.lineno}, column {error.offset + 1}"
        problem = f"broken XML: {expat.ErrorString(error.code)} ({place})"
        raise FaultError(problem) from error
    except (LookupError, ValueError) as error:
        raise FaultError(f"its encoding is unknown ({error})") from error
    return builder.close()


def text_of(element: Element | None) -> str:
    """Return all text within an element."""
    return "" if element is None else "".join(element.itertext())


def _refuse(name: str, *_: Any) -> NoReturn:
    raise FaultError(f"it declares an entity, {name!r}, which is not allowed")


def _character(name: str) -> str:
    if f"{name};" not in html5:
        raise FaultError(f"entity &{name}; is unknown")
    return html5[f"{name};"]
