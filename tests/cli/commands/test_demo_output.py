from tests.cli.command import one_line, run


def test_the_demo_learns_compares_and_reports(tmp_path):
    target = tmp_path / "demo.html"
    text = run("demo", "--report", target, "--limit", 40, "--seed", 1).stdout
    for rule in ("margin", "centroid", "mistake", "perceptron"):
        assert rule in text
    assert str(target) in text.replace("\n", "")
    assert target.read_text().lower().startswith("<!doctype html>")


def test_the_demo_looks_at_its_target_first(tmp_path):
    assert "is a directory" in one_line(run("demo", "--report", tmp_path, code=2))
