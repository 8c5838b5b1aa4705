"""Shortens one line to a number of characters. Pure."""

from __future__ import annotations

from tacitd.text.sanitize import sanitize_line


def shorten_line(line: str, limit: int) -> str:
    """Given one sanitised line, return at most `limit` characters of it, cut at a word and ended with `…`.

    An emoji or a cluster that would fit only in part leaves no joiner or selector behind.
    """
    if len(line) <= limit:
        return line
    if limit <= 1:
        return sanitize_line(line[: max(0, limit)])
    head = line[: limit - 1]
    word = head.rpartition(" ")[0]
    return sanitize_line(word if len(word) > limit // 2 else head).rstrip(" ,;:") + "…"
