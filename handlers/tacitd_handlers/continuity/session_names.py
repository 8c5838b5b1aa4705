"""File names of sessions (SPEC P-25): no id may lead to another directory. Pure, without heavy imports."""

from __future__ import annotations

from tacitd.text.hashes import sha256
from tacitd.text.lazy_pattern import compile_lazily

PREFIX, SUFFIX = "session-", ".json"
FOLDER = "sessions"
_SAFE = compile_lazily(r"[A-Za-z0-9_-]{1,100}")


def file_name(session: str) -> str:
    """Return `session-<id>.json`. An id with other characters than letters, digits, `_` and `-`, or of more than 100,
    becomes a hash of 32 hexadecimal digits.
    """
    id = session if _SAFE.fullmatch(session) else sha256(session.encode(errors="replace")).hexdigest()[:32]
    return f"{PREFIX}{id}{SUFFIX}"
