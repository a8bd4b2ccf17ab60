"""Who may do what: tokens with roles, of which the file holds hashes alone."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import time
from pathlib import Path
from typing import NamedTuple

from nystream.serve.refusals import Refusal

__all__ = ["ROLES", "Tokens", "added"]

ROLES = ("read", "learn", "admin")
"""Each may do what those before it may: look and predict; learn; create, delete, go back."""
LOOK = 1.0
"""Seconds between looks at whether the file has changed."""
logger = logging.getLogger("nystream.serve")
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Token(NamedTuple):
    """A line of the file: the digest of a token, its place among the roles, and whose it is."""

    digest: bytes
    level: int
    name: str


class Tokens:
    """The tokens of a file; without a file everybody (on this machine) may do everything.

    The file is read again when it has changed.

    A line of the file is a role, the SHA-256 of the token in hexadecimal, and anything (whose it is, say). Tokens are
    256 random bits, so that a plain hash of them is enough.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.needed = path is not None
        self._known: list[Token] = [] if path is None else _read(path)
        self._stamp = _stamp(path)
        self._next_look = 0.0

    def refresh(self) -> None:
        """Read the file again. If it cannot be read, the tokens stay as they are, and the log says why."""
        if self._path is None:
            return
        self._stamp = _stamp(self._path)
        try:
            self._known = _read(self._path)
        except (OSError, ValueError) as error:
            logger.error("the tokens stay as they were: %s", error)
        else:
            logger.info("%d tokens were read from %s", len(self._known), self._path)

    def _look(self) -> None:
        """Read the file again if it has changed; at most once a second."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOOK
            if _stamp(self._path) != self._stamp:
                self.refresh()

    def check(self, header: str | None, role: str) -> str:
        """Return who the token in an Authorization header belongs to; refuse one that does not have this role."""
        if not self.needed:
            return ""
        token = self._find(header)
        if token.level < ROLES.index(role):
            raise Refusal(403, f"this needs the role {role}; the token has the role {ROLES[token.level]}")
        return token.name

    def role(self, header: str | None) -> str:
        """Return the role of the token in an Authorization header; refuse one that is not known."""
        return ROLES[self._find(header).level] if self.needed else ROLES[-1]

    def _find(self, header: str | None) -> Token:
        self._look()
        if header is None or not header[:7].lower() == "bearer ":
            raise Refusal(401, "a token is needed: Authorization: Bearer TOKEN", _CHALLENGE)
        given = hashlib.sha256(header[7:].strip().encode("utf-8", "surrogateescape")).digest()
        found: Token | None = None
        for token in self._known:  # all of them, so that the time says nothing
            if hmac.compare_digest(token.digest, given) and (found is None or token.level > found.level):
                found = token
        if found is None:
            raise Refusal(401, "the token is not known", _CHALLENGE)
        return found


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """Return what changes when a file does."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def _read(path: Path) -> list[Token]:
    tokens = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.split()
        if not words or line.lstrip().startswith("#"):
            continue
        if len(words) < 2 or words[0] not in ROLES or len(words[1]) != 64:
            raise ValueError(f"{path}, line {number}: a line is a role ({', '.join(ROLES)}) and a SHA-256 in hex")
        try:
            digest = bytes.fromhex(words[1])
        except ValueError:
            raise ValueError(f"{path}, line {number}: {words[1][:70]!r} is no SHA-256 in hex") from None
        tokens.append(Token(digest, ROLES.index(words[0]), " ".join(words[2:])[:100] or f"token {words[1][:8]}"))
    if not tokens:
        raise ValueError(f"{path} has no tokens; make one with `nystream serve --new-token admin --tokens {path}`")
    return tokens


def added(path: Path, role: str, about: str = "") -> str:
    """Add the hash of a new token to the file and return the token."""
    if role not in ROLES:
        raise ValueError(f"a role is one of {', '.join(ROLES)}; got {role!r}")
    token = secrets.token_urlsafe(32)
    line = f"{role} {hashlib.sha256(token.encode()).hexdigest()} {' '.join(about.split())}".rstrip() + "\n"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8") as file:
        file.write(line)
    return token
