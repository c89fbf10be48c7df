import numpy as np

from clasher import Clasher
from tests.cli.command import SMALL, jsonl, one_line, records, run, stream


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
            getattr(ours._state, name), getattr(theirs._state, name), rtol=1e-5, atol=1e-5
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


def test_quiet_says_nothing(tmp_path):
    path = stream(tmp_path)
    run("learn", path, "--model", tmp_path / "model", *SMALL, "-q")
    assert run("unlearn", path, "-m", tmp_path / "model", "-q").output == ""
    assert Clasher.load(tmp_path / "model").documents == 0
