"""Frozen results: what an older clasher learnt and wrote must mean the same for ever.

``python -m tests.test_golden`` writes the golden files again; only a new format of the model file
or a deliberate change of a learning rule is a reason to.
"""

import json
from pathlib import Path

import pytest

from clasher import Clasher
from clasher.settings import RULES

GOLDEN = Path(__file__).parent / "golden"

STREAM = [
    ("Wheat and corn prices fell after a good harvest", {"farming", "markets"}),
    ("The central bank raised interest rates", {"markets"}),
    ("Drought threatens the corn harvest in the south", {"farming", "weather"}),
    ("Storm warnings for the coast: gales and heavy rain ☂", {"weather"}),
    ("小麦の価格が下落した", {"farming", "markets"}),
    ("Shares rose as the bank cut rates", {"markets": True, "weather": False}),
    ("Rain, at last, and the drought is over", {"weather"}),
    ("An unlabelled story about nothing", None),
] * 6
QUESTIONS = ["Rain ruins the wheat harvest", "Bank rates and share prices", "小麦の価格", ""]


def learnt(rule: str) -> Clasher:
    model = Clasher(dimensions=64, rule=rule, seed=7)
    model.learn_many([text for text, _ in STREAM], [labels for _, labels in STREAM])
    return model


def answers(model: Clasher) -> dict[str, dict[str, object]]:
    return {
        text: {"labels": sorted(model.predict(text)), "probabilities": model.probabilities(text)}
        for text in QUESTIONS
    }


@pytest.mark.parametrize("rule", RULES)
def test_the_same_stream_gives_the_same_scores(rule):
    check(answers(learnt(rule)), rule)


@pytest.mark.parametrize("folder", [".", "0.1"])
@pytest.mark.parametrize("rule", RULES)
def test_a_model_file_still_answers(rule, folder):
    model = Clasher.load(GOLDEN / folder / f"{rule}.clasher")
    assert model.documents == len(STREAM)
    check(answers(model), rule, folder)


@pytest.mark.parametrize("rule", RULES)
def test_a_model_file_of_an_older_version_goes_on_learning(rule, tmp_path):
    """It keeps its setting: always predict a label."""
    model = Clasher.load(GOLDEN / "0.1" / f"{rule}.clasher")
    before = model.labelled
    assert model.settings.at_least_one is True
    model.learn_many(["Nothing of interest today"] * 20, [set()] * 20)
    model.save(tmp_path / "model")
    again = Clasher.load(tmp_path / "model")
    assert again.predict("An unheard of thing") == model.predict("An unheard of thing") != set()
    assert again.probabilities("Rain") == model.probabilities("Rain")
    assert again.labelled == model.labelled == before + 20


def check(found: dict[str, dict[str, object]], rule: str, folder: str = ".") -> None:
    expected = json.loads((GOLDEN / folder / f"{rule}.json").read_text(encoding="utf-8"))
    assert found.keys() == expected.keys()
    for text in found:
        assert found[text]["labels"] == expected[text]["labels"]
        assert found[text]["probabilities"] == pytest.approx(
            expected[text]["probabilities"], abs=1e-4
        )


if __name__ == "__main__":
    for rule in RULES:
        model = learnt(rule)
        model.save(GOLDEN / f"{rule}.clasher")
        text = json.dumps(answers(model), indent=1, ensure_ascii=False) + "\n"
        (GOLDEN / f"{rule}.json").write_text(text, encoding="utf-8")
