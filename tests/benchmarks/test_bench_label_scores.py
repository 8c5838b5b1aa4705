"""How learned lines are compared with the labels: the pure rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from label_scores import FoundLine, parse_labels, score_lines

LABELS = parse_labels(
    """
# a comment
a-1.1 durable LEARNED.md|x/AGENTS.md: pnpm|yarn + install
a-1.2 one-off: green
a-1.3 nothing
a-1.4 durable y/AGENTS.md: HAL_Delay
a-1.5 profile: emacs
a-2.1 again a-1.1
a-2.2 supersedes a-1.4: 15 min
a-2.3 keeps a-1.4
a-2.4 may: frozen
a-2.5 known: data/raw
"""
)
GOOD = (
    FoundLine("a", "LEARNED.md", "Use pnpm install", ("a-1.1",)),
    FoundLine("a", "y/AGENTS.md", "Never call HAL_Delay", ("a-1.4",)),
)
PROFILE = {"a": '{"tools": {"editor": "Emacs"}}'}


def test_labels_are_parsed() -> None:
    """Kinds, files, words and other messages."""
    assert [one.kind for one in LABELS] == [
        "durable", "one-off", "nothing", "durable", "profile", "again", "supersedes", "keeps", "may", "known",
    ]  # fmt: skip
    assert LABELS[0].files == ("LEARNED.md", "x/AGENTS.md")
    assert LABELS[0].words == (("pnpm", "yarn"), ("install",))
    assert LABELS[5].other == "a-1.1" and LABELS[6].words == (("15 min",),)


@pytest.mark.parametrize("line", ["a durable x: y", "a-1.1 lasting x: y", "a-1.1"])
def test_a_line_of_another_form_is_refused(line: str) -> None:
    """A label with a mistake would count as nothing."""
    with pytest.raises(ValueError, match="not a label"):
        parse_labels(line)


def test_what_is_right_scores_fully() -> None:
    """Every durable label has a line in its file, and nothing else is there."""
    score = score_lines(LABELS, GOOD, PROFILE)
    assert (score.recall, score.durable, score.one_offs, score.profile) == (1.0, 2, 3, 1)
    assert not (score.lost or score.promoted or score.misplaced or score.duplicates or score.stale)
    assert not (score.profile_missed or score.unlabelled)


def test_what_is_missing_is_named() -> None:
    """A lost line, an exception that replaced the rule, and a profile without the value."""
    score = score_lines(LABELS, GOOD[:1], {})
    assert score.recall == 0.5 and score.lost == ("a-1.4: hal_delay", "a-1.4: lost by a-2.3")
    assert score.profile_missed == ("a-1.5: emacs",)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (FoundLine("a", "LEARNED.md", "Make the button green", ("a-1.2", "a-1.1")), "promoted"),
        (FoundLine("a", "LEARNED.md", "Likes tea", ("a-1.3",)), "promoted"),
        (FoundLine("a", "LEARNED.md", "Likes tea", ("a-1.3", "a-1.1")), "unlabelled"),
        (FoundLine("a", "LEARNED.md", "Use pnpm to install packages", ()), "duplicates"),
        (FoundLine("a", "LEARNED.md", "Never edit data/raw", ("a-1.1",)), "duplicates"),
        (FoundLine("a", "LEARNED.md", "The cache lives 15 minutes", ("a-1.4",)), "stale"),
    ],
)
def test_what_is_wrong_is_named(line: FoundLine, named: str) -> None:
    """By the words, or by the messages that the line was made from."""
    assert any(line.text in what for what in getattr(score_lines(LABELS, [*GOOD, line], PROFILE), named))


def test_a_line_of_both_kinds_of_messages_counts_by_its_words() -> None:
    """A line with the words of a durable label is right, although a one-off is among its messages."""
    line = replace(GOOD[0], messages=("a-1.1", "a-1.2"))
    assert score_lines(LABELS, [line, GOOD[1]], PROFILE).promoted == ()


def test_a_line_in_another_file_is_misplaced_and_recalled() -> None:
    """Recall and place are two questions."""
    score = score_lines(LABELS, [GOOD[0], replace(GOOD[1], file="LEARNED.md")], PROFILE)
    assert score.recall == 1.0 and len(score.misplaced) == 1 and "y/AGENTS.md" in score.misplaced[0]


def test_lines_of_other_projects_do_not_count() -> None:
    """Each label belongs to the project of its message."""
    assert score_lines(LABELS, [replace(one, project="b") for one in GOOD], PROFILE).recalled == 0


def test_words_match_from_their_beginning() -> None:
    """`ci` is not in "circle": a word may go on, and begins at a boundary; Japanese has none."""
    (label,) = parse_labels("a-1.1 durable LEARNED.md: ci|結論")
    assert label.has_words("Run it in CI") and label.has_words("必ず結論から")
    assert not label.has_words("decide")
