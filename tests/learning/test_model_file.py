import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as as_safetensors

from clasher import Clasher
from clasher.errors import ClasherError, ModelFileError
from clasher.learning import memory, model_file
from clasher.version import __version__
from support.environment import nobody
from tests import mutations, strategies
from tests.models import RULES, UNSEEN, state_bytes, taught

every_rule = pytest.mark.parametrize("rule", RULES)


def saved(model, path):
    model.save(path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model"


@pytest.fixture
def original(path):
    """The bytes of a small model."""
    return saved(taught(dimensions=16), path)


# ── there and back ───────────────────────────────────────────────────────────────────────────────


@every_rule
@pytest.mark.parametrize("times", [0, 1, 3])
def test_a_loaded_model_equals_the_saved_one(rule, times, path):
    model = taught(rule, times=times)
    data = saved(model, path)
    loaded = Clasher.load(path)
    assert loaded.settings == model.settings
    assert loaded.labels == model.labels
    assert state_bytes(loaded) == state_bytes(model)
    assert list(loaded.predict_many(UNSEEN)) == list(model.predict_many(UNSEEN))
    assert saved(loaded, path) == data


@pytest.mark.parametrize("labels", [["漢字"], ["😀", "é", "\\", '"', "a\0b", "a\nb"], ["x" * 9999]])
def test_any_label_can_be_stored(labels, path):
    model = Clasher(16, max_labels=8)
    model.learn("a text", labels)
    model.save(path)
    assert Clasher.load(path).labels == sorted(labels)


@every_rule
def test_evicted_labels_are_gone(rule, path):
    model = taught(rule, max_labels=4, on_full="evict")
    model.learn("something new", {"new", "late"})
    model.save(path)
    loaded = Clasher.load(path)
    assert loaded.labels == model.labels
    assert {"new", "late"} < set(loaded.labels)
    loaded.learn("more of it", {"last"})
    model.learn("more of it", {"last"})
    assert state_bytes(loaded) == state_bytes(model)


@every_rule
@given(stream=strategies.streams(), data=st.data())
@settings(max_examples=15)
def test_a_loaded_model_learns_on_as_if_never_stopped(tmp_path_factory, rule, stream, data):
    path = tmp_path_factory.mktemp("models") / "model"
    texts = [strategies.text(words) for words, _ in stream]
    labels = [known for _, known in stream]
    whole = Clasher(16, rule=rule, max_labels=40)
    whole.learn_many(texts, labels)
    stopped = Clasher(16, rule=rule, max_labels=40)
    for part in data.draw(strategies.cuts(len(stream))):
        stopped.learn_many(texts[part], labels[part])
        stopped.save(path)
        stopped = Clasher.load(path)
    assert state_bytes(stopped) == state_bytes(whole)
    assert saved(stopped, path) == saved(whole, path.with_name("whole"))


@every_rule
def test_two_runs_give_the_same_bytes(rule, path):
    assert saved(taught(rule), path) == saved(taught(rule), path)


@every_rule
def test_bytes_do_not_depend_on_the_capacity(rule, path):
    """One model has room for 90 labels from the start, the other grows to it."""
    labels = [{f"label {i}"} for i in range(90)]
    texts = [f"text {i % 7} on {i % 5}" for i in range(90)]
    roomy, grown = (Clasher(16, rule=rule, max_labels=200) for _ in range(2))
    roomy._state = memory.grow(roomy.state, roomy.settings, 150)
    roomy.learn_many(texts, labels)
    for text, known in zip(texts, labels, strict=True):
        grown.learn(text, known)
    assert roomy.nbytes > grown.nbytes
    assert saved(roomy, path) == saved(grown, path)


def test_the_file_is_as_documented(path):
    model = taught("centroid")
    header, body = mutations.parse(saved(model, path))
    about = mutations.about(header)
    assert header["__metadata__"].keys() == {"clasher"}
    assert about["format"] == 4
    assert about["version"] == __version__
    assert about["settings"] == model.settings.to_dict()
    assert about["labels"] == model.labels
    assert mutations.signed(header, body, about) == header
    with safetensors.safe_open(path, framework="numpy") as file:
        cells = sum(abs(file.get_tensor(f"{name}_sizes")).sum() for name in ("rows", "together"))
        assert (
            file.get_tensor("cell_labels").shape == file.get_tensor("cell_sums").shape == (cells,)
        )
        assert file.get_tensor("totals").tolist() == [30, 27, 4]


def test_large_arrays_are_read_in_pieces(path, monkeypatch):
    model = taught(dimensions=300)
    model.save(path)
    monkeypatch.setattr(model_file, "PIECE", 100)
    assert state_bytes(Clasher.load(path)) == state_bytes(model)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def test_paths_of_all_kinds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = taught(times=1)
    for path in ("relative", tmp_path / "Path", os.fsencode(tmp_path / "bytes"), "mödel 漢字"):
        model.save(path)
        assert Clasher.load(path).documents == 10
    assert len(list(tmp_path.iterdir())) == 4


def test_a_link_stays_a_link(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("folder", "target"))
    taught(times=1).save(link)
    taught(times=2).save(link)
    assert link.is_symlink()
    assert Clasher.load(folder / "target").documents == 20
    assert [file.name for file in folder.iterdir()] == ["target"]


def test_permissions_are_kept(path):
    model = taught(times=1)
    usual = path.with_name("usual")
    usual.touch()
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    path.chmod(0o640)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_special_files_are_not_replaced(tmp_path):
    model = taught(times=1)
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (pipe, folder):
        with pytest.raises(
            ModelFileError, match="could not be written: it is not an ordinary file"
        ):
            model.save(path)
        with pytest.raises(ModelFileError, match="not an ordinary file"):
            Clasher.load(path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == [folder, pipe]


@pytest.mark.parametrize("place", ["missing/model", "file/model", "nul\0", "x" * 300])
def test_a_place_that_cannot_be_written(tmp_path, place):
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match="the model could not be written: "):
        taught(times=1).save(f"{tmp_path}/{place}")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_folder_without_permission(closed_folder):
    path, model = closed_folder / "file", taught(times=1)
    with nobody(), pytest.raises(ModelFileError, match="Permission denied"):
        model.save(path)
    with nobody(), pytest.raises(ModelFileError, match="Permission denied"):
        Clasher.load(path)
    path.chmod(0o400)
    assert path.read_text() == "kept"
    assert [file.name for file in closed_folder.iterdir()] == ["file"]


@pytest.mark.parametrize("room", [0, 100, 3000])
def test_a_full_disk_leaves_the_old_file(tmp_path, original, path, room):
    model = Clasher.load(path)
    model.observe("one more")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit[1]))
    try:
        with pytest.raises(ModelFileError, match="the model could not be written: "):
            model.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == original
    assert list(tmp_path.iterdir()) == [path]


SAVE_FOR_EVER = """
import sys
from clasher import Clasher
model = Clasher.load(sys.argv[1])
while True:
    model.observe("some words to count")
    model.save(sys.argv[1])
    print(model.documents, flush=True)
"""


def test_a_killed_writer_leaves_an_intact_file(path):
    model = taught("centroid", times=1, dimensions=2**16)
    model.save(path)
    for saves in (1, 4, 9):
        command = [sys.executable, "-c", SAVE_FOR_EVER, path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            for _ in range(saves):
                last = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
        assert Clasher.load(path).documents >= last


# ── files that are no intact model ───────────────────────────────────────────────────────────────

FOREIGN = {
    "empty": b"",
    "text": b"These are the times that try men's souls.\n" * 20,
    "JSON": json.dumps({"format": 1}).encode(),
    "pickle": b"\x80\x04\x95\x0d\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x06format\x94K\x01s.",
    "picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde",
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "endless header": b"\xff\xff\xff\xff\xff\xff\xff\x7f{}",
    "other safetensors": as_safetensors({"weight": np.ones((3, 4), np.float32)}),
    "other metadata": as_safetensors({"weight": np.ones(3)}, {"format": "pt"}),
    "no object": as_safetensors({"weight": np.ones(3)}, {"clasher": "[1]"}),
    "no JSON": as_safetensors({"weight": np.ones(3)}, {"clasher": "{"}),
    "deep JSON": as_safetensors({"weight": np.ones(3)}, {"clasher": "[" * 100_000}),
    "long number": as_safetensors({"weight": np.ones(3)}, {"clasher": "9" * 10_000}),
    "empty object": as_safetensors({"weight": np.ones(3)}, {"clasher": "{}"}),
}


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_files(data, path):
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=r"model: (not an|a safe|its header)") as caught:
        Clasher.load(path)
    assert isinstance(caught.value, ClasherError)


@pytest.mark.parametrize("place", ["missing", "folder/missing", "file/missing", "nul\0"])
def test_missing_files(tmp_path, place):
    (tmp_path / "file").touch()
    with pytest.raises(ModelFileError, match="there is no such model file"):
        Clasher.load(f"{tmp_path}/{place}")


def test_a_file_cut_off_anywhere(path, original):
    for length in range(len(original)):
        path.write_bytes(original[:length])
        with pytest.raises(ModelFileError):
            Clasher.load(path)


def test_a_file_with_something_after_it(path, original):
    path.write_bytes(original + b"\0")
    with pytest.raises(ModelFileError):
        Clasher.load(path)


def test_every_flipped_bit_of_the_arrays_is_found(path, original):
    _, body = mutations.parse(original)
    draw = random.Random(1)
    start = len(original) - len(body)
    for at in draw.sample(range(start, len(original)), 300):
        changed = bytearray(original)
        changed[at] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match="the file was altered: its checksum does not mat"):
            Clasher.load(path)


def forged(original, change):
    """Change the header of a file and correct its checksum."""
    header, body = mutations.parse(original)
    about = mutations.about(header)
    change(header, about)
    return mutations.build(mutations.signed(header, body, about), body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, meta: meta.update(format=5, version="9.9"),
         r"has format 5, and this version of clasher reads formats 3 and 4; it was .* 9\.9"),
        (lambda header, meta: meta.update(format=5, fresh="news"), "has format 5"),
        (lambda header, meta: meta.update(format="1"), "its header is not that of a clasher model"),
        (lambda header, meta: meta.update(fresh="news"), "not that of a clasher model"),
        (lambda header, meta: meta.pop("labels"), "not that of a clasher model"),
        (lambda header, meta: meta.update(labels=[1, 2, 3, 4]), "not that of a clasher model"),
        (lambda header, meta: meta.update(labels=["", "a", "b", "c"]), "not that of a clasher"),
        (lambda header, meta: meta.update(labels=["a", "a", "b", "c"]),
         "its list of labels contradicts its settings"),
        (lambda header, meta: meta["settings"].update(max_labels=3),
         "its list of labels contradicts its settings"),
        (lambda header, meta: meta["settings"].update(rule="magic"),
         "its settings are not valid: The 'rule' parameter of Clasher must be one of"),
        (lambda header, meta: meta["settings"].update(magic=1), "Clasher has no parameter 'magic'"),
        (lambda header, meta: meta["settings"].update(analyzer={"max": 1}), "are not valid"),
        (lambda header, meta: meta["settings"].update(analyzer=None), "are not valid"),
        (lambda header, meta: meta["settings"].update(dimensions=2**30, max_bytes=2**40),
         r"array 'frequencies' should be float64\[1, 1073741824\], and is F64\[1, 16\]"),
        (lambda header, meta: meta["settings"].update(rule="perceptron"),
         r"array 'squares' should be float32\[0\], and is F32\[16\]"),
        (lambda header, meta: meta.update(labels=["a", "b", "c"]), "should be float64"),
        (lambda header, meta: header["bias"].update(dtype="I64"),
         r"array 'bias' should be float64\[2, 4\], and is I64\[2, 4\]"),
        (lambda header, meta: header.update(other=header.pop("cut")),
         "does not hold the arrays its settings ask for"),
    ],
)  # fmt: skip
def test_files_that_contradict_themselves(path, original, change, message):
    path.write_bytes(forged(original, change))
    with pytest.raises(ModelFileError, match=message):
        Clasher.load(path)


def test_labels_that_contradict_the_arrays(path):
    header, body = mutations.parse(saved(taught(dimensions=16), path))
    start, _ = header["totals"]["data_offsets"]
    body = body[: start + 16] + (3).to_bytes(8, "little") + body[start + 24 :]
    path.write_bytes(mutations.build(mutations.signed(header, body, mutations.about(header)), body))
    with pytest.raises(ModelFileError, match="its list of labels contradicts its arrays"):
        Clasher.load(path)


def test_an_honest_change_is_loaded(path, original):
    path.write_bytes(forged(original, lambda header, meta: meta["settings"].update(threshold=0.2)))
    assert Clasher.load(path).threshold == 0.2


TOO_LARGE = """
import resource, sys
from pathlib import Path
from clasher import Clasher
from clasher.errors import ModelFileError
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + 64 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    Clasher.load(sys.argv[1])
except ModelFileError as error:
    print(error)
"""


def test_a_model_larger_than_the_memory(path):
    Clasher(2**18, max_labels=64).save(path)
    run = subprocess.run(
        [sys.executable, "-c", TOO_LARGE, path], capture_output=True, text=True, check=True
    )
    assert "the model does not fit into memory" in run.stdout


def test_thousands_of_mutations_do_no_harm(path, original):
    """Loading gives an error or the same model: no crash, no hang, no huge allocation."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.mutations", path, "4000", "1"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == []
