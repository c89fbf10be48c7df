"""Who may do what: tokens, kept as hashes in a file of lines ``name scope hash``.

A token is 256 random bits, which nobody guesses or looks up in a table however fast the hash is:
so a fast one (BLAKE2b) is as safe as a slow one made for passwords, and slows no request down.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import time
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from clasher.durable import replace_text
from clasher.errors import SettingError, StreamError

Scope: TypeAlias = Literal["predict", "read", "teach", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""Each may do what those before it may.

``predict`` asks for labels and reasons, ``read`` looks at labels and figures, ``teach`` sees texts
and people's names and changes what the model knows, ``admin`` changes labels and takes the log and
the model away.
"""

PREFIX = "clasher_"  # so that a leaked one is recognised as what it is
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
HASH = re.compile(r"[0-9a-f]{64}")
RECHECKED = 1.0  # seconds after which a changed file is noticed


class Holder(NamedTuple):
    """Somebody who has a token, or may do without."""

    name: str
    scope: Scope

    def may(self, scope: Scope) -> bool:
        """Whether this scope is theirs.

        >>> Holder("ann", "teach").may("read"), Holder("ann", "teach").may("admin")
        (True, False)
        """
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def new_token() -> str:
    """A fresh token."""
    return PREFIX + secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"clasher-token").hexdigest()


class TokenFile:
    """The tokens of a file, which may change while they are used: who was removed is out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = TokenFile(Path(folder) / "tokens")
    ...     token = tokens.add("ann", "teach")
    ...     tokens.find(token), tokens.find("guessed")
    (Holder(name='ann', scope='teach'), None)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._holders: dict[str, Holder] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._checked = -RECHECKED

    def holders(self) -> list[Holder]:
        """Everybody who has a token."""
        self._refresh(force=True)
        return list(self._holders.values())

    def find(self, token: str) -> Holder | None:
        """Who has this token; every hash is compared, in constant time."""
        self._refresh()
        asked, found = digest(token), None
        for kept, holder in self._holders.items():
            if hmac.compare_digest(kept, asked):
                found = holder
        return found

    def add(self, name: str, scope: Scope) -> str:
        """Make a token for somebody; it is told here, once."""
        if not NAME.fullmatch(name):
            wanted = "1 to 64 letters, digits, dots, dashes or underlines"
            raise SettingError.of("name", wanted, name, "token")
        held = {} if not self.path.exists() else self._read()
        if any(holder.name == name for holder in held.values()):
            raise SettingError(f"{self.path}: {name} has a token; remove it first (--remove)")
        token = new_token()
        self._write({**held, digest(token): Holder(name, scope)})
        return token

    def remove(self, name: str) -> None:
        """Take somebody's token away."""
        held = self._read()
        left = {kept: holder for kept, holder in held.items() if holder.name != name}
        if len(left) == len(held):
            raise SettingError(f"{self.path}: nobody is called {name}")
        self._write(left)

    def _refresh(self, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self._checked < RECHECKED:
            return
        self._checked = now
        try:
            status = self.path.stat()
        except OSError as error:
            raise StreamError(f"{self.path}: no token can be read: {error.strerror}") from error
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._holders, self._stamp = self._read(), stamp

    def _read(self) -> dict[str, Holder]:
        held: dict[str, Holder] = {}
        for number, line in enumerate(self.path.read_text("utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split()
            if len(fields) != 3 or fields[1] not in SCOPES or not HASH.fullmatch(fields[2]):
                raise StreamError(
                    f"{self.path}, line {number}: not a token's line (name scope hash); make "
                    f"them with clasher token"
                )
            scope = next(known for known in SCOPES if known == fields[1])
            held[fields[2]] = Holder(fields[0], scope)
        return held

    def _write(self, held: dict[str, Holder]) -> None:
        lines = [f"{holder.name} {holder.scope} {kept}\n" for kept, holder in held.items()]
        replace_text(self.path, "".join(["# clasher tokens: name scope hash\n", *lines]))
        self.path.chmod(0o600)
