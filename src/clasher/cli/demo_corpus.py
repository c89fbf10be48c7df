"""A corpus that every Python has: the docstrings of its modules, read without importing them.

A document is the docstring of a module, class, function or method. Its labels are

- the top-level package (``json``, ``numpy``) and the sub-package (``numpy.linalg``),
- the topic of the package (``family:networking``): a chapter of Python's library reference, or a
  Trove classifier of an installed package,
- the kind of object (``kind:method``).
"""

import ast
import random
import sys
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path
from typing import NamedTuple

CHAPTERS = {
    "text": "difflib re readline rlcompleter sre_compile sre_constants sre_parse string stringprep"
    " textwrap",
    "binary data": "codecs encodings struct",
    "data types": "_collections_abc _pydatetime _weakrefset array bisect calendar collections copy"
    " datetime enum graphlib heapq pprint reprlib types weakref zoneinfo",
    "mathematics": "_pydecimal decimal fractions numbers random statistics",
    "functional": "functools operator",
    "files": "filecmp fileinput fnmatch genericpath glob linecache ntpath nturl2path pathlib"
    " posixpath shutil stat tempfile",
    "persistence": "copyreg dbm pickle shelve sqlite3",
    "compression": "_compression bz2 compression gzip lzma tarfile zipfile",
    "data formats": "_markupbase base64 configparser csv html json mailbox mailcap mimetypes netrc"
    " plistlib quopri tomllib uu xdrlib xml",
    "cryptography": "crypt hashlib hmac secrets",
    "operating system": "_aix_support _osx_support _pyio argparse ctypes curses getopt getpass io"
    " logging nt os platform pty sched tty",
    "concurrency": "_threading_local asyncio concurrent contextvars multiprocessing queue"
    " subprocess threading",
    "networking": "asynchat asyncore selectors signal smtpd socket socketserver ssl",
    "internet": "cgi cgitb email ftplib http imaplib ipaddress nntplib poplib smtplib telnetlib"
    " urllib uuid webbrowser wsgiref xmlrpc",
    "multimedia": "aifc chunk colorsys imghdr sndhdr sunau turtle turtledemo wave",
    "languages of the world": "_strptime gettext locale",
    "user interfaces": "cmd code codeop idlelib shlex tkinter",
    "development": "bdb cProfile doctest faulthandler lib2to3 pdb profile pstats pydoc timeit trace"
    " tracemalloc typing unittest",
    "packaging": "distutils ensurepip venv zipapp",
    "runtime": "__future__ _sitebuiltins abc atexit contextlib dataclasses inspect site sysconfig"
    " traceback warnings",
    "importing": "imp importlib modulefinder pkgutil runpy zipimport",
    "language": "ast compileall dis keyword opcode pickletools py_compile pyclbr symtable tabnanny"
    " token tokenize",
}
"""The modules of the standard library by chapter; small chapters are joined."""

TOPICS = {
    "Internet": "internet",
    "Scientific/Engineering": "science",
    "Scientific/Engineering :: Mathematics": "mathematics",
    "Software Development :: Build Tools": "packaging",
    "Software Development :: Code Generators": "language",
    "Software Development :: Compilers": "language",
    "Software Development :: Quality Assurance": "development",
    "Software Development :: Testing": "development",
    "System :: Archiving :: Compression": "compression",
    "System :: Archiving :: Packaging": "packaging",
    "System :: Distributed Computing": "concurrency",
    "System :: Networking": "networking",
    "System :: Operating System": "operating system",
    "System :: Software Distribution": "packaging",
    "Terminals": "user interfaces",
    "Text Processing": "text",
    "Text Processing :: Markup": "data formats",
}
"""Trove classifiers with the same topics; they include their children."""

CHAPTER_OF = {module: chapter for chapter, text in CHAPTERS.items() for module in text.split()}


def families_of_package(classifiers: list[str]) -> set[str]:
    """Return the topics that a package declares."""
    families = set()
    for classifier in classifiers:
        topic = classifier.removeprefix("Topic :: ") if classifier.startswith("Topic :: ") else ""
        while topic and topic not in TOPICS:
            topic = topic.rpartition(" :: ")[0]
        families.add(TOPICS.get(topic, ""))
    return families - {""}


FEWEST_WORDS = 6  # of a docstring; skip shorter ones
MOST_CHARACTERS = 4000  # of a docstring; cut off the rest
MOST_OF_A_PACKAGE = 1000  # docstrings
LARGEST_FILE = 400_000  # bytes; larger files hold tables
PROPERTIES = {"property", "cached_property", "functools.cached_property"}
SKIPPED = {"test", "tests", "testing", "_vendor", "vendored", "site-packages", "idle_test"}


class Docstring(NamedTuple):
    """A document; ``name`` is the dotted name of the object it describes."""

    name: str
    text: str
    labels: list[str]


class Module(NamedTuple):
    """A source file, the dotted name of its module, and the topics of its package."""

    path: Path
    name: str
    families: tuple[str, ...]

    def labels(self) -> list[str]:
        """Return the labels that all docstrings of the file share."""
        package, _, below = self.name.partition(".")
        within = below.partition(".")[0]
        is_subpackage = "." in below or (below and self.path.stem == "__init__")
        sub = [f"{package}.{within}"] if is_subpackage and not within.startswith("_") else []
        return [package, *sub, *(f"family:{family}" for family in self.families)]


@dataclass
class Collection:
    """The docstrings in the order of the stream, and the number of files read."""

    documents: list[Docstring] = field(default_factory=list)
    files: int = 0
    unreadable: int = 0

    @property
    def packages(self) -> int:
        return len({document.name.partition(".")[0] for document in self.documents})


def collect(
    limit: int = 12_000, *, seed: int = 0, modules: Iterable[Module] | None = None
) -> Collection:
    """Read up to ``limit`` docstrings, at most 1,000 of a package, in a random order."""
    order = random.Random(seed)
    if modules is None:
        modules = chain(standard_library(), installed_packages())
    files = sorted(modules)
    order.shuffle(files)
    found = Collection()
    taken: Counter[str] = Counter()
    seen: set[str] = set()  # inherited and generated docstrings repeat
    for module in files:
        if len(found.documents) >= limit:
            break
        package = module.name.partition(".")[0]
        if taken[package] >= MOST_OF_A_PACKAGE:
            continue
        try:
            documents = list(_docstrings(module))
        except (OSError, SyntaxError, ValueError, RecursionError):
            found.unreadable += 1
            continue
        found.files += 1
        for document in documents:
            if document.text not in seen and taken[package] < MOST_OF_A_PACKAGE:
                seen.add(document.text)
                taken[package] += 1
                found.documents.append(document)
    order.shuffle(found.documents)
    del found.documents[limit:]
    return found


def standard_library(root: Path | None = None) -> Iterator[Module]:
    """Yield the Python modules of the standard library."""
    root = Path(sysconfig.get_path("stdlib")) if root is None else root
    for path in root.rglob("*.py"):
        inside = path.relative_to(root)
        module = inside.parts[0].removesuffix(".py")
        if module in sys.stdlib_module_names and _is_used(inside):
            family = CHAPTER_OF.get(module)
            yield Module(path, _dotted(inside), (family,) if family else ())


def installed_packages(folders: list[str] | None = None) -> Iterator[Module]:
    """Yield the modules that installed packages list."""
    for package in distributions(path=sys.path if folders is None else folders):
        families = families_of_package(package.metadata.get_all("Classifier") or [])
        for file in package.files or ():
            if file.suffix == ".py" and file.parts[0] != ".." and _is_used(Path(file)):
                yield Module(Path(str(file.locate())), _dotted(Path(file)), tuple(sorted(families)))


def _is_used(inside: Path) -> bool:
    own = inside.parts[0] == "clasher"  # the demo should not change with its own code
    return not own and SKIPPED.isdisjoint(inside.parts)


def _dotted(inside: Path) -> str:
    parts = inside.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _docstrings(module: Module) -> Iterator[Docstring]:
    source = module.path.read_bytes() if module.path.stat().st_size <= LARGEST_FILE else b""
    if b'"""' not in source and b"'''" not in source:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in other people's strings
        tree = ast.parse(source)
    shared = module.labels()
    definitions = _definitions(tree.body, module.name, in_class=False)
    for name, kind, node in chain([(module.name, "module", tree)], definitions):
        text = ast.get_docstring(node)
        if text and len(text.split()) >= FEWEST_WORDS:
            # a lone surrogate cannot be encoded
            text = text[:MOST_CHARACTERS].encode("utf-8", "replace").decode()
            yield Docstring(name, text, [*shared, f"kind:{kind}"])


def _definitions(
    body: list[ast.stmt], name: str, *, in_class: bool
) -> Iterator[tuple[str, str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield what can have a docstring, with its name and kind."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            own, bases = f"{name}.{node.name}", map(ast.unparse, node.bases)
            raised = any(base.endswith(("Error", "Exception", "Warning")) for base in bases)
            yield own, "exception" if raised else "class", node
            yield from _definitions(node.body, own, in_class=True)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            kind = "method" if in_class else "function"
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            if in_class and decorators & PROPERTIES:
                kind = "property"
            elif isinstance(node, ast.AsyncFunctionDef):
                kind = "coroutine"
            yield f"{name}.{node.name}", kind, node
        else:  # a branch for a platform or a version
            for block in ("body", "orelse", "handlers", "finalbody"):
                yield from _definitions(getattr(node, block, []), name, in_class=in_class)
