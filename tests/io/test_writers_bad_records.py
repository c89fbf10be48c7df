import os
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clasher.errors import RecordError, SettingError, StreamError
from clasher.io.writers import BadRecords, letter

ERROR = RecordError("news.jsonl", 3, "broken JSON", "fix it", b'{"text": "\xff')


def test_stopping_raises_the_error_itself():
    with pytest.raises(RecordError) as caught:
        BadRecords().handle(ERROR)
    assert caught.value is ERROR


def test_skipping_counts_and_remembers_the_first():
    bad = BadRecords("skip")
    bad.handle(ERROR)
    bad.handle(RecordError("news.jsonl", 4, "other", "fix it"))
    assert bad.skipped == 2
    assert bad.first is ERROR


def test_a_dead_letter_says_where_what_and_holds_the_record(tmp_path):
    path = tmp_path / "dead.jsonl"
    bad = BadRecords(path)
    bad.handle(ERROR)
    # Read before it is closed: every letter is flushed.
    assert msgspec.json.decode(path.read_bytes()) == {
        "source": "news.jsonl",
        "record": 3,
        "error": "broken JSON; fix it",
        "raw": '{"text": "\\xff',
    }
    bad.close()
    assert bad.skipped == 1


def test_dead_letters_are_added_to_those_of_earlier_runs(tmp_path):
    path = tmp_path / "dead.jsonl"
    for _ in range(2):
        with BadRecords(path) as bad:
            bad.handle(ERROR)
    assert len(path.read_bytes().splitlines()) == 2


def test_a_file_name_that_is_not_unicode_can_be_written(tmp_path):
    path = tmp_path / "dead.jsonl"
    with BadRecords(path) as bad:
        bad.handle(RecordError(os.fsdecode(b"\xff.jsonl"), 1, "p", "r"))
    letter = msgspec.json.decode(path.read_bytes())
    assert letter["source"].endswith(".jsonl")
    assert letter["raw"] is None


def test_a_dead_letter_file_that_cannot_be_opened_is_reported_at_once(tmp_path):
    with pytest.raises(StreamError, match=r"dead-letter file .* cannot be written"):
        BadRecords(tmp_path / "no such folder" / "dead.jsonl")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_reported():
    bad = BadRecords(Path("/dev/full"))
    with pytest.raises(StreamError, match="dead-letter file /dev/full cannot be written: No space"):
        bad.handle(ERROR)


@pytest.mark.parametrize("policy", ["dead-letter", "Skip", "", None, 3])
def test_a_misspelt_policy_is_refused(policy):
    with pytest.raises(SettingError, match=r"'stop', 'skip' or a pathlib.Path"):
        BadRecords(policy)


@given(
    raw=st.binary(max_size=3000) | st.text(max_size=1000).map(str.encode),
    error=st.text(max_size=3000),
    most=st.integers(800, 4000),
)
def test_a_dead_letter_is_cut_to_any_size(raw, error, most):
    cut = letter("news.jsonl", 3, error, raw, most)
    assert len(cut) <= most
    found = msgspec.json.decode(cut)
    assert raw.decode("utf-8", "backslashreplace").startswith(found["raw"])
    if found["raw"] != raw.decode("utf-8", "backslashreplace"):
        assert (found["raw_bytes"], found["raw_sha256"]) == (len(raw), sha256(raw).hexdigest())


def test_a_dead_letter_is_not_cut_within_a_character():
    for most in range(250, 300):
        cut = msgspec.json.decode(letter("news.jsonl", 3, "broken", "€".encode() * 200, most))
        assert set(cut["raw"]) == {"€"}
