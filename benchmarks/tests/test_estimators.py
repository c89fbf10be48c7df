"""The benchmark runs without any corpus, and writes its table."""

import json

from benchmarks.estimators import main


def test_a_small_run(tmp_path):
    document = tmp_path / "sklearn.md"
    document.write_text("<!-- benchmark:estimators -->\n<!-- /benchmark:estimators -->\n")
    given = ["--data", tmp_path, "--results", tmp_path, "--into", document, "--limit", 40]
    assert main(["vectors", *map(str, given)]) == 0
    found = json.loads((tmp_path / "estimators.json").read_text())["figures"]["vectors"]
    assert found["documents"] == 40
    assert {one["way"] for one in found["ratios"]} == {"hashed", "hashed, rich"}
    assert "`HashingVectorizer` + `TfidfTransformer`" in document.read_text()
