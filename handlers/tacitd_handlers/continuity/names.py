"""A session's id as a file name (SPEC P-25): nothing in it may lead anywhere else. Pure, and light."""

from __future__ import annotations

import re
from hashlib import sha256

PREFIX, SUFFIX = "session-", ".json"
FOLDER = "sessions"
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,100}")


def file_name(session: str) -> str:
    """`session-<id>.json`; an id of anything but letters, digits, `_` and `-` becomes a hash."""
    id = session if _SAFE.fullmatch(session) else sha256(session.encode(errors="replace")).hexdigest()[:32]
    return f"{PREFIX}{id}{SUFFIX}"
