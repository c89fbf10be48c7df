from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from clasher.cli.demo_corpus import (
    CHAPTER_OF,
    CHAPTERS,
    LARGEST_FILE,
    MOST_CHARACTERS,
    MOST_OF_A_PACKAGE,
    Docstring,
    Module,
    collect,
    families_of_package,
    installed_packages,
    standard_library,
)

CODEC = '''\
"""Encode and decode what is to be reported.

More of it."""
import sys
raise SystemExit("this module must not be imported")

class Decoder(object):
    """Decodes a text that was encoded before."""

    def decode(self, text):
        """Give back the text as it once was."""

    @property
    def strict(self):
        """Whether errors are raised or passed over."""

    def short(self):
        """Too short."""

class DecodeError(base.SomeError):
    """Raised where a text cannot be decoded at all."""

if sys.platform == "win32":
    try:
        async def fetch():
            \'\'\'Fetch the text from another machine over there.\'\'\'
    finally:
        def close():
            """Close all that was opened before, in order."""
'''


def found_in(root: Path, **options: int) -> list[Docstring]:
    return collect(modules=standard_library(root), **options).documents


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A standard library of a few files, some of which are not used."""
    for path, content in {
        "json/codec.py": CODEC,
        "json/tests/codec.py": CODEC.replace("text", "test"),
        "site-packages/other.py": CODEC.replace("text", "else"),
        "nowhere.py": '"""A module that is not of the standard library."""',
        "re/__init__.py": '"""Regular expressions, the package of the engine."""',
        "xml/dom/minidom.py": '"""A small tree of nodes of a document."""',
        "xml/_private/hidden.py": '"""Something that nobody should look at here."""',
        "heapq.py": 'print """a broken file of another Python"""',
        "csv.py": "x = 1",
        "copy.py": f'"""{"A module of tables, too large. " * 3}"""\n' + "#" * LARGEST_FILE,
        "shlex.py": '"""Half a pair of surrogates: \\ud800 is no text."""',
        "enum.py": '"""' + "A very long story. " * MOST_CHARACTERS + '"""',
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return tmp_path


def test_documents_and_labels(library: Path) -> None:
    documents = {document.name: document for document in found_in(library)}
    labels = {name: document.labels for name, document in documents.items()}
    json = ["json", "family:data formats"]
    assert labels == {
        "json.codec": [*json, "kind:module"],
        "json.codec.Decoder": [*json, "kind:class"],
        "json.codec.Decoder.decode": [*json, "kind:method"],
        "json.codec.Decoder.strict": [*json, "kind:property"],
        "json.codec.DecodeError": [*json, "kind:exception"],
        "json.codec.fetch": [*json, "kind:coroutine"],
        "json.codec.close": [*json, "kind:function"],
        "re": ["re", "family:text", "kind:module"],
        "xml.dom.minidom": ["xml", "xml.dom", "family:data formats", "kind:module"],
        "xml._private.hidden": ["xml", "family:data formats", "kind:module"],
        "shlex": ["shlex", "family:user interfaces", "kind:module"],
        "enum": ["enum", "family:data types", "kind:module"],
    }
    assert (
        documents["json.codec"].text == "Encode and decode what is to be reported.\n\nMore of it."
    )
    assert documents["json.codec.Decoder.decode"].text == "Give back the text as it once was."
    assert documents["shlex"].text == "Half a pair of surrogates: ? is no text."
    assert len(documents["enum"].text) == MOST_CHARACTERS


def test_unreadable_files_are_counted(library: Path) -> None:
    found = collect(modules=standard_library(library))
    assert found.unreadable == 1
    assert found.packages == 5
    (library / "json/codec.py").unlink()
    missing = [Module(library / "json/codec.py", "json.codec", ())]
    assert collect(modules=missing).unreadable == 1


def test_repeated_docstrings_count_once(tmp_path: Path) -> None:
    for name in ("copy.py", "csv.py"):
        (tmp_path / name).write_text('"""The same words stand in two files."""')
    assert len(found_in(tmp_path)) == 1


def test_no_package_floods_the_stream(tmp_path: Path) -> None:
    (tmp_path / "json").mkdir()
    for name in ("one", "two"):
        defined = (
            f'def f{i}():\n    """Function {i} of the file {name} here."""\n' for i in range(1200)
        )
        (tmp_path / "json" / f"{name}.py").write_text("".join(defined))
    (tmp_path / "csv.py").write_text('"""A small file that also wants to be heard."""')
    documents = found_in(tmp_path)
    assert len(documents) == MOST_OF_A_PACKAGE + 1
    assert len(found_in(tmp_path, limit=10)) == 10


def test_installed_packages_by_their_metadata(tmp_path: Path) -> None:
    info = tmp_path / "nice_thing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: nice-thing\nVersion: 1.0\n"
        "Classifier: Topic :: Text Processing :: Linguistic\n"
        "Classifier: Topic :: Scientific/Engineering\n"
    )
    listed = ["nice/__init__.py", "nice/deep/part.py", "nice/_vendor/x.py", "../../bin/run.py"]
    (info / "RECORD").write_text("".join(f"{path},,\n" for path in [*listed, "nice/data.json"]))
    for path in listed[:3]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f'"""The docstring of the file {path} it is."""')
    found = collect(modules=installed_packages([str(tmp_path)]))
    families = ["family:science", "family:text"]
    assert {document.name: document.labels for document in found.documents} == {
        "nice": ["nice", *families, "kind:module"],
        "nice.deep.part": ["nice", "nice.deep", *families, "kind:module"],
    }


def test_the_seed_decides_the_stream(library: Path) -> None:
    assert found_in(library, seed=1) == found_in(library, seed=1)
    assert found_in(library, seed=1) != found_in(library, seed=2)
    assert sorted(found_in(library, seed=1)) == sorted(found_in(library, seed=2))


def test_this_installation() -> None:
    imported = set(sys.modules)
    found = collect(limit=300)
    assert set(sys.modules) == imported
    assert len(found.documents) == 300
    assert found.packages > 3
    for document in found.documents:
        assert document.labels[-1].startswith("kind:")
        assert document.name.split(".")[0] == document.labels[0] != "clasher"
        document.text.encode()
    names = [document.name for document in found.documents]
    assert names != sorted(names)
    assert collect(limit=300).documents == found.documents


def test_docstrings_are_those_that_python_sees() -> None:
    modules = [module for module in standard_library() if module.name == "textwrap"]
    texts = {document.name: document.text for document in collect(modules=modules).documents}
    tree = ast.parse(modules[0].path.read_bytes())
    wrap = next(node for node in tree.body if getattr(node, "name", "") == "wrap")
    assert isinstance(wrap, ast.FunctionDef)
    assert texts["textwrap.wrap"] == ast.get_docstring(wrap)


def test_every_chapter_names_each_module_once() -> None:
    modules = [module for chapter in CHAPTERS.values() for module in chapter.split()]
    assert len(modules) == len(set(modules))
    assert CHAPTER_OF["asyncio"] == "concurrency"


def test_families_of_packages() -> None:
    assert families_of_package(["Topic :: System :: Networking :: Monitoring"]) == {"networking"}
    assert families_of_package(["Topic :: Artistic Software", "License :: Internet"]) == set()
