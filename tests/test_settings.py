import dataclasses
import inspect
import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher import Analyzer, Clasher, Settings
from clasher.errors import SettingError
from clasher.kernels.state import CENTROID, MARGIN, MISTAKE, PERCEPTRON, RULES
from clasher.kernels.weightings import ICSDF, NO_MEASURE, ODDS, WEIGHTINGS
from clasher.settings import CHOICES, VectorSettings, declarations, default_of
from support.environment import optional

valid = st.builds(
    Settings,
    dimensions=st.integers(2, 2**30),
    threshold=st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True),
    at_least_one=st.none() | st.booleans(),
    conservative=st.booleans(),
    max_labels=st.integers(1, 2**24),
    seed=st.integers(0, 2**63 - 1),
    half_life=st.none() | st.floats(1, 1e12),
    analyzer=st.builds(
        Analyzer,
        st.integers(1, 1000),
        stop_words=st.none() | st.lists(st.sampled_from(["the", "a", "n'est"]), max_size=3),
        ngrams=st.integers(1, 10) | st.sampled_from([(1, 1), (2, 3), (10, 10)]),
        char_ngrams=st.none() | st.sampled_from([(2, 2), (3, 5)]),
        strip_html=st.booleans(),
        fold_numbers=st.booleans(),
    ),
    **{name: st.sampled_from(choices) for name, choices in CHOICES.items()},
)


@pytest.mark.parametrize(
    ("parameter", "must_be", "values"),
    [
        ("dimensions", "an integer from 2 to 1073741824", [0, 1, -5, 2**30 + 1, 8.0, "8", True]),
        ("max_labels", "an integer from 1 to 16777216", [0, -1, 2**24 + 1, 2.5, None, False]),
        ("seed", "an integer from 0 to 9223372036854775807", [-1, 2**63, 0.0, "0", None]),
        ("rule", f"one of {', '.join(map(repr, RULES))}", ["mode1", None, 1, []]),
        ("weighting", f"one of {', '.join(map(repr, WEIGHTINGS))}, 'given'", ["idf", "chi", None]),
        ("similarity", "one of 'cosine', 'euclidean'", ["l1", None]),
        ("tf", "one of 'log', 'count'", ["raw", None]),
        ("norm", "one of 'l2', 'none'", ["l1", None]),
        ("on_full", "one of 'error', 'evict'", ["drop", None]),
        ("detector", "one of 'none', 'window', 'adwin'", ["ddm", None]),
        ("half_life", "None or a number of documents from 1 to 1e+12",
         [0, 0.5, -3, 1e13, math.nan, math.inf, "10", True]),
        ("threshold", "None or a number between 0 and 1",
         [0, 1, -0.1, 1.5, math.nan, math.inf, "0.5", True]),
        ("at_least_one", "None, True or False", [1, 0, "yes"]),
        ("depth", "an integer from 1 to 16", [0, 17, 2.0, "2", None, True]),
        ("conservative", "True or False", [1, 0, None, "yes"]),
        ("words", "True or False", [1, 0, None, "yes"]),
        ("analyzer", "an Analyzer or None", ["words", 2, {"min_length": 2}]),
    ],
)  # fmt: skip
def test_every_setting_is_validated_in_one_sentence(parameter, must_be, values):
    for value in values:
        with pytest.raises(SettingError) as caught:
            Clasher(**{parameter: value})
        assert str(caught.value) == (
            f"The {parameter!r} parameter of Clasher must be {must_be}. Got {value!r} instead."
        )
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("weighting", ["tf", "chi2", "ig", "or", "gini"])
def test_a_deep_sketch_needs_a_weighting_with_idf(weighting):
    with pytest.raises(SettingError, match=f"'depth' .* must be 1 with weighting {weighting!r}, "):
        Clasher(weighting=weighting, depth=2)
    assert Clasher(weighting=weighting, conservative=True).settings.depth == 1


@given(valid)
def test_plain_values_round_trip(settings):
    plain = settings.to_dict()
    assert Settings.of(plain) == settings
    assert json.loads(json.dumps(plain)) == plain


def test_an_unknown_setting_is_named():
    with pytest.raises(SettingError, match=r"Clasher has no parameter 'dimension'; it has \['anal"):
        Settings.of({"dimension": 64})


def test_settings_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().dimensions = 3


def test_differences_are_named():
    assert Settings().differences(Settings()) == []
    other = Settings(seed=3, analyzer=Analyzer(3))
    assert Settings().differences(other) == ["seed", "analyzer"]


def test_the_model_has_the_defaults_of_the_settings():
    assert Clasher().settings == Settings()
    assert Settings().analyzer == Analyzer.rich()
    assert Settings(rule="centroid").analyzer == Analyzer()
    assert Clasher(analyzer=Analyzer(4)).settings == Settings(analyzer=Analyzer(4))


@pytest.mark.parametrize(("mode", "rule"), [(1, "centroid"), (2, "mistake")])
def test_the_settings_of_the_paper(mode, rule):
    assert Clasher.paper(mode).settings == Settings(
        rule=rule, tf="count", norm="none", threshold=0.5, at_least_one=False
    )
    assert Clasher.paper().settings.rule == "centroid"
    assert Clasher.paper(mode, dimensions=64, threshold=0.3).settings.threshold == 0.3


@pytest.mark.parametrize("mode", [0, 3, "1", None])
def test_the_paper_has_two_modes(mode):
    with pytest.raises(SettingError, match=r"The 'mode' parameter of Clasher must be 1 or 2\. Got"):
        Clasher.paper(mode)


def test_settings_for_kernels():
    setting = Settings().for_kernels()
    assert setting.rule == MARGIN
    assert setting.idf
    assert setting.log_tf
    assert setting.unit
    assert not setting.euclidean
    assert setting.learnt_cut
    assert setting.measure == NO_MEASURE
    assert not setting.conservative
    assert Settings(depth=2, conservative=True).for_kernels().conservative
    assert not Settings(depth=1, conservative=True).for_kernels().conservative
    assert Settings(weighting="icsdf").for_kernels()[1:3] == (True, ICSDF)
    assert Settings(weighting="or").for_kernels()[1:3] == (False, ODDS)
    setting = Settings(rule="perceptron", weighting="tf", tf="count", norm="none").for_kernels()
    assert setting.rule == PERCEPTRON
    assert not any([setting.idf, setting.log_tf, setting.unit, setting.learnt_cut])
    assert setting.threshold == 0.0
    assert Settings(rule="margin", threshold=0.5).for_kernels().threshold == 0.0
    assert not Settings(rule="margin", threshold=0.5).for_kernels().learnt_cut
    assert Settings(rule="centroid", threshold=0.3).for_kernels().threshold == 0.3
    assert Settings(rule="centroid").for_kernels()[:1] == (CENTROID,)
    assert Settings(rule="mistake", similarity="euclidean").for_kernels().rule == MISTAKE


# ── everything follows from the declaration ──────────────────────────────────────────────────────


def defaults(callable_):
    parameters = inspect.signature(callable_).parameters.values()
    return {each.name: each.default for each in parameters if each.name != "self"}


def test_the_constructor_of_the_model_has_every_setting():
    declared = {name: getattr(Settings, name) for name in declarations()}
    assert defaults(Clasher) == defaults(Clasher.__init__) == declared
    with pytest.raises(TypeError, match="'dimension'"):
        Clasher(dimension=64)


def test_the_docstring_describes_every_setting():
    for name, declared in declarations().items():
        assert re.search(rf"^    {name}\n        \S", Settings.__doc__, re.MULTILINE)
        assert " ".join(declared.help.split()) in " ".join(Settings.__doc__.split())
        assert declared.help.endswith(".")


def test_estimators_have_every_setting_but_pending():
    optional("sklearn", "sklearn")
    from clasher.adapters.sklearn import ClasherClassifier, HashedTfidfVectorizer

    of_estimators = {name: getattr(Settings, name) for name in declarations() if name != "pending"}
    assert defaults(ClasherClassifier) == {**of_estimators, "epochs": 1, "column": None}
    own = {"lead": False, "sparse_output": True, "column": None}
    of_vectors = {field.name for field in dataclasses.fields(VectorSettings)}
    assert defaults(HashedTfidfVectorizer).keys() == of_vectors | own.keys()
    optional("river", "river")
    from clasher.adapters import river

    assert defaults(river.ClasherClassifier) == of_estimators | {"weighting": None, "tf": None}


def test_declarations_accept_their_defaults():
    for name, declared in declarations().items():
        assert declared.accepts(getattr(Settings, name))
        assert default_of(name)
