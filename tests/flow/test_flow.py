"""A flow learns each document once, whatever happens on the way."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from clasher import Clasher
from clasher.errors import FolderError, SettingError, StreamError, UnreachableError
from clasher.flow import Flow, FlowOptions, Outlet
from clasher.runtime import snapshots as locking
from clasher.service.engine import Engine
from clasher.settings import Settings
from tests.flow import plain
from tests.flow.doubles import AgreedSource, HesitantSource, ListSink, ListSource
from tests.flow.plain import SETTINGS, lines, predictions, records
from tests.flow.runs import OFTEN, flow, run
from tests.service.plain import file_bytes


def lists(folder, source, sink=None, *, notes=None, **options):
    """A flow between streams in memory."""
    return Flow(
        folder,
        source,
        [Outlet(sink or ListSink())],
        settings=None if (folder / "model.clasher").exists() else SETTINGS,
        options=FlowOptions(**OFTEN | options),
        on_note=(lambda line: None) if notes is None else notes.append,
    )


def written(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# ── what is learnt and written ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("chunk", "every"), [(1, 7), (20, 60), (64, 64), (1000, 1000)])
def test_each_document_is_predicted_then_learnt_however_the_stream_is_cut(
    folder, tmp_path, chunk, every
):
    rows = records(200)
    (tmp_path / "news.jsonl").write_bytes(lines(rows))
    out = tmp_path / "out.jsonl"
    figures = run(
        folder, str(tmp_path / "news.jsonl"), str(out), chunk=chunk, snapshot_documents=every
    )
    assert plain.model_in(folder) == plain.learnt(rows)
    assert written(out) == predictions(rows)
    assert figures.documents == 200
    assert figures.labelled == sum(row["labels"] is not None for row in rows)
    assert figures.judged == figures.labelled
    assert figures.micro_f1 > 0.5


def test_a_second_run_goes_on_where_the_first_ended(folder, tmp_path):
    rows = records(100)
    news, out = tmp_path / "news.jsonl", tmp_path / "out.jsonl"
    news.write_bytes(lines(rows[:60]))
    run(folder, str(news), str(out))
    with news.open("ab") as file:
        file.write(lines(rows[60:]))
    assert run(folder, str(news), str(out)).documents == 100
    assert plain.model_in(folder) == plain.learnt(rows)
    assert written(out) == predictions(rows)


def test_another_stream_is_learnt_by_the_same_model(folder, tmp_path):
    rows = records(100)
    for name, part in (("a.jsonl", rows[:50]), ("b.jsonl", rows[50:])):
        (tmp_path / name).write_bytes(lines(part))
        run(folder, str(tmp_path / name), new_stream=True)
    assert plain.model_in(folder) == plain.learnt(rows)


def test_records_without_a_text_go_to_the_dead_letters_and_block_nothing(folder, tmp_path):
    rows = records(40)
    content = lines(rows[:20]) + b'{"labels": []}\nno JSON\n\xff\n' + lines(rows[20:])
    (tmp_path / "news.jsonl").write_bytes(content)
    letters = tmp_path / "letters.jsonl"
    figures = run(folder, str(tmp_path / "news.jsonl"), letters=str(letters))
    assert plain.model_in(folder) == plain.learnt(rows)
    assert figures.poison == 3
    assert [(line["record"], line["raw"]) for line in written(letters)] == [
        (21, '{"labels": []}'), (22, "no JSON"), (23, "\\xff"),
    ]  # fmt: skip
    assert written(letters)[0]["error"] == "field 'text' is missing (there is 'labels')"


def test_documents_that_come_twice_are_learnt_once_also_after_a_restart(folder, tmp_path):
    rows = records(30)
    news = tmp_path / "news.jsonl"
    news.write_bytes(lines([row for row in rows for _ in range(2)]))
    assert run(folder, str(news)).duplicates == 30
    with news.open("ab") as file:
        file.write(lines(rows[-2:]))
    assert run(folder, str(news)).duplicates == 32
    assert plain.model_in(folder) == plain.learnt(rows)


def test_only_the_last_documents_are_remembered(folder, tmp_path):
    rows = records(30)
    (tmp_path / "news.jsonl").write_bytes(lines(rows + rows))
    assert run(folder, str(tmp_path / "news.jsonl"), remember=20).duplicates == 0
    assert plain.model_in(folder) == plain.learnt(rows + rows)


def test_the_same_id_with_another_text_is_another_document(folder, tmp_path):
    rows = [row | {"id": "same"} for row in records(20)]
    (tmp_path / "news.jsonl").write_bytes(lines(rows))
    assert run(folder, str(tmp_path / "news.jsonl"), remember=100).documents > 10


def test_a_flow_that_forgets_documents_fails_these_tests(folder, tmp_path):
    rows = records(30)
    (tmp_path / "news.jsonl").write_bytes(lines([row for row in rows for _ in range(2)]))
    run(folder, str(tmp_path / "news.jsonl"), remember=0)
    assert plain.model_in(folder) != plain.learnt(rows)


def test_labels_that_find_no_room_go_to_the_dead_letters(folder, tmp_path):
    rows = records(20)
    too_many = {"id": "x", "text": "much", "labels": [f"label {n}" for n in range(17)]}
    (tmp_path / "news.jsonl").write_bytes(lines([*rows[:10], too_many, *rows[10:]]))
    figures = run(folder, str(tmp_path / "news.jsonl"))
    assert plain.model_in(folder) == plain.learnt(rows)
    assert figures.poison == 1
    (letter,) = written(folder / "dead-letters.jsonl")
    assert letter["record"] == "x"
    assert "max_labels" in letter["error"]


def test_labels_may_be_evicted(folder, tmp_path):
    settings = Settings(dimensions=64, max_labels=2, on_full="evict")
    rows = records(60)
    (tmp_path / "news.jsonl").write_bytes(lines(rows))
    run(folder, str(tmp_path / "news.jsonl"), settings=settings)
    assert plain.model_in(folder) == plain.learnt(rows, settings)


def test_routes_get_the_documents_they_pick_with_texts_if_asked_for(folder, tmp_path):
    rows = records(120)
    (tmp_path / "news.jsonl").write_bytes(lines(rows))
    grain, rest = tmp_path / "grain.jsonl", tmp_path / "rest.jsonl"
    routes = [f"grain={grain}", f"!grain&*={rest}"]
    run(folder, str(tmp_path / "news.jsonl"), routes=routes, texts=True)
    texts = {row["id"]: row["text"] for row in rows}
    expected = [row | {"text": texts[row["id"]]} for row in predictions(rows)]
    assert written(grain) == [row for row in expected if "grain" in row["labels"]]
    assert written(rest) == [
        row for row in expected if row["labels"] and "grain" not in row["labels"]
    ]
    assert written(grain)
    assert written(rest)


# ── the folder ───────────────────────────────────────────────────────────────────────────────────


def test_two_flows_on_one_folder_are_refused(folder, tmp_path):
    source = ListSource(records(40))
    refusals: list[str] = []

    def intrude(_: ListSource) -> None:
        if not refusals:
            with pytest.raises(FolderError) as error:
                lists(folder, ListSource(records(40))).run()
            refusals.append(str(error.value))

    source.before_read = intrude
    lists(folder, source).run()
    assert "in use by process" in refusals[0]
    assert plain.model_in(folder) == plain.learnt(records(40))


def test_a_lock_that_does_not_lock_fails_these_tests(folder, monkeypatch):
    monkeypatch.setattr(locking.fcntl, "flock", lambda *given: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_two_flows_on_one_folder_are_refused(folder, None)


def test_the_folder_of_a_service_is_refused(folder, tmp_path):
    Engine(folder, SETTINGS).close()
    (tmp_path / "news.jsonl").write_bytes(lines(records(10)))
    with pytest.raises(FolderError, match="is the folder of a service"):
        run(folder, str(tmp_path / "news.jsonl"))
    run(tmp_path / "run", str(tmp_path / "news.jsonl"))
    with pytest.raises(FolderError, match="is the folder of clasher run"):
        Engine(tmp_path / "run")


def test_other_settings_are_refused(folder):
    lists(folder, ListSource(records(10))).run()
    other = Flow(folder, ListSource([]), [], settings=Settings(dimensions=128, max_labels=16))
    with pytest.raises(SettingError, match=r"other settings \(dimensions\)"):
        other.run()


def test_a_flow_may_begin_with_a_model(folder):
    rows = records(60)
    model = Clasher(dimensions=64, max_labels=16)
    for row in rows[:30]:
        model.learn(row["text"], row["labels"])
    Flow(folder, ListSource(rows[30:]), [], initial_model=model).run()
    assert plain.model_in(folder) == plain.learnt(rows)


def test_whoever_replaces_the_model_that_is_shown_spoils_no_snapshot(folder):
    rows = records(60)
    lists(folder, ListSource(rows[:30])).run()
    model = Clasher.load(folder / "model.clasher")
    model.learn("something else", {"grain"})
    model.save(folder / "model.clasher")
    lists(folder, ListSource(rows)).run()
    assert plain.model_in(folder) == plain.learnt(rows)


@pytest.mark.parametrize("file", ["model.clasher", "state.json"])
def test_a_spoilt_snapshot_falls_back_to_the_one_before_and_what_follows_is_read_again(
    folder, file
):
    rows = records(100)
    lists(folder, ListSource(rows)).run()
    newest = max(path for path in (folder / "snapshots").iterdir())
    spoilt = bytearray((newest / file).read_bytes())
    spoilt[len(spoilt) // 2] ^= 1
    (newest / file).write_bytes(spoilt)
    notes: list[str] = []
    sink = ListSink()
    lists(folder, ListSource(rows), sink, notes=notes).run()
    assert "is damaged and was put aside" in notes[0]
    assert plain.model_in(folder) == plain.learnt(rows)


def test_without_an_intact_snapshot_nothing_begins(folder):
    lists(folder, ListSource(records(100))).run()
    for path in (folder / "snapshots").iterdir():
        (path / "state.json").write_bytes(b"")
    with pytest.raises(FolderError, match="no snapshot is intact"):
        lists(folder, ListSource(records(100))).run()


# ── streams that do not answer, and ends ─────────────────────────────────────────────────────────


def test_a_sink_that_is_down_holds_the_stream_back_and_loses_nothing(folder):
    rows = records(400)
    source, sink, notes = ListSource(rows), ListSink(), []
    sink.down = 3
    seen: list[int] = []
    write = sink.write

    def noting(outputs):
        if sink.down:
            seen.append(source.at)
        write(outputs)

    sink.write = noting
    lists(folder, source, sink, notes=notes).run()
    assert notes == ["kept: it is down; trying again", "kept answers again"]
    assert max(seen) <= 20 * (OFTEN.get("ahead", 2) + 2)  # chunks in hand, and no more
    assert [json.loads(output.value) for output in sink.written] == predictions(rows)


def test_a_stream_that_does_not_answer_is_given_up_after_a_time(folder):
    sink = ListSink()
    sink.down = 10**6
    with pytest.raises(StreamError, match=r"it is down; gave up after 0\.2 s"):
        lists(folder, ListSource(records(40)), sink, give_up=0.2).run()


def test_silence_is_no_end_while_nobody_answers(folder):
    rows = records(100)
    assert lists(folder, HesitantSource(rows), idle=0.0).run().documents == 100
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_stop_finishes_what_is_in_hand(folder):
    rows = records(4000)
    source = ListSource(rows)
    going = lists(folder, source, idle=None)
    source.before_read = lambda source: going.stop() if source.at >= 200 else None
    done = going.run().documents
    assert 100 <= done < 4000  # a few chunks are read ahead
    assert plain.model_in(folder) == plain.learnt(rows[:done])
    lists(folder, ListSource(rows)).run()
    assert plain.model_in(folder) == plain.learnt(rows)


def test_a_stop_while_a_sink_is_down_leaves_the_last_snapshot(folder):
    rows = records(200)
    sink, notes = ListSink(), []
    going = lists(folder, ListSource(rows), sink, notes=notes)
    write = sink.write

    def failing(outputs):
        if len(sink.written) >= 100:
            sink.down = 10**6
            going.stop()
        write(outputs)

    sink.write = failing
    going.run()
    assert "the next start repeats" in notes[-1]
    sink.write, sink.down = write, 0
    lists(folder, ListSource(rows), sink).run()
    assert plain.model_in(folder) == plain.learnt(rows)
    assert [json.loads(output.value) for output in sink.written] == predictions(rows)


def test_a_stop_keeps_what_was_learnt_even_if_sinks_were_slow(folder, monkeypatch):
    """Only a snapshot that is slow itself is not waited for."""
    rows, sink, notes, waited = records(400), ListSink(), [], [0.0]
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + waited[0])
    monkeypatch.setattr("clasher.flow.flow.time", clock)
    source = ListSource(rows)
    going = lists(folder, source, sink, idle=None, notes=notes)
    source.before_read = lambda source: going.stop() if source.at >= 200 else None
    flush = sink.flush

    def slowly():
        waited[0] += 60.0
        return flush()

    sink.flush = slowly
    done = going.run().documents
    assert not notes
    assert plain.model_in(folder) == plain.learnt(rows[:done])


def test_a_stop_does_not_wait_for_a_slow_snapshot(folder, monkeypatch):
    monkeypatch.setattr("clasher.flow.flow.SLOW", -1.0)
    rows, notes = records(400), []
    source = ListSource(rows)
    going = lists(folder, source, idle=None, notes=notes)
    source.before_read = lambda source: going.stop() if source.at >= 200 else None
    going.run()
    assert "the next start repeats what came after the last snapshot" in notes[-1]
    lists(folder, ListSource(rows)).run()
    assert plain.model_in(folder) == plain.learnt(rows)


def test_an_error_of_a_source_ends_the_flow(folder):
    source = ListSource(records(100))

    def fail(source):
        if source.at >= 40:
            raise StreamError("list: it is broken")

    source.before_read = fail
    with pytest.raises(StreamError, match="list: it is broken"):
        lists(folder, source, snapshot_documents=10**6).run()
    assert plain.model_in(folder) == plain.learnt(records(40))  # what was learnt is kept


def test_a_source_may_have_all_committed_before_it_goes_on(folder):
    rows = records(100)
    log: dict[str, object] = {}
    source = AgreedSource(rows, log)
    settled: list[object] = []

    def settle(source):
        if source.at == 60:
            source.caller.settle()
            settled.append(log["position"])

    source.before_read = settle
    lists(folder, source, snapshot_documents=10**6).run()
    assert settled == [60]


def test_a_commit_request_that_cannot_be_met_is_reported(folder):
    source, sink = AgreedSource(records(100), {}), ListSink()
    going = lists(folder, source, sink)
    ends: list[str] = []

    def down():
        raise UnreachableError("kept: it is down")

    def settle(source):
        if source.at == 80:  # some came after the snapshot of the first 60
            sink.flush = down
            threading.Timer(0.05, going.stop).start()
            try:
                source.caller.settle()
            except Exception as error:
                ends.append(str(error))
                raise

    source.before_read = settle
    going.run()
    assert ends == ["agreed: the flow ended before the commit"]


# ── who must agree ───────────────────────────────────────────────────────────────────────────────


def test_a_refused_commit_takes_the_flow_back(folder):
    rows = records(200)
    source, sink, notes = AgreedSource(rows, {}), ListSink(), []
    refused: list[int] = []

    def refuse(number):
        if number == 3 and len(refused) < 2:
            refused.append(number)
            return True
        return False

    source.refuses = refuse
    figures = lists(folder, source, sink, notes=notes).run()
    assert notes == ["agreed: it is not yours any more; went back to snapshot 2"] * 2
    assert figures.refused == 2
    assert plain.model_in(folder) == plain.learnt(rows)
    assert [json.loads(output.value) for output in sink.written] == predictions(rows)


def test_a_commit_whose_answer_got_lost_counts_once(folder):
    rows = records(200)
    source = AgreedSource(rows, {})
    source.forgets_answer = lambda number: True
    lists(folder, source).run()
    assert plain.model_in(folder) == plain.learnt(rows)


@pytest.mark.parametrize("agreed", [True, False])
def test_a_start_asks_whether_a_prepared_snapshot_counts(folder, agreed):
    rows = records(200)
    log: dict[str, object] = {}
    source = AgreedSource(rows, log)

    class Crash(BaseException):
        pass

    def crash(number):
        if number == 3:
            if agreed:
                log[source.caller.id] = number
            raise Crash

    source.refuses = crash
    with pytest.raises(Crash):
        lists(folder, source).run()
    assert list((folder / "snapshots").glob("*.prepared"))
    lists(folder, AgreedSource(rows, log)).run()
    assert plain.model_in(folder) == plain.learnt(rows)


class Hasty(AgreedSource):
    """Refuses outputs that wait for longer than an instant."""

    within = 0.0


def test_snapshots_are_as_frequent_as_a_party_needs_them(folder):
    figures = {}
    for kind in (AgreedSource, Hasty):
        going = Flow(
            folder / kind.__name__, kind(records(200), {}), [], settings=SETTINGS,
            options=FlowOptions(chunk=20, idle=0.0),
        )  # fmt: skip
        figures[kind] = going.run()
    assert figures[AgreedSource].snapshot == 2
    assert figures[Hasty].snapshot >= 10


def test_snapshots_that_a_party_would_never_agree_to_are_refused(folder):
    with pytest.raises(SettingError, match="--snapshot-every 9: a transaction ends after 0 s"):
        Flow(folder, Hasty(records(2), {}), [], options=FlowOptions(snapshot_seconds=9))


@pytest.mark.parametrize(
    ("committed", "what"), [(0, "agreed was reset"), (99, "is older than agreed")]
)
def test_a_party_that_remembers_something_else_is_refused(folder, committed, what):
    rows, log = records(200), {}
    lists(folder, AgreedSource(rows, log)).run()
    log.update({key: committed for key in log if key != "position"})
    with pytest.raises(StreamError, match=what):
        lists(folder, AgreedSource(rows, log)).run()


def test_a_prepared_snapshot_waits_for_its_party(folder):
    source = AgreedSource(records(200), {})

    def interrupt(number):
        raise KeyboardInterrupt

    lists(folder, AgreedSource(records(20), source.log)).run()
    source.refuses = interrupt
    with pytest.raises(KeyboardInterrupt):
        lists(folder, source).run()
    with pytest.raises(FolderError, match="has not confirmed snapshot"):
        lists(folder, ListSource(records(20))).run()


def test_two_parties_cannot_agree(folder):
    sink = ListSink()
    sink.party = AgreedSource([], {})
    sink.party.name = "other"
    with pytest.raises(SettingError, match="agreed and other would each have to agree"):
        lists(folder, AgreedSource([], {}), sink)
    with pytest.raises(SettingError, match="labels cannot come from a group"):
        Flow(folder, ListSource([]), [], labels=AgreedSource([], {}))


# ── others ───────────────────────────────────────────────────────────────────────────────────────


def test_a_flow_needs_room_for_documents_to_wait(folder):
    with pytest.raises(SettingError, match="no room for documents that wait"):
        Flow(folder, ListSource([]), [], labels=ListSource([], "labels"), settings=SETTINGS).run()
    roomy = Settings(dimensions=64, max_labels=16, pending=10)  # and nothing is left of the other
    Flow(folder, ListSource([]), [], labels=ListSource([], "labels"), settings=roomy).run()


@pytest.mark.parametrize("wrong", [{"chunk": 0}, {"ahead": 0}, {"remember": -1}])
def test_bounds_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingError, match="parameter of FlowOptions must be"):
        FlowOptions(**wrong)


def test_figures_are_a_copy_of_one_moment(folder):
    shown: list[object] = []
    source = ListSource(records(100))
    Flow(folder, source, [], settings=SETTINGS, on_progress=shown.append).run()
    assert shown[-1].documents == 100
    assert shown[-1].snapshot >= 1
    assert file_bytes(Clasher.load(folder / "model.clasher")) == plain.learnt(records(100))


def test_flow_ends_when_nothing_comes(folder, tmp_path):
    (tmp_path / "news.jsonl").write_bytes(lines(records(10)))
    figures = flow(folder, f"file:{tmp_path}/news.jsonl?follow=yes", idle=0.3).run()
    assert figures.documents == 10
