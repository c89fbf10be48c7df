"""Labels that come on a stream of their own find their documents, within a bounded window."""

from __future__ import annotations

import json

import pytest

from clasher.flow import Flow, FlowOptions, Outlet
from clasher.settings import Settings
from tests.flow import plain
from tests.flow.doubles import HesitantSource, ListSink, ListSource, RaggedSource
from tests.flow.plain import lines, records
from tests.flow.runs import OFTEN, run
from tests.service.plain import file_bytes, model_of

WAITING = Settings(dimensions=64, max_labels=16, pending=500)


@pytest.fixture
def streams(tmp_path):
    """Documents without labels in one file, labels in another; addresses of both."""

    def make(rows, labels):
        news, late = tmp_path / "news.jsonl", tmp_path / "labels.jsonl"
        news.write_bytes(lines(row | {"labels": None} for row in rows))
        late.write_bytes(lines(labels))
        return str(news), str(late)

    return make


def labels_of(rows):
    return [{"id": row["id"], "labels": row["labels"]} for row in rows if row["labels"]]


def letters(folder):
    path = folder / "dead-letters.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def in_turns(rows, labels, chunk):
    """Predict and learn two streams in turns: the oracle."""
    model = model_of(WAITING)
    early = {}
    waiting = set()
    for at in range(0, max(len(rows), len(labels)), chunk):
        for row in rows[at : at + chunk]:
            if row["id"] in early:
                model.learn(row["text"], early.pop(row["id"]))
            else:
                model.observe(row["text"], row["id"])
                waiting.add(row["id"])
        for row in labels[at : at + chunk]:
            if row["id"] in waiting:
                model.learn_later(row["id"], row["labels"])
                waiting.discard(row["id"])
            else:
                early[row["id"]] = row["labels"]
    return file_bytes(model)


def test_late_labels_are_learnt_when_they_come(folder, streams):
    rows = records(200)
    labels = labels_of(rows)
    news, late = streams(rows, labels)
    figures = run(folder, news, labels=late, settings=WAITING)
    assert plain.model_in(folder) == in_turns(rows, labels, 20)
    assert figures.joined + figures.labelled == len(labels)
    assert figures.waiting == len(rows) - len(labels)
    assert figures.judged == len(labels)


def test_labels_may_come_before_their_documents(folder, streams):
    rows = records(200)
    labels = labels_of(rows)[::-1]
    news, late = streams(rows, labels)
    figures = run(folder, news, labels=late, settings=WAITING)
    assert plain.model_in(folder) == in_turns(rows, labels, 20)
    assert figures.labelled
    assert figures.joined
    assert figures.early == figures.unmatched == 0


def test_labels_without_a_document_make_room_and_go_to_the_dead_letters(folder, streams):
    settings = Settings(dimensions=64, max_labels=16, pending=3)
    strange = [{"id": f"x{number}", "labels": ["grain"]} for number in range(5)]
    news, late = streams(records(10), strange)
    figures = run(folder, news, labels=late, settings=settings)
    assert (figures.unmatched, figures.early, figures.poison) == (2, 3, 2)
    assert [letter["record"] for letter in letters(folder)] == ["x0", "x1"]
    assert letters(folder)[0]["error"] == "no document 'x0' came in time: 3 labels may wait"


def test_documents_wait_within_a_bounded_window(folder, streams):
    settings = Settings(dimensions=64, max_labels=16, pending=10)
    rows = [row | {"labels": ["grain"]} for row in records(100)]
    news, late = streams(rows, labels_of(rows[:1]))
    figures = run(folder, news, labels=late, settings=settings, chunk=1000)
    assert figures.waiting == 10
    assert figures.joined == 0
    assert figures.early == 1


def test_labels_that_come_twice_are_learnt_once(folder, streams):
    rows = records(60)
    labels = labels_of(rows)
    news, late = streams(rows, [row for row in labels for _ in range(2)])
    figures = run(folder, news, labels=late, settings=WAITING)
    assert figures.duplicates == len(labels)
    assert figures.joined + figures.labelled == len(labels)
    assert figures.early == 0


def test_a_record_without_labels_goes_to_the_dead_letters(folder, streams):
    rows = records(10)
    labels = [{"id": "d0"}, {"id": "d1", "labels": 7}, {"id": "d2", "labels": ["grain"]}]
    labels.append({"id": "d3", "labels": [f"label {number}" for number in range(20)]})
    news, late = streams(rows, labels)
    figures = run(folder, news, labels=late, settings=WAITING)
    assert figures.joined == 1
    errors = [letter["error"] for letter in letters(folder)]
    assert errors[0] == "field 'labels' holds a number, not labels"
    assert errors[1] == "it has no labels"
    assert "max_labels is 16" in errors[2]


def test_ids_are_the_same_as_numbers_and_as_text(folder, streams):
    news, late = streams([{"id": 7, "text": "wheat"}], [{"id": "7", "labels": ["grain"]}])
    assert run(folder, news, labels=late, settings=WAITING).joined == 1


def test_partial_labels_stay_partial(folder, streams):
    rows = records(5)
    news, late = streams(rows, [{"id": "d1", "labels": {"grain": True, "metal": False}}])
    run(folder, news, labels=late, settings=WAITING)
    labels = [{"id": "d1", "labels": {"grain": True, "metal": False}}]
    assert plain.model_in(folder) == in_turns(rows, labels, 20)


@pytest.mark.parametrize("stop_at", [1, 3, 6])
def test_waiting_documents_and_labels_are_in_the_snapshot(folder, stop_at):
    """A flow that is stopped after any turn, and goes on, is one that was never stopped."""
    rows, labels = records(200), labels_of(records(200))[::-1]

    def going(source):
        late = ListSource(labels, "labels")
        late.fields = late.fields.__class__(text=None)
        bare = [row | {"labels": None} for row in rows]
        first = ListSource(bare, "news")
        flow = Flow(
            folder, first, [], labels=late, letters=ListSink(),
            settings=None if (folder / "model.clasher").exists() else WAITING,
            options=FlowOptions(**OFTEN | {"snapshot_documents": 40}),
        )  # fmt: skip
        if source:
            late.before_read = lambda late: flow.stop() if late.reads >= stop_at else None
        flow.run()

    going(True)
    going(False)
    assert plain.model_in(folder) == in_turns(rows, labels, 20)


def joined(folder, documents, late, **options):
    late.fields = late.fields.__class__(text=None)
    sink = ListSink("out")
    flow = Flow(
        folder, documents, [Outlet(sink)], labels=late, letters=ListSink(),
        settings=None if (folder / "model.clasher").exists() else WAITING,
        options=FlowOptions(**OFTEN | options),
    )  # fmt: skip
    return flow, sink


@pytest.mark.parametrize("sizes", [[20], [7, 1, 19], [3], [13, 20, 2]])
def test_the_sizes_in_which_a_broker_delivers_change_nothing(folder, sizes):
    rows, labels = records(200), labels_of(records(200))[::-1]
    bare = [row | {"labels": None} for row in rows]
    documents, late = RaggedSource(bare, "news", sizes), RaggedSource(labels, "labels", sizes[::-1])
    joined(folder, documents, late)[0].run()
    assert plain.model_in(folder) == in_turns(rows, labels, 20)


def test_a_restart_in_the_middle_of_a_turn_changes_nothing(folder):
    """A restart writes the same outputs again."""
    rows, labels = records(200), labels_of(records(200))[::-1]
    bare = [row | {"labels": None} for row in rows]
    written = {}
    for sizes in ([7], [5, 1], [11], [20]):
        documents = RaggedSource(bare, "news", sizes)
        flow, sink = joined(folder, documents, RaggedSource(labels, "labels", sizes))
        if sizes != [20]:
            documents.before_read = lambda late, flow=flow: flow.stop() if late.reads > 6 else None
        flow.run()
        for output in sink.written:
            assert written.setdefault(output.id, output.value) == output.value
    assert plain.model_in(folder) == in_turns(rows, labels, 20)
    assert len(written) == len(rows)


def test_labels_do_not_overtake_documents_that_are_slow_to_come(folder):
    """A source that brings nothing now, and does not know why, still has its turn."""
    rows, labels = records(200), labels_of(records(200))[::-1]
    bare = [row | {"labels": None} for row in rows]
    documents = HesitantSource(bare, "news")
    documents.half, documents.silent = 90, 20_000
    joined(folder, documents, ListSource(labels, "labels"))[0].run()
    assert plain.model_in(folder) == in_turns(rows, labels, 20)
