"""The benchmark runs without any corpus, and writes its table."""

from benchmarks.river import WAYS, main


def test_a_small_run(tmp_path):
    page = tmp_path / "river.md"
    page.write_text("<!-- benchmark:river -->\n<!-- /benchmark:river -->\n")
    given = ["--data", tmp_path, "--results", tmp_path, "--into", page, "--limit", 40]
    assert main(["goemotions", *map(str, given)]) == 0
    written = page.read_text()
    assert written.count("(first 40;") == len(WAYS)
    assert "`TFIDF() \\| ClasherClassifier()`" in written
