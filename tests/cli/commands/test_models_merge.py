import pytest

from clasher import Clasher
from tests.cli.command import SMALL, one_line, run, stream
from tests.models import state_bytes


@pytest.fixture
def parts(tmp_path):
    paths = []
    for part in range(3):
        path = tmp_path / f"part-{part}.clasher"
        source = stream(tmp_path, 10 + part, seed=part)
        run("learn", source, "-m", path, *SMALL, "--rule", "centroid", "-q")
        paths.append(path)
    return paths


def test_models_become_one(parts, tmp_path):
    output = tmp_path / "whole.clasher"
    before = [path.read_bytes() for path in parts]
    result = run("merge", *parts, "--output", output)
    first, *others = map(Clasher.load, parts)
    for other in others:
        first.merge(other)
    merged = Clasher.load(output)
    assert (merged.labels, merged.documents) == (first.labels, 33)
    assert state_bytes(merged) == state_bytes(first)
    assert [path.read_bytes() for path in parts] == before
    message = " ".join(result.stdout.split())
    assert "10 documents, 3 labels" in message
    assert "33 documents, 3 labels" in message
    assert f"wrote {output}, " in result.stderr


def test_quiet_says_nothing(parts, tmp_path):
    assert run("merge", *parts, "-o", tmp_path / "whole", "--quiet").output == ""


def test_one_of_the_parts_may_be_replaced(parts):
    run("merge", *parts, "-o", parts[0])
    assert Clasher.load(parts[0]).documents == 33


def test_different_settings_are_named_with_their_file(parts, tmp_path):
    odd = tmp_path / "odd.clasher"
    Clasher(dimensions=64, max_labels=8, rule="centroid").save(odd)
    message = one_line(run("merge", *parts, odd, "-o", tmp_path / "whole", code=2))
    assert f"{odd} does not merge with {parts[0]}: " in message
    assert "dimensions is 128 here and 64 there" in message
    assert not (tmp_path / "whole").exists()


def test_too_many_labels_are_named_with_their_file(parts, tmp_path):
    other = Clasher(dimensions=128, max_labels=8, rule="centroid")
    other.learn("a text", {f"label {i}" for i in range(8)})
    other.save(tmp_path / "full")
    message = one_line(run("merge", *parts, tmp_path / "full", "-o", tmp_path / "whole", code=2))
    assert "would be number 9, and --max-labels is 8" in message


def test_a_place_that_cannot_be_written_shows_before_the_work(parts, tmp_path):
    message = one_line(run("merge", *parts, "-o", tmp_path / "missing" / "whole", code=2))
    assert "there is no directory" in message
    assert "--output" in run("merge", *parts, code=2).stderr
