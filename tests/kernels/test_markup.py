"""Removing markup and web addresses from valid pages, and from garbage."""

import html.entities
from html.parser import HTMLParser

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clasher import Analyzer
from clasher.text.hashing import Hasher
from clasher.text.tokens import Analysis, as_buffers, entities, one_buffer
from support.reference import analysis as plain_analysis

EXAMPLES = settings(max_examples=80 if numba.config.DISABLE_JIT else 500)


def cleaned(text, html=True, urls=False):
    """Clean a text that is between two others."""
    steps = Analysis(Analyzer(strip_html=html, strip_urls=urls), np.uint64(7))
    texts = as_buffers(["<b x='", text, "'>&amp"])
    (data, offsets), _ = steps.clean(texts.part(1, 2))
    alone, origin = steps.clean(one_buffer(text), tracing=True)
    assert bytes(data) == bytes(alone.data)
    assert offsets.tolist() == alone.offsets.tolist()
    assert len(data) <= len(text.encode("utf-8", "surrogatepass"))
    places = origin[: len(data) + 1].tolist()
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] == texts.offsets[2] - texts.offsets[1]
    return bytes(data).decode("utf-8", "surrogatepass")


# ── sane pages, as Python's own parser reads them ────────────────────────────────────────────────


class Reader(HTMLParser):
    """Collect the text of a page, with a blank for everything else."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.text, self.raw = [], False

    def handle_data(self, data):
        if not self.raw:
            self.text.append(data)

    def handle_starttag(self, tag, attributes):
        self.text.append(" ")
        self.raw = tag in ("script", "style")

    def handle_endtag(self, tag):
        if not self.raw:
            self.text.append(" ")
        self.raw = False

    def handle_startendtag(self, tag, attributes):
        self.text.append(" ")

    def handle_comment(self, data):
        self.text.append(" ")

    handle_decl = handle_pi = handle_comment


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    return " ".join("".join(reader.text).split())


NAMES = [name for name in html.entities.html5 if name not in ("nLt;", "nGt;")]
letters = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<&\0\r"), max_size=8)
references = st.one_of(
    st.sampled_from(NAMES).map("&{}".format),
    st.sampled_from(["&notit;", "&ampere", "&nosuch;", "&", "& ", "&#", "&#x;", "&;", "&no"]),
    st.integers(0, 0x110010).map("&#{};".format),
    st.integers(0, 0x110010).map("&#x{:x};".format),
    st.integers(120, 165).map("&#{}".format),
)
attributes = st.sampled_from(
    ["", " a", " a=b", ' a="b > c"', " a = 'd > \"e\"'", " href=x?y=z", ' t=""', " x='<b>'"]
)
tags = st.builds(
    "<{}{}>".format, st.sampled_from(["b", "P", "td", "h1", "x-y", "scripted"]), attributes
)
others = st.sampled_from(
    [
        "</b>", "</p >", "<br/>", "<!-- a > <b> comment -->", "<!doctype html>", "<?xml a='b'?>",
        "<script>if (a < b && c > d) x('<b>');</script>", "<STYLE type='a>b'>p > b {}</Style>",
        "<script src=x></script>",
    ]
)  # fmt: skip
pages = st.lists(st.one_of(letters, references.map(lambda r: r + " "), tags, others)).map("".join)


@given(pages)
@EXAMPLES
def test_pages_are_read_as_a_browser_would(page):
    assert " ".join(cleaned(page).split()) == read(page)


def test_all_named_characters():
    for name, value in html.entities.html5.items():
        expected = " " if name in ("nLt;", "nGt;") else value
        assert cleaned(f"a&{name}") == f"a{expected}"
    assert (entities().keys > 0).sum() == len(html.entities.html5)


# ── rubbish ──────────────────────────────────────────────────────────────────────────────────────

rubbish = st.lists(
    st.sampled_from(
        [*"<>&;#!-/=\"' ax0é\ud800", "<a", "</", "<!--", "-->", "<script", "</script", "<style>",
         "<![CDATA[", "]]>", "='", '="', "&#x", "&#9999999999", "&eacute", "&lt;", "<?", "漢"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(rubbish)
@example("<a t='>b<a t='>c")
@example('<a t=">b <a t="">c <a t=">d')
@example("<script>a<b>c<script>d</script>e")
@example("<!-- a <!-- b --> c <!-- d > e")
@example("<!-->a<!--->b")
@example("&#x&#;&&amp&ampamp;")
@EXAMPLES
def test_rubbish_is_read_as_by_plain_python(text):
    assert cleaned(text) == plain_analysis.without_markup(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("2 < 3 and 5 > 4", "2 < 3 and 5 > 4"),
        ("a <b without an end", "a <b without an end"),
        ("love </3 you", "love </3 you"),
        ("<p>one<p>two", " one two"),
        ("<!-- no end <b>kept", " kept"),
        ("<script>no end", " no end"),
        ("<![CDATA[<b>news</b>]]>", "  news ]]>"),
        ("AT&T &amp; R&D", "AT&T & R&D"),
        ("caf&eacute;s &#8364;5", "cafés €5"),
        ("<", "<"),
        ("a<", "a<"),
        ("", ""),
    ],
)
def test_what_is_left_of(text, left):
    assert cleaned(text) == left


@pytest.mark.compiled
@pytest.mark.parametrize(
    "unit",
    ["<", "<a", "<a ", "</a", "<!--", "<a b='", "<a b=\"'", "<script>", "<script><style>",
     "<a ='>'", "&", "&#", "&#x", "&a", "<b>", "<!", "<?", "<![CDATA[", "a://", "www.", "w", "a+"],
)  # fmt: skip
def test_a_megabyte_of_rubbish_is_done_in_one_go(unit):
    """A search from every position would take hours."""
    text = unit * (2**20 // len(unit))
    data = cleaned(text, urls=True)
    assert len(data) <= len(text)


# ── web addresses ────────────────────────────────────────────────────────────────────────────────

addresses = st.lists(
    st.sampled_from(
        [*"aZ9é :/.+-<>\"'?&#(),\n漢", "http://", "https://x", "www.", "WWW.a", "://", "ftp", "s:"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(addresses)
@EXAMPLES
def test_addresses_are_those_of_plain_python(text):
    assert cleaned(text, html=False, urls=True) == plain_analysis.without_addresses(text)


@given(st.lists(st.one_of(rubbish, addresses), max_size=3).map("".join))
@EXAMPLES
def test_markup_goes_before_addresses(text):
    both = plain_analysis.without_addresses(plain_analysis.without_markup(text))
    assert cleaned(text, urls=True) == both


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("see https://x.org/a?b=c&d=e#f now", "see   now"),
        ("(http://x.org/a), and", "(  and"),
        ("WWW.Example.com/äöü", " äöü"),
        ("at www.x and awww.y", "at   and awww.y"),
        ("no://", "no://"),
        ("http:/ and www. and 5://x", "http:/ and www. and 5://x"),
        ('"http://x.y"', '" "'),
        ("文http://x.y/z文", "文 文"),
    ],
)
def test_what_is_left_without_addresses(text, left):
    assert cleaned(text, html=False, urls=True) == left


# ── where it was ─────────────────────────────────────────────────────────────────────────────────


def test_words_are_found_in_the_text_as_it_was():
    text = "<p title='a>b'>Caf&eacute;s in <b>Köln</b>, s. www.x.de/y &mdash; &#214;l&lt;b&gt;öl"
    words = Hasher(64, analyzer=Analyzer(strip_html=True, strip_urls=True)).words(text)
    assert [(word.text, text[word.start : word.stop]) for word in words] == [
        ("cafés", "Caf&eacute;s"),
        ("in", "in"),
        ("köln", "Köln"),
        ("öl", "&#214;l"),
        ("öl", "öl"),
    ]


@given(st.lists(st.one_of(rubbish, pages), max_size=3).map("".join))
@EXAMPLES
def test_words_never_stand_outside_of_the_text(text):
    at = 0
    for word in Hasher(64, analyzer=Analyzer(1, strip_html=True, strip_urls=True)).words(text):
        assert at <= word.start < word.stop <= len(text)
        at = word.start
