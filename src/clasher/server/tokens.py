"""Tokens and their scopes, stored as hashes in a file with lines ``name scope hash``.

A token has 256 random bits, so nobody can guess it or look its hash up: a fast hash (BLAKE2b) is as
safe here as a slow one for passwords, and slows no request down.
"""

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
"""Each scope includes those before it.

``predict`` gets labels and explanations, ``read`` sees labels and metrics, ``teach`` sees texts and
people's names and corrects the model, ``admin`` changes labels and exports the log and the model.
"""

PREFIX = "clasher_"  # so that people recognise a leaked token
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
HASH = re.compile(r"[0-9a-f]{64}")
RECHECKED = 1.0  # seconds after which a changed file is noticed


class Holder(NamedTuple):
    """The owner of a token."""

    name: str
    scope: Scope

    def may(self, scope: Scope) -> bool:
        """Tell whether the token includes a scope."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


def _digest(token: str) -> str:
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"clasher-token").hexdigest()


class TokenFile:
    """A file of tokens; changes take effect while the service runs."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._holders: dict[str, Holder] = {}  # by the hash of the token
        self._stamp: tuple[int, int, int] | None = None
        self._checked = -RECHECKED

    def holders(self) -> list[Holder]:
        return list(self._read().values())

    def find(self, token: str) -> Holder | None:
        """Find the owner of a token; compare every hash, each in constant time."""
        if (now := time.monotonic()) - self._checked >= RECHECKED:
            self._checked = now
            status = self.path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:
                self._holders, self._stamp = self._read(), stamp
        wanted, found = _digest(token), None
        for known, holder in self._holders.items():
            if hmac.compare_digest(known, wanted):
                found = holder
        return found

    def add(self, name: str, scope: Scope) -> str:
        """Make a token and return it; only its hash is stored."""
        if not NAME.fullmatch(name):
            rule = "1 to 64 letters, digits, dots, dashes or underscores"
            raise SettingError.of("name", rule, name, "token")
        holders = self._read() if self.path.exists() else {}
        if any(holder.name == name for holder in holders.values()):
            raise SettingError(f"{self.path}: {name} has a token; remove it first (--remove)")
        token = PREFIX + secrets.token_urlsafe(32)
        self._write({**holders, _digest(token): Holder(name, scope)})
        return token

    def remove(self, name: str) -> None:
        holders = self._read()
        rest = {known: holder for known, holder in holders.items() if holder.name != name}
        if len(rest) == len(holders):
            raise SettingError(f"{self.path}: nobody is called {name}")
        self._write(rest)

    def _read(self) -> dict[str, Holder]:
        try:
            lines = self.path.read_text("utf-8").splitlines()
        except OSError as error:
            raise StreamError(f"{self.path}: cannot read tokens: {error.strerror}") from error
        holders: dict[str, Holder] = {}
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            fields = line.split()
            if len(fields) != 3 or fields[1] not in SCOPES or not HASH.fullmatch(fields[2]):
                expected = "expected a name, a scope and a hash; make tokens with clasher token"
                raise StreamError(f"{self.path}, line {number}: {expected}")
            holders[fields[2]] = Holder(fields[0], fields[1])
        return holders

    def _write(self, holders: dict[str, Holder]) -> None:
        lines = [f"{holder.name} {holder.scope} {known}\n" for known, holder in holders.items()]
        replace_text(self.path, "".join(["# clasher tokens: name scope hash\n", *lines]))
        self.path.chmod(0o600)
        self._checked = -RECHECKED
