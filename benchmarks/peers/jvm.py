"""Compile our Java sources against a jar, and run them in their own process."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from support.corpora import PROJECT

CACHE = PROJECT / "build" / "java"
REMEDY = "install a JDK, 17 or later (Debian: apt-get install -y openjdk-17-jdk-headless)"


@dataclass(frozen=True)
class Program:
    """Java sources and their library.

    Parameters
    ----------
    sources
        The files to compile.
    jar
        The library.
    cache
        The folder for compiled classes, with a folder per version of sources and jar.
    """

    sources: tuple[Path, ...]
    jar: Path
    cache: Path = CACHE

    def run(self, main: str, arguments: Iterable[object]) -> str:
        """Run the class ``main`` and return its output; report a failure in one line."""
        java, classes = tool("java"), self.classes()
        classpath = ["-cp", os.pathsep.join(map(str, (classes, self.jar)))]
        done = _run([java, *self.options(), *classpath, main, *arguments])
        if done.returncode:
            raise SystemExit(f"java {main}: {_thrown(done.stderr)}")
        return done.stdout

    def options(self) -> list[str]:
        """Use half of the machine's memory and one thread, and write nothing to the home folder."""
        megabytes = psutil.virtual_memory().total // 2 // 2**20
        weka = ["-Dweka.packageManager.offline=true", f"-DWEKA_HOME={self.cache / 'weka'}"]
        return [f"-Xmx{megabytes}m", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", *weka]

    def classes(self) -> Path:
        """Return the folder of the compiled classes, after compiling them if necessary."""
        digest = hashlib.blake2b(digest_size=8)
        for path in (*self.sources, self.jar):
            digest.update(path.read_bytes())
        folder = self.cache / digest.hexdigest()
        if not folder.exists():
            self.cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.cache) as part:
                self._compile(Path(part, "classes"))
                _move(Path(part, "classes"), folder)
        return folder

    def _compile(self, folder: Path) -> None:
        command = [tool("javac"), "-encoding", "UTF-8", "-cp", self.jar, "-d", folder]
        done = _run([*command, *self.sources])
        if done.returncode:
            raise SystemExit(f"javac: {_first_error(done.stderr)}")


def tool(name: str) -> str:
    """Find a program of Java."""
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"there is no {name}: {REMEDY}")
    return found


def _run(command: list[object]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


def _move(folder: Path, place: Path) -> None:
    """Move a folder to its place, unless another process was faster."""
    try:
        folder.rename(place)
    except OSError:
        if not place.exists():
            raise


def _first_error(stderr: str) -> str:
    """Find the file, line and reason in the output of javac.

    >>> _first_error("A.java:3: error: ';' expected\\n  int a\\n       ^\\n1 error\\n")
    "A.java:3: error: ';' expected"
    """
    lines = stderr.strip().splitlines() or ["failed without a message"]
    return next((line for line in lines if "error:" in line), lines[-1])


def _thrown(stderr: str) -> str:
    """Find the exception in the output of a failed program.

    >>> _thrown('Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\\n\\tat A')
    'java.lang.OutOfMemoryError: Java heap space'
    """
    lines = stderr.strip().splitlines() or ["failed without a message"]
    start = 'Exception in thread "main" '
    return next((line.removeprefix(start) for line in lines if line.startswith(start)), lines[-1])
