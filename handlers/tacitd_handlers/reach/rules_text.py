"""The text of the person's rules file. Pure: the same facts give the same bytes.

    <!-- Written by tacitd from … -->

    # The person you work with

    ## Preferences

    - Languages: Python, Rust

What the file is, and when it is written, belongs to `user_rules`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from tacitd.session_context.context_request import PersonRule
from tacitd.text.import_words import quote_imports
from tacitd.text.sanitize import sanitize_line

LIMIT = 2048
"""Bytes of the generated text. A person's own lines in the file do not count."""
HEAD_START = "<!-- Written by tacitd from "
HEAD = f"{HEAD_START}your profile, your global lessons and ~/.agents/LEARNED.md. Delete a line to withdraw it; lines that you add stay. -->"
TITLE = "# The person you work with"
MARK = "- "


class RuleLine(Struct, frozen=True):
    """A rule as a line of the file."""

    plugin: str
    id: str
    text: str
    """With its list mark."""
    by_person: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the rule: plugin and id."""
        return self.plugin, self.id


class RuleSection(Struct, frozen=True):
    """The lines of one plugin, the most important first."""

    title: str
    lines: tuple[RuleLine, ...]


def make_section(plugin: str, title: str, rules: Iterable[PersonRule]) -> RuleSection:
    """Given a plugin's rules, return those that can be lines of the file.

    Left out: a rule that looks like a secret, contains a comment mark, which would hide other lines, or repeats a line.
    """
    from tacitd.text.redact import has_secret  # many patterns: only the daemon needs them

    found: dict[str, RuleLine] = {}
    for rule in rules:
        text = quote_imports(sanitize_line(rule.text))
        if text and "<!--" not in text and "-->" not in text and not has_secret(text):
            found.setdefault(text, RuleLine(plugin, rule.id, MARK + text, rule.by_person))
    return RuleSection(sanitize_line(title), tuple(found.values()))


def choose_lines(sections: Sequence[RuleSection], taken: Collection[str] = ()) -> list[RuleSection]:
    """Return what fits into `LIMIT` bytes: in turn the next line of each section, so that none displaces the others.

    A line that does not fit is left out. `taken`: lines that a person has written, which are not repeated.
    """
    chosen: list[list[RuleLine]] = [[] for _ in sections]
    for depth in range(max((len(one.lines) for one in sections), default=0)):
        for mine, section in zip(chosen, sections, strict=True):
            if depth < len(section.lines) and section.lines[depth].text not in taken:
                mine.append(section.lines[depth])
                if measure_text(render_rules(_pair(sections, chosen))) > LIMIT:
                    mine.pop()
    return _pair(sections, chosen)


def _pair(sections: Sequence[RuleSection], chosen: Sequence[Sequence[RuleLine]]) -> list[RuleSection]:
    return [RuleSection(one.title, tuple(lines)) for one, lines in zip(sections, chosen, strict=True)]


def render_rules(sections: Sequence[RuleSection]) -> tuple[str, ...]:
    """The lines of the generated text; none if there is no rule."""
    made: list[str] = []
    for section in sections:
        if section.lines:
            made += ["", f"## {section.title}", "", *(line.text for line in section.lines)]
    return (HEAD, "", TITLE, *made) if made else ()


def measure_text(lines: Iterable[str]) -> int:
    """The bytes of these lines in a file."""
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
