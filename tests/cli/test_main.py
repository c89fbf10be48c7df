import importlib
import re
import shlex
import subprocess
import sys

import click
import pytest

import clasher
from clasher.cli.commands import COMMANDS, cli
from clasher.cli.main import main
from clasher.settings import Settings, declarations, default_of
from tests.cli.command import SMALL, one_line, run, start, stream

HEAVY = {"numba", "numpy", "pyarrow", "rich", "msgspec", "safetensors"}


def modules_after(*args):
    """What a process has imported when it has answered."""
    code = (
        "import sys\n"
        "from clasher.cli.main import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    child = [sys.executable, "-c", code, *args]
    answer = subprocess.run(child, capture_output=True, text=True, check=True)
    assert answer.stdout
    return set(answer.stderr.split())


# ── help ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "args", [["--version"], ["--help"], ["evaluate", "--help"], ["datasets", "read", "--help"]]
)
def test_help_and_version_import_nothing_heavy(args):
    assert not modules_after(*args) & HEAVY


def test_version():
    assert run("--version").stdout == f"clasher {clasher.__version__}\n"


def test_python_m_clasher_is_the_same():
    answer = subprocess.run(
        [sys.executable, "-m", "clasher", "--version"], capture_output=True, text=True, check=True
    )
    assert answer.stdout == run("--version").stdout


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_80_columns_and_has_examples(command):
    text = run(*command.split(), "--help").stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "\nExamples:\n  " in text
    assert "clasher" in text.partition("Examples:")[2]


def test_help_shows_commands_to_copy_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = run("spark", "--help").stdout
    assert '  spark-submit --master URL "$(clasher spark script)" fit ...\n' in text


def test_help_lists_every_command_with_what_it_does():
    text = run("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} +\w.*[.?]$", text, re.M)


def example_calls():
    for name in COMMANDS:
        command = cli.get_command(None, name)
        for line in command.examples.strip().splitlines():
            part = next(p for p in line.split("|") if p.strip().startswith("clasher"))
            yield pytest.param(re.sub(r"[<>].*", "", part).strip(), id=line.strip())


@pytest.mark.parametrize("line", list(example_calls()))
def test_examples_parse(line):
    program, *args = shlex.split(line)
    assert program == "clasher"
    context = cli.make_context(program, args, resilient_parsing=False)
    name, command, rest = cli.resolve_command(context, args)
    command.make_context(name, rest, parent=context)


def test_help_states_the_defaults_of_the_library():
    command = importlib.import_module("clasher.cli.commands.evaluate").evaluate_command
    helps = {option.name: option.help for option in command.params if option.name != "paths"}
    for name in declarations().keys() - {"analyzer"}:
        assert f"(default: {default_of(name)})" in helps[name]
    analyzer = Settings().analyzer
    assert "default: 1)" in helps["ngrams"]
    assert f"default: {analyzer.min_length} with the margin rule" in helps["min_length"]
    assert f"default: {analyzer.pairs} with the margin rule" in helps["pairs"]
    assert "default: with the margin rule" in helps["marks"]


def test_every_setting_of_the_analysis_has_an_option():
    command = importlib.import_module("clasher.cli.commands.models").learn_command
    names = {option.name for option in command.params}
    assert Settings().analyzer.to_dict().keys() - names == {"snowball"}


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("args", [[], ["--nonsense"], ["evaluate", "--nonsense"], ["evaluate"]])
def test_wrong_usage_exits_with_2_and_says_how_to_use_it(args):
    result = run(*args, code=2)
    assert "Usage: clasher" in result.output


def test_a_misspelt_command_is_recognised():
    assert "Did you mean 'evaluate'?" in run("evalute", code=2).stderr
    assert "Did you mean 'late-labels'?" in run("late", code=2).stderr
    for other in ("xyz", "later", "state"):
        assert "Did you mean" not in run(other, code=2).stderr


@pytest.mark.parametrize("library", ["click", "rich"])
def test_a_missing_library_is_named(library, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    message = capsys.readouterr().err
    assert (
        message
        == "clasher: The command line needs an optional library: pip install 'clasher[cli]'\n"
    )


def test_main_ends_with_the_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["clasher", "evaluate", "missing.jsonl"])
    monkeypatch.setattr("os._exit", sys.exit)  # threads of other tests may still be there
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    assert "missing.jsonl" in capsys.readouterr().err


BAD_RECORDS = {
    "broken JSON": b'{"text": "wheat"',
    "not an object": b"[1, 2]",
    "no text": b'{"labels": ["grain"]}',
    "no labels": b'{"text": "wheat"}',
    "labels of a wrong kind": b'{"text": "wheat", "labels": 3}',
    "a label of a wrong kind": b'{"text": "wheat", "labels": ["grain", 3]}',
    "an empty label": b'{"text": "wheat", "labels": [""]}',
    "a text of a wrong kind": b'{"text": ["wheat"], "labels": ["grain"]}',
    "invalid UTF-8": b'{"text": "\xff", "labels": ["grain"]}',
}


@pytest.mark.parametrize("record", BAD_RECORDS.values(), ids=BAD_RECORDS.keys())
def test_a_bad_record_stops_with_its_place_and_a_remedy(record, tmp_path):
    path = tmp_path / "news.jsonl"
    path.write_bytes(b'{"text": "oil", "labels": ["energy"]}\n' + record + b"\n")
    message = one_line(run("evaluate", path, *SMALL, code=2))
    assert f"{path}, record 2: " in message
    assert "--" in message


FILES = {
    "empty.jsonl": b"",
    "blank.jsonl": b"\n\n",
    "text.gz": b"",
    "broken.jsonl.gz": b"no gzip data",
    "broken.parquet": b"no table",
    "broken.arrow": b"no table",
    "unknown.xyz": b"{}",
    "no_extension": b"{}",
    "header_only.csv": b"text,labels\n",
    "other_columns.csv": b"a,b\n1,2\n",
    "binary.jsonl": bytes(range(256)),
    "zip.jsonl": b"PK\x03\x04rest",
}


@pytest.mark.parametrize("name", FILES)
def test_rubbish_files_end_in_one_line(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert name in one_line(run("evaluate", path, *SMALL, code=2))


@pytest.mark.parametrize("path", ["missing.jsonl", "sub", "a\0b.jsonl", "x" * 300 + ".jsonl"])
def test_paths_that_are_no_files(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    one_line(run("evaluate", path, *SMALL, code=2))


def test_standard_input_may_be_empty_but_not_twice():
    assert "no record" in one_line(run("evaluate", "-", *SMALL, stdin=b"", code=2))
    assert "only once" in one_line(run("evaluate", "-", "-", *SMALL, code=2))


@pytest.mark.parametrize(
    "setting",
    [
        ("--dimensions", 1),
        ("--threshold", "nan"),
        ("--threshold", 7),
        ("--max-labels", 0),
        ("--seed", -1),
        ("--half-life", 0.5),
        ("--half-life", "nan"),
        ("--label-separator", ""),
        ("--format", "xyz"),
        ("--text", "labels"),
    ],
)
def test_settings_out_of_range_end_in_one_line(setting, tmp_path):
    one_line(run("evaluate", stream(tmp_path), *setting, code=2))


def test_too_little_memory_ends_in_one_line(tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 256. GiB")  # what NumPy says, on most systems

    monkeypatch.setattr("clasher.learning.memory.allocate", fail)
    message = one_line(run("evaluate", stream(tmp_path), code=2))
    assert "256. GiB" in message
    assert "lower --dimensions" in message


MODELS = {
    "empty": b"",
    "rubbish": b"rubbish" * 100,
    "a stream": b'{"text": "oil", "labels": ["energy"]}\n',
    "another safetensors file": (16).to_bytes(8, "little") + b'{"__metadata__":{}}'[:16],
}


@pytest.mark.parametrize("content", MODELS.values(), ids=MODELS.keys())
@pytest.mark.parametrize("command", ["inspect", "predict", "learn", "explain"])
def test_rubbish_models_end_in_one_line(command, content, tmp_path):
    model = tmp_path / "model.clasher"
    model.write_bytes(content)
    args = {
        "inspect": ["inspect", model],
        "predict": ["predict", stream(tmp_path), "--model", model],
        "learn": ["learn", stream(tmp_path), "--model", model],
        "explain": ["explain", "--model", model, "wheat"],
    }
    assert "model.clasher" in one_line(run(*args[command], code=2))
    assert model.read_bytes() == content


def test_a_missing_model_is_named(tmp_path):
    for args in (["inspect"], ["predict", stream(tmp_path), "--model"]):
        assert "no such model file" in one_line(run(*args, tmp_path / "none.clasher", code=2))


def test_names_that_are_not_unicode_can_be_printed(tmp_path):
    assert r"\udcff" in one_line(run("evaluate", "a\udcffb.jsonl", code=2))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no /dev/full")
def test_a_full_disk_ends_in_one_line(tmp_path):
    with open("/dev/full", "wb") as full:
        child = start("evaluate", stream(tmp_path), *SMALL, "--quiet", stdout=full)
        _, message = child.communicate()
    assert child.returncode == 2
    assert message == b"clasher: No space left on device\n"


def test_ctrl_c_outside_the_loops_leaves_at_once(monkeypatch, tmp_path):
    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("clasher.model.Clasher.load", press)
    assert "interrupted" in one_line(run("inspect", tmp_path / "model.clasher", code=130))


def test_refusals_are_one_line_whatever_they_say(capsys):
    from clasher.cli.commands import Refusal

    Refusal("two\nlines").show()
    assert capsys.readouterr().err == "clasher: two lines\n"
    assert issubclass(Refusal, click.ClickException)


def test_public_names_are_found_when_asked_for():
    assert set(dir(clasher)) == set(clasher.__all__)
    for name in clasher.__all__:
        assert getattr(clasher, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = clasher.nonsense
