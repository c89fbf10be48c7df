"""The settings of text analysis: their values, and how a model file stores them."""

import json
import re
import subprocess
import sys
from html import unescape

import pytest

from clasher import Analyzer, Clasher
from clasher.errors import MissingExtraError, ModelFileError, SettingError
from clasher.text.analyzer import name_of
from tests.text.test_tokens_analysis import as_built_in, on_blanks


@pytest.mark.parametrize(
    ("parameter", "expected", "values"),
    [
        ("min_length", "an integer from 1 to 1000", [0, -1, 1001, 2.0, "2", True, None]),
        ("strip_html", "True or False", [1, "yes", None]),
        ("strip_urls", "True or False", [0, "no"]),
        ("fold_numbers", "True or False", [1.0]),
        (
            "ngrams",
            "an integer from 1 to 10, or two of them in order (or 0 beside char_ngrams)",
            [0, 11, -1, True, 2.0, "2", None, (2, 1), (0, 2), (1, 2, 3), (1, 11), [1, 2], (0, 0)],
        ),
        (
            "char_ngrams",
            "None or two integers from 2 to 10 in order",
            [3, (1, 3), (4, 3), (3, 11), (3,), (2.0, 3), "35"],
        ),
        (
            "tokenizer",
            "None or a function at the top level of a module, with a name",
            ["str.split", 5, lambda text: text.split(), re.compile("[a-z]+").findall],
        ),
    ],
)
def test_bad_settings_are_refused(parameter, expected, values):
    for value in values:
        with pytest.raises(SettingError) as caught:
            Analyzer(**{parameter: value})
        assert str(caught.value) == (
            f"The {parameter!r} parameter of Analyzer must be {expected}. Got {value!r} instead."
        )


@pytest.mark.parametrize("bad", [5, ["oil", 3], ["new york"], [""], [" "], [None]])
def test_bad_stop_words_are_refused(bad):
    with pytest.raises(SettingError, match="the name of a language, or words without blanks"):
        Analyzer(stop_words=bad)


def test_an_unknown_language_lists_the_known_ones(stemmers, stop_lists):
    with pytest.raises(SettingError, match=r"one of arabic, .* turkish.*did you mean 'english'\?"):
        Analyzer(stop_words="englisch")
    with pytest.raises(SettingError, match=r"one of arabic, .* yiddish\. Got 'klingon' instead"):
        Analyzer(stemmer="klingon")


def test_settings_are_normalised():
    assert Analyzer(ngrams=2) == Analyzer(ngrams=(1, 2))
    assert Analyzer(stop_words=["of", "the", "of"]) == Analyzer(stop_words=("the", "of"))
    assert Analyzer(ngrams=0, char_ngrams=(2, 3)).word_sizes == (0, 0)
    assert len({Analyzer(), Analyzer(2), Analyzer(3)}) == 2


def test_settings_keep_stop_words_not_their_language(stop_lists):
    analyzer = Analyzer(stop_words="german")
    assert "und" in analyzer.to_dict()["stop_words"]
    assert Analyzer.of(json.loads(json.dumps(analyzer.to_dict()))) == analyzer


def test_settings_note_the_version_of_the_stemmers(stemmers):
    analyzer = Analyzer(stemmer="english")
    assert analyzer.snowball == stemmers.version()
    assert Analyzer().snowball is None
    with pytest.warns(UserWarning, match=r"stemmers of Snowball 1\.0, and .* is installed"):
        older = Analyzer(stemmer="english", snowball="1.0")
    assert older != analyzer


WITHOUT = """
import sys
sys.modules[{library!r}] = None
from clasher import Analyzer, ClasherError
try:
    Analyzer(**{settings!r})
except ClasherError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("library", "settings", "what"),
    [
        ("Stemmer", {"stemmer": "english"}, "A stemmer"),
        ("stop_words", {"stop_words": "english"}, "A list of stop words"),
    ],
)
def test_missing_libraries_are_named(library, settings, what):
    script = WITHOUT.format(library=library, settings=settings)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    expected = MissingExtraError.of(what, "text")
    assert run.stdout == f"MissingExtraError {expected}\n"


# ── in the model file ────────────────────────────────────────────────────────────────────────────


def saved(tmp_path, **settings):
    model = Clasher(256, max_labels=4, analyzer=Analyzer(**settings))
    model.learn_many(["Oil prices rose", "wheat harvests of 1987"] * 2, [{"oil"}, {"grain"}] * 2)
    model.save(tmp_path / "model")
    return model


def test_a_model_is_read_with_its_analyzer(tmp_path, stemmers):
    model = saved(
        tmp_path, stop_words=["of"], stemmer="english", ngrams=(1, 2), char_ngrams=(3, 3),
        strip_html=True, fold_numbers=True,
    )  # fmt: skip
    again = Clasher.load(tmp_path / "model")
    assert again.settings == model.settings
    text = "<b>harvest</b> of 2026 &amp; oil price"
    assert again.probabilities(text) == model.probabilities(text)
    assert again.hash_many([text]).analysis == model.hash_many([text]).analysis


def test_a_model_asks_for_its_tokenizer(tmp_path):
    model = saved(tmp_path, tokenizer=as_built_in)
    path = tmp_path / "model"
    again = Clasher.load(path, tokenizer=as_built_in)
    assert again.probabilities("oil harvests") == model.probabilities("oil harvests")
    name = "tests.text.test_tokens_analysis:as_built_in"
    with pytest.raises(SettingError) as caught:
        Clasher.load(path)
    assert str(caught.value) == (
        f"{path}: the model's text is cut into words by the function {name}; give it: "
        f"Clasher.load(path, tokenizer=as_built_in), or --tokenizer {name}"
    )
    with pytest.raises(
        SettingError, match=f"by the function {name}, not tests.text.test_tokens_analysis:on_b"
    ):
        Clasher.load(path, tokenizer=on_blanks)


def test_a_model_without_a_tokenizer_takes_none(tmp_path):
    saved(tmp_path)
    with pytest.raises(SettingError, match="has no tokenizer; leave out the one given"):
        Clasher.load(tmp_path / "model", tokenizer=on_blanks)


def test_a_language_that_was_removed_is_an_error(tmp_path, stemmers, monkeypatch):
    saved(tmp_path, stemmer="english")
    monkeypatch.setattr(stemmers, "algorithms", lambda: ["latin"])
    with pytest.raises(ModelFileError, match="its settings are not valid: The 'stemmer' parameter"):
        Clasher.load(tmp_path / "model")


def test_a_missing_library_is_named_when_a_model_is_loaded(tmp_path, stemmers, monkeypatch):
    saved(tmp_path, stemmer="english")
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(MissingExtraError, match="A stemmer needs an optional library"):
        Clasher.load(tmp_path / "model")


def test_functions_are_stored_by_name():
    assert name_of(unescape) == "html:unescape"
    assert name_of(on_blanks) == "tests.text.test_tokens_analysis:on_blanks"


@pytest.mark.parametrize("value", [b"5   ", b"[]  ", b"true"])
def test_a_tokenizer_without_a_name_is_refused(tmp_path, value):
    saved(tmp_path)
    path = tmp_path / "model"
    path.write_bytes(path.read_bytes().replace(rb"tokenizer\": null", rb"tokenizer\": " + value))
    with pytest.raises(ModelFileError, match="its tokenizer has no name"):
        Clasher.load(path)


def test_a_version_is_text(stemmers):
    with pytest.raises(SettingError, match="'snowball' parameter of Analyzer must be None or a ve"):
        Analyzer(stemmer="english", snowball=3)
