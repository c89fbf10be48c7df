"""What a module is about: the chapters of Python's library reference, and topics of packages."""

from __future__ import annotations

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
"""The modules of the standard library by chapter, the smaller chapters joined."""

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
"""Trove classifiers that say the same, with all below them."""

_CHAPTER_OF = {module: chapter for chapter, text in CHAPTERS.items() for module in text.split()}


def family_of_module(module: str) -> str | None:
    """The chapter that a module of the standard library stands in.

    >>> family_of_module("json"), family_of_module("antigravity")
    ('data formats', None)
    """
    return _CHAPTER_OF.get(module)


def families_of_package(classifiers: list[str]) -> set[str]:
    """What an installed package says that it is about.

    >>> families_of_package(["Topic :: Text Processing :: Markup :: HTML", "Typing :: Typed"])
    {'data formats'}
    """
    families = set()
    for classifier in classifiers:
        kind, _, topic = classifier.partition(" :: ")
        while kind == "Topic" and topic and topic not in TOPICS:
            topic = topic.rpartition(" :: ")[0]
        if kind == "Topic" and topic:
            families.add(TOPICS[topic])
    return families
