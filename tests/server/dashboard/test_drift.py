"""The Drift page: alarms and texts to teach next."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.dashboard.conftest import served
from tests.server.dashboard.servers import SUBJECTS, Server
from tests.server.dashboard.test_teach import OTHER, SHOWN
from tests.server.dashboard.visits import formatted

pytestmark = pytest.mark.compiled

NEW_WORDS = {
    "oil": "shale fracking well sand rig texas",
    "ships": f"{SUBJECTS['oil']} shale fracking well",
}
LATE = """({ listen }) => {  // the documents arrive after new metrics
  const asked = window.fetch;
  const figures = () => new Promise((resolve) => {
    const stop = listen("metrics", () => { stop(); setTimeout(resolve, 100); });
  });
  window.fetch = async (to, options) => {
    if (options?.body?.includes('"ids"')) await figures();
    return asked(to, options);
  };
}"""
SHARES = ("frequency_before", "frequency")


def stream(words: dict[str, str], count: int, seed: int) -> list[dict[str, Any]]:
    """Make documents of some subjects in random order."""
    chance = random.Random(seed)
    documents = [
        {"text": " ".join(chance.choices(words[name].split(), k=5)), "labels": [name]}
        for _ in range(count)
        for name in words
    ]
    chance.shuffle(documents)
    return documents


def teach_drift(server: Server) -> None:
    """Teach a stream in which oil and ships change their words and oil gets more frequent."""
    after = stream(SUBJECTS | NEW_WORDS, 300, 2) + stream({"oil": NEW_WORDS["oil"]}, 600, 4)
    random.Random(5).shuffle(after)
    for documents in (stream(SUBJECTS, 600, 1), after):
        for start in range(0, len(documents), 100):
            server.post("v1/learn", {"documents": documents[start : start + 100]})
    new = [{"text": row["text"]} for row in stream(SUBJECTS | NEW_WORDS, 10, 3)]
    server.post("v1/predict", {"documents": new})


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Server]:
    """Run a service with a drifted stream."""
    yield from served(tmp_path_factory.mktemp("drifting"), teach_drift)


def test_an_alarm_in_words(visit: Any, drifting: Server) -> None:
    alarm = drifting.get("v1/alarms")["alarms"][0]
    page = visit("drift", url=drifting.url).page
    told = page.locator(".alarm").first
    told.wait_for()
    assert "Errors rose from" in told.inner_text()
    for word in (*alarm["gained"], *alarm["lost"]):
        assert word in told.locator(".chip").all_inner_texts()
    assert "Since then: F1" in told.inner_text()


def test_alarms_show_the_frequency_of_the_label(visit: Any, drifting: Server) -> None:
    alarms = drifting.get("v1/alarms")["alarms"]
    page = visit("drift", url=drifting.url).page
    page.locator(".alarm").first.wait_for()
    texts = page.locator(".alarm").all_inner_texts()
    told = {alarm["label"]: text for alarm, text in zip(alarms, texts, strict=True)}
    oil = next(alarm for alarm in alarms if alarm["label"] == "oil")
    assert oil["frequency"] > oil["frequency_before"]
    before, now = (formatted(page, "percent", oil[name]) for name in SHARES)
    assert f"It became more frequent: from {before} to {now} of documents." in told["oil"]
    assert "It became less frequent: from" in told["ships"]
    assert f", {formatted(page, 'moment', oil['at'])}." in told["oil"]


def test_the_texts_to_teach_next(visit: Any, drifting: Server) -> None:
    page = visit("drift", url=drifting.url).page
    texts = page.locator(".alarm").first.locator(".next li")
    texts.first.wait_for()
    wanted = set(texts.all_inner_texts())
    assert len(wanted) == 5
    page.get_by_role("link", name="Teach 5 texts").first.click()
    given = set()
    for _ in range(5):
        page.wait_for_selector(SHOWN)
        text = page.locator(SHOWN).inner_text()
        given.add(text)
        page.keyboard.press("ArrowRight")
        page.wait_for_function(OTHER, arg=text)
    assert given == wanted


def test_wanted_texts_come_first_even_if_the_response_is_late(visit: Any, drifting: Server) -> None:
    wanted = drifting.get("v1/recent?most=1")["documents"][0]
    seen = visit("now", url=drifting.url)
    seen.module("events.js", LATE)
    page = seen.page
    page.evaluate("id => { location.hash = `#/teach/ids/${id}`; }", wanted["id"])
    page.wait_for_selector(SHOWN)
    assert page.locator(SHOWN).inner_text() == wanted["text"]
