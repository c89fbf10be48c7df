from pathlib import Path

import numpy as np
import pytest

from clasher import Clasher
from tests.cli.command import SMALL, jsonl, one_line, records, run, stream
from tests.models import dense


def taught(rows, **settings):
    model = Clasher(**({"dimensions": 128, "max_labels": 8} | settings))
    model.learn_many([row["text"] for row in rows], [row["labels"] for row in rows])
    return model


def same(path, model):
    """Whether a file holds this very model."""
    other = path.with_suffix(".same")
    model.save(other)
    return path.read_bytes() == other.read_bytes()


@pytest.fixture
def model(tmp_path):
    return tmp_path / "model.clasher"


def test_a_new_file_is_begun(tmp_path, model):
    result = run("learn", stream(tmp_path), "--model", model, *SMALL, "--rule", "centroid")
    assert same(model, taught(records(40), rule="centroid"))
    assert result.stdout == ""
    assert result.stderr.startswith("learnt 40 documents, ")
    assert f"saved {model}: 40 documents, 3 labels, " in result.stderr


def test_a_file_that_exists_is_gone_on_with(tmp_path, model):
    run("learn", stream(tmp_path, 25), "--model", model, *SMALL)
    message = run("learn", stream(tmp_path, 15, seed=1), "-m", model).stderr
    assert same(model, taught(records(25) + records(15, seed=1)))
    assert "learnt 15 documents" in message
    assert ": 40 documents, 3 labels" in message


def test_quiet_says_nothing(tmp_path, model):
    assert run("learn", stream(tmp_path), "--model", model, *SMALL, "--quiet").output == ""


def test_settings_that_agree_are_no_contradiction(tmp_path, model):
    path = stream(tmp_path, 3)
    run("learn", path, "--model", model, *SMALL, "--paper", 2)
    run("learn", path, "--model", model, *SMALL, "--paper", 2, "--threshold", 0.5)
    run("learn", path, "--model", model, "--rule", "mistake", "--allow-empty")


@pytest.mark.parametrize(
    ("option", "is_"),
    [
        (("--rule", "mistake"), "rule is 'margin'"),
        (("--dimensions", "64"), "dimensions is 128"),
        (("--threshold", "0.5"), "threshold is None"),
        (("--on-full", "evict"), "--on-full is 'error'"),
        (("--words",), "words is False"),
        (("--allow-empty",), "--at-least-one is None"),
        (("--depth", "2"), "depth is 1"),
        (("--conservative",), "conservative is False"),
        (("--paper", "1"), "tf is 'log'"),
    ],
)
def test_a_contradiction_names_both(option, is_, tmp_path, model):
    path = stream(tmp_path, 3)
    run("learn", path, "--model", model, *SMALL)
    before = model.read_bytes()
    message = one_line(run("learn", path, "--model", model, *option, code=2))
    assert f"{' '.join(option)} contradicts {model}" in message
    assert is_ in message
    assert model.read_bytes() == before


def test_settings_are_checked_even_where_the_model_exists(tmp_path, model):
    path = stream(tmp_path, 3)
    run("learn", path, "--model", model, *SMALL)
    assert "between 0 and 1" in one_line(run("learn", path, "-m", model, "--threshold", 3, code=2))


def test_unlabelled_and_partly_labelled_documents(model):
    rows = [
        {"text": "wheat corn", "labels": None},
        {"text": "zinc gold", "labels": {"metal": True, "grain": False}},
    ]
    run("learn", "-", "--model", model, *SMALL, stdin=jsonl(rows))
    found = Clasher.load(model)
    assert (found.documents, found.labelled) == (2, 1)
    assert found.support == {"grain": 0, "metal": 1}


def test_save_every_saves_on_the_way(tmp_path, model, monkeypatch):
    saved = []
    original = Clasher.save

    def spy(self, path):
        original(self, path)
        saved.append(Clasher.load(path).documents)

    monkeypatch.setattr(Clasher, "save", spy)
    run("learn", stream(tmp_path, 25), "--model", model, *SMALL, "--save-every", 10)
    assert saved == [10, 20, 25]


def test_an_error_reports_how_much_is_saved(model):
    content = jsonl(records(10)) + b"rubbish\n"
    args = ("learn", "-", "--model", model, *SMALL)
    message = run(*args, "--save-every", 4, stdin=content, code=2).stderr.splitlines()
    assert message[0] == f"clasher: {model} holds 8 documents of this stream"
    assert "record 11: broken JSON" in message[1]
    assert same(model, taught(records(8)))


def test_an_error_before_the_first_document_leaves_no_file(model):
    one_line(run("learn", "-", "--model", model, *SMALL, stdin=b"rubbish\n", code=2))
    assert not model.exists()


def test_ctrl_c_saves_what_was_learnt(model, interrupting):
    stdin = interrupting(jsonl(records(20)), "learn_many")
    result = run("learn", "-", "--model", model, *SMALL, stdin=stdin, code=130)
    assert "learnt 20 documents" in result.stderr
    assert f"saved {model}" in result.stderr
    assert "interrupted after 20 documents" in result.stderr
    assert same(model, taught(records(20)))


def test_ctrl_c_before_the_first_document_leaves_no_file(model, interrupting):
    stdin = interrupting(b"", "learn_many")
    stdin.used.set()
    result = run("learn", "-", "--model", model, *SMALL, stdin=stdin, code=130)
    assert f"nothing learnt, {model} is unchanged" in result.stderr
    assert not model.exists()


def test_a_folder_or_a_stream_is_no_model(tmp_path):
    path = stream(tmp_path)
    content = Path(path).read_bytes()
    assert "is a directory" in one_line(run("learn", path, "--model", tmp_path, code=2))
    assert "would overwrite a file of the stream" in one_line(
        run("learn", path, "--model", path, code=2)
    )
    assert Path(path).read_bytes() == content


# ── unlearn ──────────────────────────────────────────────────────────────────────────────────────


def test_documents_are_taken_back(tmp_path):
    rows = records(30)
    whole, kept, wrong = (tmp_path / name for name in ("whole", "kept", "wrong.jsonl"))
    how = (*SMALL, "--rule", "centroid", "--weighting", "tf", "-q")
    for path, part in ((whole, rows), (kept, rows[:20])):
        source = tmp_path / "source.jsonl"
        source.write_bytes(jsonl(part))
        run("learn", source, "--model", path, *how)
    wrong.write_bytes(jsonl(rows[20:]))
    result = run("unlearn", wrong, "--model", whole)
    assert result.stderr == f"unlearnt 10 documents; saved {whole}: 20 documents\n"
    ours, theirs = Clasher.load(whole), Clasher.load(kept)
    assert ours.support == theirs.support
    for name in ("frequencies", "rows", "together", "norms"):
        np.testing.assert_allclose(
            getattr(dense(ours), name), getattr(dense(theirs), name), rtol=1e-5, atol=1e-5
        )


def test_all_or_nothing(tmp_path):
    model, path = tmp_path / "model", tmp_path / "wrong.jsonl"
    run("learn", stream(tmp_path), "--model", model, *SMALL, "-q")
    before = model.read_bytes()
    rows = records(3)
    rows[2]["labels"] = ["grian"]
    path.write_bytes(jsonl(rows))
    message = one_line(run("unlearn", path, "-m", model, code=2))
    assert "document 'd2': the model knows no label 'grian'; did you mean 'grain'?" in message
    assert "nothing was unlearnt" in message
    path.write_bytes(jsonl([{"text": "words never met", "labels": ["grain"]}]))
    message = one_line(run("unlearn", path, "-m", model, code=2))
    assert "document 1: this document was never learnt" in message
    assert model.read_bytes() == before


def test_quiet_unlearning_says_nothing(tmp_path):
    path = stream(tmp_path)
    run("learn", path, "--model", tmp_path / "model", *SMALL, "-q")
    assert run("unlearn", path, "-m", tmp_path / "model", "-q").output == ""
    assert Clasher.load(tmp_path / "model").documents == 0
