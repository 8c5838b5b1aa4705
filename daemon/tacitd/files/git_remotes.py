"""The address that identifies a repository: its remote, without what differs between clones. Reads files only.

Two clones of one repository have the same normalised address, whether they use ssh or https and whatever user or token is in
the URL. The address is used to recognise a project; nothing is fetched from it. No process is started.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tacitd.files.git import Repository, read_small_file
from tacitd.text.lazy_pattern import compile_lazily

_SECTION = compile_lazily(r'^\s*\[\s*remote\s+"((?:[^"\\]|\\.)*)"\s*\]', re.IGNORECASE)
_ANY_SECTION = compile_lazily(r"^\s*\[")
_URL = compile_lazily(r"^\s*url\s*=\s*(.*?)\s*$", re.IGNORECASE)
_SCHEME = compile_lazily(r"^([a-z][a-z0-9+.-]*)://(.*)$", re.IGNORECASE)
_SHORT_FORM = compile_lazily(r"^(?:[^/@:]+@)?(\[[0-9a-f:]+\]|[^/:@\s]+):(?!/)(.+)$", re.IGNORECASE)
"""`git@github.com:me/app.git`; one letter before the colon is a Windows drive."""
_HOST_TEXT = r"(?:\[[0-9a-f:.]+\]|[^:@/?#\s]*\.[^:@/?#\s]+|localhost)(?::\d*)?(?=[/?#]|$)"
_HOST = compile_lazily(_HOST_TEXT, re.IGNORECASE)
"""A host that is certainly one: with a dot, in brackets, or localhost."""
_LATER_HOST = compile_lazily(rf"@(?={_HOST_TEXT})", re.IGNORECASE)
_LIMIT = 1 << 20


def read_remote(repository: Repository) -> str:
    """Return the normalised address of a repository's remote `origin`, otherwise of its first remote; "" without one."""
    urls = list_urls(read_small_file(repository.common_dir / "config", _LIMIT))
    url = urls.get("origin") or next((urls[name] for name in sorted(urls)), "")
    return normalise_remote(url, repository.top)


def normalise_remote(url: str, base: Path | None = None) -> str:
    """Return `github.com/me/app` for any form of the address, or a path for a repository on this machine; "" for none.

    Scheme, user, password, port, query, `.git` and case are left out. `base`: the directory that a relative path starts at.
    """
    url = url.strip().strip("\"'")
    if not url:
        return ""
    with_scheme = _SCHEME.match(url)
    if with_scheme and with_scheme[1].casefold() != "file":
        host, path = re.split(r"[?#]", _drop_user(with_scheme[2]), maxsplit=1)[0].partition("/")[::2]
        return _join(re.sub(r":\d*$", "", host), path)
    short = None if with_scheme else _SHORT_FORM.match(url)
    if short and len(short[1]) > 1:
        return _join(short[1], short[2])
    local = with_scheme[2] if with_scheme else url
    place = os.path.realpath((base or Path("/")) / Path(local).expanduser())
    return place.removesuffix("/.git").removesuffix(".git").rstrip("/")


def _drop_user(rest: str) -> str:
    """Return what follows the scheme without user and password.

    Trigger: a password contains a raw `/`, `?` or `#`, so that the user is where the host should be. Why: the address is
    stored, and must not contain a part of a token. Outcome: the user ends at the first later `@` that a host follows.
    """
    address = re.split(r"[/?#]", rest, maxsplit=1)[0]
    host = address.rpartition("@")[2]
    tail = rest[len(address) :]
    if "@" in tail and not _HOST.match(host):
        if (later := _LATER_HOST.search(tail)) is not None:
            return tail[later.end() :]
        if re.search(r":(?!\d*$)", host):
            return tail.rpartition("@")[2]
    return rest[len(address) - len(host) :]


def _join(host: str, path: str) -> str:
    parts = [part for part in path.casefold().split("/") if part not in ("", ".")]
    joined = "/".join([host.casefold().rstrip("."), *parts])
    return joined.removesuffix(".git").rstrip("/")


def list_urls(config: str) -> dict[str, str]:
    """Given the text of a repository's configuration, return the first URL of each remote as it is there, by its name."""
    found: dict[str, str] = {}
    name = None
    for line in config.splitlines():
        if section := _SECTION.match(line):
            name = section[1]
        elif _ANY_SECTION.match(line):
            name = None
        elif name is not None and (url := _URL.match(line)) and url[1]:
            found.setdefault(name, url[1])
    return found
