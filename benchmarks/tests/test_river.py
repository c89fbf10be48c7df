"""The benchmark runs without any corpus, and writes its table."""

from benchmarks.river.__main__ import main
from benchmarks.river.loops import WAYS


def test_a_small_run(tmp_path):
    page = tmp_path / "river.md"
    page.write_text("<!-- benchmark:river -->\n<!-- /benchmark:river -->\n")
    given = ["--data", tmp_path, "--results", tmp_path, "--into", page, "--limit", 40]
    assert main(["goemotions", *map(str, given)]) == 0
    told = page.read_text()
    assert told.count("(first 40;") == len(WAYS)
    assert "`TFIDF() \\| ClasherClassifier()`" in told
