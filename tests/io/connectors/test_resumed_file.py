"""A file that is followed may be rotated, copied and truncated, also while nobody reads it."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack

import pytest

from clasher.errors import StreamError
from clasher.io.protocol import Caller
from clasher.io.registry import source_at
from tests.flow import plain
from tests.flow.runs import flow


@pytest.fixture
def log(tmp_path):
    return Log(tmp_path / "news.jsonl")


class Log:
    """A file that somebody writes to, with running numbers as texts."""

    def __init__(self, path):
        self.path, self._number = path, 0
        self.write(0)

    def write(self, lines, end="\n"):
        """Write some lines, the last one with another end."""
        with self.path.open("a") as file:
            for at in range(lines):
                self._number += 1
                file.write(self.line(self._number) + ("\n" if at < lines - 1 else end))

    def line(self, number):
        return f'{{"text": "{number:03}"}}'

    def beside(self, ending):
        return self.path.with_name(self.path.name + ending)

    def rotate(self, ending=".1"):
        self.path.rename(self.beside(ending))

    def copy_and_truncate(self, ending=".1"):
        shutil.copy(self.path, self.beside(ending))
        os.truncate(self.path, 0)


@pytest.fixture
def follow(log):
    """Opens the log, followed; all are closed at the end."""
    with ExitStack() as stack:

        def opening(position=None, notes=None, **options):
            more = "".join(f"&{name}={value}" for name, value in options.items())
            source = source_at(f"file:{log.path}?follow=yes{more}")
            stack.callback(source.close)
            source.open(position, Caller("me", tell=([] if notes is None else notes).append))
            return source

        yield opening


def texts(source, most=1000):
    """Read all numbers and the last position; a switch of files takes some reads."""
    found, position = [], None
    for _ in range(12):
        chunk = source.read(most, 0.0)
        if chunk is not None:
            found += [int(text) for text in chunk.records.texts.to_pylist()]
            position = chunk.position
    return found, position


def test_the_rest_of_a_rotated_file_is_read_then_the_new_one(log, follow):
    source = follow()
    log.write(3)
    assert texts(source)[0] == [1, 2, 3]
    log.write(2)
    log.rotate()
    assert texts(source)[0] == [4, 5]
    with log.beside(".1").open("a") as file:  # whoever writes has not noticed yet
        file.write(log.line(0) + "\n")
    log.write(2)
    found, position = texts(source)
    assert found == [0, 6, 7]
    assert position["records"] == 8
    log.write(1)
    assert texts(source)[0] == [8]
    assert not source.is_over


def test_a_rotated_file_need_not_end_with_a_line_feed(log, follow):
    source = follow()
    log.write(2, end="")
    assert texts(source)[0] == [1]
    log.rotate()
    log.write(1)
    assert texts(source)[0] == [2, 3]


def test_several_rotations_while_nobody_reads_are_read_in_order(log, follow):
    source = follow()
    log.write(2)
    assert texts(source)[0] == [1, 2]
    log.write(1)
    log.rotate(".2")
    os.utime(log.beside(".2"), (1000, 1000))
    log.write(2)
    log.rotate(".1")
    os.utime(log.beside(".1"), (2000, 2000))
    log.beside(".bak").write_text(log.line(99) + "\n")
    log.write(1)
    assert texts(source)[0] == [3, 4, 5, 6]


@pytest.mark.parametrize("lines", [1, 9])
def test_a_truncated_file_is_read_from_its_beginning(log, follow, lines):
    notes: list[str] = []
    source = follow(notes=notes)
    log.write(4)
    assert texts(source)[0] == [1, 2, 3, 4]
    os.truncate(log.path, 0)
    log.write(lines)  # also more than there was before
    assert texts(source)[0] == list(range(5, 5 + lines))
    assert notes == [f"{log.path}: was truncated; beginning again at its first byte"]


def test_an_unfinished_line_of_a_truncated_file_is_a_dead_letter(log, follow):
    source = follow()
    with log.path.open("a") as file:
        file.write('{"text": ')
    assert source.read(9, 0.0) is None
    os.truncate(log.path, 0)
    chunk = source.read(9, 0.0)
    assert [bad.raw for bad in chunk.poison] == [b'{"text": ']
    log.write(1)
    assert texts(source)[0] == [1]
    assert texts(follow(chunk.position))[0] == [1]


def test_lines_copied_before_a_truncation_are_read_in_the_copy(log, follow):
    notes: list[str] = []
    source = follow(notes=notes)
    log.write(4)
    assert texts(source)[0] == [1, 2, 3, 4]
    log.write(3)
    log.copy_and_truncate("-20261116")
    log.write(2)
    found, position = texts(source)
    assert found == [5, 6, 7, 8, 9]
    assert not notes
    log.write(1)
    assert texts(follow(position))[0] == [10]


@pytest.mark.parametrize("move", ["rotate", "copy_and_truncate"])
def test_a_run_goes_on_in_the_file_that_was_rotated_meanwhile(log, follow, move):
    log.write(5)
    first = follow().read(3, 0.0)
    getattr(log, move)()
    log.write(2)
    source = follow(first.position)
    found, position = texts(source)
    assert found == [4, 5, 6, 7]
    assert position["records"] == 7
    log.write(1)
    assert texts(follow(position))[0] == [8]


def test_files_that_begin_alike_are_told_apart(log, follow):
    log.write(2)
    position = follow().read(1, 0.0).position
    log.rotate()
    log._number = 0
    log.write(3)
    assert texts(follow(position))[0] == [2, 1, 2, 3]


def test_lost_lines_are_skipped_only_on_request(log, follow):
    log.write(5)
    position = texts(follow())[1]
    log.path.unlink()
    log.write(2)
    with pytest.raises(StreamError, match=r"was read up to byte .* on_loss=skip"):
        follow(position)
    notes: list[str] = []
    found, position = texts(follow(position, notes=notes, on_loss="skip"))
    assert found == [6, 7]
    assert position["records"] == 7
    assert "beginning at its first byte" in notes[0]


def test_a_flow_learns_each_line_once_through_rotations_and_crashes(tmp_path, folder):
    rows = plain.records(120)
    path = tmp_path / "news.jsonl"
    address = f"file:{path}?follow=yes"

    class Crash(BaseException):
        pass

    for part in range(4):
        path.write_bytes(plain.lines(rows[part * 30 : part * 30 + 30]))
        going = flow(folder, address, chunk=5, snapshot_documents=10)
        until, enough = going._patience.until, part * 30 + 13

        def crashing(what, work, going=going, until=until, enough=enough):
            result = until(what, work)
            if hasattr(going, "_state") and going._state.counts["documents"] > enough:
                raise Crash
            return result

        if part < 3:
            going._patience.until = crashing
            with pytest.raises(Crash):
                going.run()
            path.rename(f"{path}.{4 - part}")
            os.utime(f"{path}.{4 - part}", (1000 + part, 1000 + part))
    going.run()
    assert plain.model_in(folder) == plain.learnt(rows)
