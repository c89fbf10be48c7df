"""Build the wheel and the sdist twice, compare them, and try the wheel in empty environments.

python tools/packages.py            with this Python
python tools/packages.py --all      with every Python from 3.11 on that is installed
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
OLDEST = (3, 11)
DOCUMENTS = """\
{"text": "wheat and corn", "labels": ["grain"]}
{"text": "gold and silver", "labels": ["metal"]}
"""
LIBRARY = """
from importlib.metadata import version
from importlib.resources import files
import clasher
assert version("clasher") == clasher.__version__
assert files("clasher").joinpath("py.typed").is_file()
model = clasher.Clasher.load("news.clasher")
assert model.predict("corn") == {"grain"}, model.predict("corn")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every installed Python")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_twice(folder)
        shutil.copytree(wheel.parent, PROJECT / "build" / "packages", dirs_exist_ok=True)
        use(sys.executable, wheel, folder)
        for python in interpreters() if given.all else ():
            if why := unfit(python, folder):
                print(f"skipped {python}: {why}")
            else:
                use(python, wheel, folder)


def build_twice(folder: Path) -> Path:
    """Build in two places; return the wheel if the bytes are the same."""
    first, second = (build(folder / place) for place in ("here", "there"))
    for path in sorted(first.iterdir()):
        if path.read_bytes() != (second / path.name).read_bytes():
            sys.exit(f"{path.name}: two builds differ")
        print(f"{path.name}: {path.stat().st_size:,} bytes, the same in both builds")
    return next(first.glob("*.whl"))


def build(place: Path) -> Path:
    """Build the files that git tracks in a folder of their own, whatever their times."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / name, place / name)
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "1577836800")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"]
    environment = os.environ | {"SOURCE_DATE_EPOCH": epoch}
    subprocess.run(command, cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL)
    return place / "dist"


def interpreters() -> Iterator[str]:
    """Find a Python of each other supported version, on the path and in pyenv."""
    roots = [Path(root) for root in os.environ.get("PATH", "").split(os.pathsep)]
    roots += sorted(
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin")
    )
    found: dict[tuple[int, int], str] = {}
    for path in (path for root in roots for path in root.glob("python3.*")):
        named = re.fullmatch(r"python3\.(\d+)", path.name)
        if named and "shims" not in path.parts:  # shims stand for versions that may be missing
            found.setdefault((3, int(named[1])), str(path))
    found.pop(sys.version_info[:2], None)
    return (found[version] for version in sorted(found) if version >= OLDEST)


def unfit(python: str, folder: Path) -> str | None:
    """Return why a Python cannot be used, if so."""
    place = tempfile.mkdtemp(dir=folder)
    numba = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    for why, command in (
        ("it cannot create environments", [python, "-m", "venv", place]),
        ("Numba does not support it", [f"{place}/bin/python", *numba, "--only-binary=:all:",
                                      "--dest", place, "numba"]),
    ):  # fmt: skip
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return why
    return None


def use(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment; learn and predict with commands and code.

    Runs interpreted: compiling takes a minute for each Python, and the tests do that.
    """
    place = Path(tempfile.mkdtemp(dir=folder))
    (place / "news.jsonl").write_text(DOCUMENTS * 5)
    quiet = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    quiet |= {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=place, env=quiet, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{python}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout

    run(python, "-m", "venv", "empty")
    own = place / "empty" / "bin" / "python"
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    refused = subprocess.run([own, "-m", "clasher"], env=quiet, capture_output=True, text=True)
    if "pip install 'clasher[cli]'" not in refused.stderr:
        sys.exit(f"{python}: clasher without its extra does not say so: {refused.stderr}")
    run(own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}[cli]")
    clasher = own.with_name("clasher")
    installed = run(clasher, "--version").strip()
    run(clasher, "learn", "news.jsonl", "--model", "news.clasher", "--dimensions", "256")
    labels = run(clasher, "predict", "news.jsonl", "--model", "news.clasher")
    if '"labels":["grain"]' not in labels.replace(" ", ""):
        sys.exit(f"{python}: predicts {labels}")
    run(own, "-c", LIBRARY)
    version = run(own, "--version").strip()
    print(f"{version}: {installed} is installed, learns and predicts")


if __name__ == "__main__":
    main()
