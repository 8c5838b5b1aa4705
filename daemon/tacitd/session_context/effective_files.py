"""Which learned lines reach a session, file by file: by the client, by tacitd's context, or by nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from tacitd.session_context.context_request import ContextFile, ContextRequest, normalise_line

MARKS = ("- ", "* ", "+ ")


class EffectiveFile(Struct, frozen=True):
    """A file with learned text, and what becomes of its lines in a session."""

    file: ContextFile
    lines: int
    by_client: int
    """How many of them the client loads, at the start or when a file is read."""
    by_context: int
    """How many of the others tacitd's context has."""
    missing: int
    """How many are in neither."""


def judge_files(request: ContextRequest, text: str) -> Iterator[EffectiveFile]:
    """Given a request with its files and the text that was made for it, yield each learned file and what reaches the session."""
    shown = {words for line in text.splitlines() if (words := normalise_line(line))}
    for one in request.files:
        if not one.learned:
            continue
        items = _list_items(one.text)
        others = [words for words in items if words not in request.loaded]
        added = sum(words in shown for words in others)
        yield EffectiveFile(one, len(items), len(items) - len(others), added, len(others) - added)


def describe_file(one: EffectiveFile) -> str:
    """What becomes of a file's lines, in words."""
    file, count = one.file, "1 line" if one.lines == 1 else f"{one.lines} lines"
    parts: list[str] = []
    if one.by_client:
        when = "when a file there is read" if file.when == "read" else "at the start"
        where = ", from another file" if file.when == "never" else ""
        parts.append(f"{_share(one.by_client, one.lines)}loaded by the client {when}{where}")
    if one.by_context:
        parts.append(f"{_share(one.by_context, one.lines)}added by tacitd's context")
    if one.missing:
        parts.append(f"{_share(one.missing, one.lines)}LOADED BY NOTHING")
    why = f" ({file.why})" if file.why and (one.missing or one.by_context) else ""
    return f"{count}, {'; '.join(parts) or 'nothing to load'}{why}"


def _share(part: int, whole: int) -> str:
    return "" if part == whole else f"{part} "


def _list_items(text: str) -> list[str]:
    return [
        words
        for line in text.splitlines()
        if line.lstrip().startswith(MARKS) and (words := normalise_line(line))
    ]


def list_other_files(files: Iterable[ContextFile]) -> list[ContextFile]:
    """The files of the person and of the project that the client loads at the start besides."""
    return [one for one in files if one.when == "start" and not one.learned]
