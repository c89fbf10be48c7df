"""What happens to a bad record: stop, pass over it, or set it aside in a dead-letter file."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from clasher.errors import RecordError, SettingError
from clasher.io.linefile import Closing, LineFile

_SKIPPING = re.compile(r",? or pass over (bad records|it) with --on-error skip$")
_encoder = msgspec.json.Encoder()

SHORTER: Final = (1000, 200, 20)  # characters left of a name or an error where a letter is cut


class BadRecords(Closing):
    r"""The policy for bad records, and the count of those passed over.

    Parameters
    ----------
    policy
        ``"stop"`` raises the first bad record's ``RecordError``; ``"skip"`` counts it and goes on;
        a path (``pathlib.Path``, not text, so that a misspelt policy is never taken for a file)
        also appends it to that dead-letter file.

    Attributes
    ----------
    skipped : int
        Records passed over so far.
    first : RecordError | None
        What was wrong with the first of them.

    Notes
    -----
    A dead letter is a JSON line ``{"source", "record", "error", "raw"}``, flushed at once:
    the file, the line (the row of a Parquet or Arrow table), what is wrong, and the record as it
    was read. In ``raw``, bytes that are not UTF-8 are written as ``\xff``; a record longer than
    the limit is cut; a row of a table is written as a JSON object. On a stream (``clasher run``)
    a letter larger than its sink takes is cut: see ``letter``.

    Examples
    --------
    >>> with BadRecords("skip") as bad:
    ...     bad.handle(RecordError("news.jsonl", 3, "broken JSON", "mend it"))
    >>> bad.skipped
    1
    """

    def __init__(self, policy: Literal["stop", "skip"] | os.PathLike[str] = "stop") -> None:
        if policy not in ("stop", "skip") and not isinstance(policy, os.PathLike):
            raise SettingError(
                f"the policy for bad records must be 'stop', 'skip' or a pathlib.Path of a "
                f"dead-letter file. Got {policy!r} instead."
            )
        self.policy = policy
        self.skipped = 0
        self.first: RecordError | None = None
        # Opened at once: a file that cannot be written should be known before the stream is read.
        self._letters: LineFile | None = None
        if isinstance(policy, os.PathLike):
            self._letters = LineFile(policy, "ab", f"the dead-letter file {os.fspath(policy)}")

    def handle(self, error: RecordError) -> None:
        """Raise ``error``, or count it and set it aside."""
        if self.policy == "stop":
            raise error
        remedy = _SKIPPING.sub("", error.remedy)  # of no use to whoever does that already
        if remedy != error.remedy:
            error = RecordError(error.source, error.position, error.problem, remedy, error.raw)
        self.first = self.first or error
        self.skipped += 1
        if self._letters is not None:
            problem = f"{error.problem}; {error.remedy}"
            self._letters.write(letter(error.source, error.position, problem, error.raw) + b"\n")

    def close(self) -> None:
        """Close the dead-letter file, if there is one."""
        if self._letters is not None:
            self._letters.close()


def letter(
    source: str, record: str | int, error: str, raw: bytes | None, most: int | None = None
) -> bytes:
    r"""Write a dead letter: where it stood, what is wrong with it, and what came.

    A letter of more than ``most`` bytes is cut: it holds the beginning of what came, with its
    whole length and its SHA-256.

    >>> print(letter("news.jsonl", 3, "broken JSON", b"\xff").decode())
    {"source":"news.jsonl","record":3,"error":"broken JSON","raw":"\\xff"}
    >>> print(letter("news.jsonl", 3, "broken JSON", b"x" * 9999, most=170).decode()[:90])
    {"source":"news.jsonl","record":3,"error":"broken JSON","raw":"xxxxxxxx","raw_bytes":9999,
    """
    # The name of a file need not be Unicode text.
    source = source.encode("utf-8", "backslashreplace").decode()
    fields = {"source": source, "record": record, "error": error, "raw": _text(raw)}
    whole = _encoder.encode(fields)
    if most is None or len(whole) <= most:
        return whole
    return _cut(fields, raw, most)


def _cut(fields: dict[str, Any], raw: bytes | None, most: int) -> bytes:
    """Shorten a letter to ``most`` bytes, as far as that goes."""
    content = b"" if raw is None else raw
    digest = {"raw_bytes": len(content), "raw_sha256": sha256(content).hexdigest()}
    if raw is not None:
        fields = fields | {"raw": ""} | digest
    for longest in SHORTER:
        bare = {name: _shortened(value, longest) for name, value in fields.items()}
        left = most - len(_encoder.encode(bare))
        if left >= 0:
            break
    if raw is not None:
        bare["raw"] = _beginning(content, left)
    return _encoder.encode(bare)


def _shortened(value: Any, longest: int) -> Any:
    """Cut text, but not a digest."""
    is_long = isinstance(value, str) and len(value) > max(longest, sha256().digest_size * 2)
    return f"{value[:longest]}…" if is_long else value


def _beginning(raw: bytes, room: int) -> str:
    """Return as much of ``raw`` as takes no more than ``room`` bytes of JSON: escapes count."""
    size = min(len(raw), max(room, 0))
    while size:
        while 0 < size < len(raw) and raw[size] & 0xC0 == 0x80:  # not within a character
            size -= 1
        text = _text(raw[:size]) or ""
        took = len(_encoder.encode(text)) - len('""')
        if took <= room:
            return text
        size = min(size - 1, size * room // took)
    return ""


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "backslashreplace")
