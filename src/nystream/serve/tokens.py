"""Who may do what: tokens with roles, of which the file holds hashes alone."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from nystream.serve.refusals import Refusal

__all__ = ["ROLES", "Tokens", "added"]

ROLES = ("read", "learn", "admin")
"""Each may do what those before it may: look and predict; learn; create, delete, go back."""
_CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Tokens:
    """The tokens of a file; without a file everybody (on this machine) may do everything.

    A line of the file is a role, the SHA-256 of the token in hexadecimal, and anything (whose it is, say). Tokens are
    256 random bits, so that a plain hash of them is enough.
    """

    def __init__(self, path: Path | None) -> None:
        self._hashes: list[tuple[bytes, int]] = []
        self.needed = path is not None
        if path is None:
            return
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            words = line.split()
            if not words or line.lstrip().startswith("#"):
                continue
            if len(words) < 2 or words[0] not in ROLES or len(words[1]) != 64:
                raise ValueError(f"{path}, line {number}: a line is a role ({', '.join(ROLES)}) and a SHA-256 in hex")
            try:
                self._hashes.append((bytes.fromhex(words[1]), ROLES.index(words[0])))
            except ValueError:
                raise ValueError(f"{path}, line {number}: {words[1][:70]!r} is no SHA-256 in hex") from None
        if not self._hashes:
            raise ValueError(f"{path} has no tokens; make one with `nystream serve --new-token admin --tokens {path}`")

    def check(self, header: str | None, role: str) -> None:
        """Refuse a request whose Authorization header does not allow what needs this role."""
        found = ROLES.index(self.role(header))
        if found < ROLES.index(role):
            raise Refusal(403, f"this needs the role {role}; the token has the role {ROLES[found]}")

    def role(self, header: str | None) -> str:
        """The role of the token in an Authorization header; a Refusal where it has none that is known."""
        if not self.needed:
            return ROLES[-1]
        if header is None or not header[:7].lower() == "bearer ":
            raise Refusal(401, "a token is needed: Authorization: Bearer TOKEN", _CHALLENGE)
        given = hashlib.sha256(header[7:].strip().encode("utf-8", "surrogateescape")).digest()
        found = -1
        for known, level in self._hashes:  # all of them, so that the time says nothing
            if hmac.compare_digest(known, given):
                found = max(found, level)
        if found < 0:
            raise Refusal(401, "the token is not known", _CHALLENGE)
        return ROLES[found]


def added(path: Path, role: str, about: str = "") -> str:
    """A new token, whose hash is added to the file."""
    if role not in ROLES:
        raise ValueError(f"a role is one of {', '.join(ROLES)}; got {role!r}")
    token = secrets.token_urlsafe(32)
    line = f"{role} {hashlib.sha256(token.encode()).hexdigest()} {' '.join(about.split())}".rstrip() + "\n"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8") as file:
        file.write(line)
    return token
