"""The HTML of a model, an evaluation and an explanation."""

from html.parser import HTMLParser

import pytest

from clasher import Clasher
from clasher.evaluate import evaluate

EVIL = "<script>alert('x')</script>&\"'"
TEXTS = ["wheat and corn", "gold"] * 5
LABELS = [{EVIL, "grain"}, {"metal"}] * 5


class Seen(HTMLParser):
    """Collect tags, whether they are closed, and links."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.words = [], set(), []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag != "polyline":
            self.open.append(tag)
        assert not {name for name, _ in attributes} & {"src", "href"}

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def shown():
    model = Clasher(256, max_labels=8)
    evaluation = evaluate(model, [(TEXTS, LABELS)], every=2, window=1)
    return {
        "model": model,
        "evaluation": evaluation,
        "explanation": model.explain("wheat <b>gold</b>", EVIL),
        "empty model": Clasher(256, max_labels=8),
    }


@pytest.mark.parametrize("name", ["model", "evaluation", "explanation", "empty model"])
def test_displays_are_valid_html_without_scripts_and_links(name):
    page = shown()[name]._repr_html_()
    seen = Seen(page)
    assert not seen.open
    assert "script" not in seen.tags
    assert "url(" not in page
    assert "prefers-color-scheme:dark" in page


def test_displays_show_the_model():
    things = shown()
    assert {EVIL, "grain", "metal"} <= set(Seen(things["model"]._repr_html_()).words)
    evaluation = Seen(things["evaluation"]._repr_html_())
    assert f"{things['evaluation'].micro_f1:.3f}" in evaluation.words
    assert "polyline" in evaluation.tags
    assert {"wheat", "gold"} <= set(Seen(things["explanation"]._repr_html_()).words)
