import pytest

from clasher import Clasher
from tests.cli.command import one_line, run
from tests.models import state_bytes, taught


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.clasher"
    taught().save(path)
    return path


def test_list_shows_every_label(model):
    lines = run("labels", model, "list").stdout.split()
    for label, documents in taught().support.items():
        assert lines[lines.index(label) + 1] == str(documents)


@pytest.mark.parametrize(
    ("args", "change"),
    [
        (("rename", "oil", "crude"), lambda m: m.rename_label("oil", "crude")),
        (("merge", "corn", "grain"), lambda m: m.merge_labels("corn", "grain")),
        (("retire", "gold"), lambda m: m.retire_label("gold")),
    ],
)
def test_labels_are_changed_in_the_file(model, args, change):
    result = run("labels", model, *args)
    expected = taught()
    change(expected)
    changed = Clasher.load(model)
    assert changed.labels == expected.labels
    assert state_bytes(changed) == state_bytes(expected)
    assert f"saved {model}: {len(expected.labels)} labels" in result.stderr
    assert result.stdout == ""


def test_the_changed_model_may_go_elsewhere(model, tmp_path):
    before = model.read_bytes()
    target = tmp_path / "other.clasher"
    assert run("labels", model, "retire", "gold", "--output", target, "--quiet").output == ""
    assert model.read_bytes() == before
    assert "gold" not in Clasher.load(target).labels


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("rename", "oyl", "crude"), "knows no label 'oyl'; did you mean 'oil'?"),
        (("merge", "oil", "golf"), "knows no label 'golf'; did you mean 'gold'?"),
        (("rename", "oil", "gold"), "there is a label 'gold' already"),
        (("rename", "oil"), "rename needs OLD NEW. Got oil instead."),
        (("retire",), "retire needs LABEL. Got none instead."),
        (("list", "oil"), "list needs no label. Got oil instead."),
    ],
)
def test_impossible_changes_are_refused(model, args, message):
    before = model.read_bytes()
    assert message in one_line(run("labels", model, *args, code=2))
    assert model.read_bytes() == before


def test_an_unknown_action_lists_the_known_ones(model):
    output = run("labels", model, "forget", "oil", code=2).stderr
    for action in ("list", "rename", "merge", "retire"):
        assert action in output


def test_a_missing_model_is_named(tmp_path):
    output = one_line(run("labels", tmp_path / "none", "list", code=2))
    assert "there is no such model file" in output
