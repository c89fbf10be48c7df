"""The table shows every way to start, and its peers."""

from benchmarks.startup import WAYS, main


def test_a_small_run(tmp_path):
    page = tmp_path / "install.md"
    page.write_text("<!-- benchmark:startup -->\n<!-- /benchmark:startup -->\n")
    assert main(["--rounds", "1", "--results", str(tmp_path), "--into", str(page)]) == 0
    written = page.read_text()
    for way in WAYS:
        assert f"| `{way}` |" in written
    python = next(line for line in written.splitlines() if line.startswith("| `python` |"))
    assert python.split(" | ")[2] == "1.0"
