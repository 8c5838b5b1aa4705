"""What a person changed in a mirror."""

from __future__ import annotations

import pytest

from tacitd_handlers.learning.mirrors.mirror_edits import (
    AddedLine,
    MirrorEdit,
    RewordedLine,
    find_edit,
    to_source,
)
from tacitd_handlers.learning.mirrors.mirror_text import render_mirror
from tacitd_handlers.learning.mirrors.mirror_units import parse_source

TITLE = "Learned Preferences"


def mirror(body: str) -> str:
    """A mirror with this body."""
    return render_mirror(parse_source(body.encode()), lambda words: True, source="LEARNED.md", title=TITLE)


BASE = mirror("## Coding\n- a\n- b\n- c\n\n## Testing\n- t\n\nwords\n")


def edit(old: str, new: str) -> MirrorEdit:
    """What replacing a part of the mirror means."""
    assert old in BASE
    return find_edit([BASE], BASE.replace(old, new, 1), title=TITLE)


def test_no_change_is_no_edit() -> None:
    """Also with another order, white space or newline style."""
    assert find_edit([BASE], BASE, title=TITLE) == MirrorEdit()
    assert not edit("- a\n- b\n", "- b\n- a\n")
    assert not find_edit([BASE], BASE.replace("\n", "\r\n"), title=TITLE)


def test_a_deleted_bullet_is_removed() -> None:
    """A deletion counts for this line alone."""
    assert edit("- b\n", "") == MirrorEdit(removed=("b",))
    assert edit("- a\n- b\n- c\n", "") == MirrorEdit(removed=("a", "b", "c"))


def test_an_added_bullet_has_the_heading_above_it() -> None:
    """A line directly below the title is general."""
    assert edit("- t\n", "- t\n- mine\n") == MirrorEdit(added=(AddedLine("Testing", "mine"),))
    assert edit("## Coding", "- top\n\n## Coding") == MirrorEdit(added=(AddedLine("General", "top"),))
    assert edit("words\n", "words\n\n## New\n- n\n") == MirrorEdit(added=(AddedLine("New", "n"),))


def test_a_bullet_in_the_place_of_another_is_reworded() -> None:
    """So it keeps its place in the source."""
    assert edit("- b\n", "- B, always\n") == MirrorEdit(reworded=(RewordedLine("Coding", "b", "B, always"),))
    assert edit("- a\n- b\n", "- x\n") == MirrorEdit(removed=("a", "b"), added=(AddedLine("Coding", "x"),))


@pytest.mark.parametrize(
    "block",
    ["a paragraph\nof two lines", "```sh\nmake\n```", "<!-- a note\nto myself -->", "## Only a heading"],
)
def test_other_text_is_moved_as_it_is(block: str) -> None:
    """No byte that a person wrote into the mirror is lost."""
    assert edit("words\n", f"words\n\n{block}\n") == MirrorEdit(blocks=(block,))


@pytest.mark.parametrize("n", range(0, len(BASE) - 3, 7))
def test_a_cut_off_mirror_deletes_nothing(n: int) -> None:
    """A crash, a full disk or `>` leave a part of the file; nobody decided about single lines, whole or not."""
    assert find_edit([BASE], BASE[:n], title=TITLE) == MirrorEdit(cut=True)
    assert find_edit([BASE], BASE[n + 2 :], title=TITLE) == MirrorEdit(cut=True)


@pytest.mark.parametrize("n", range(0, len(BASE) - 3, 7))
def test_what_is_added_to_a_cut_off_mirror_counts(n: int) -> None:
    """A person may write into it before it is made again."""
    found = find_edit([BASE], f"{BASE[:n]}\n\n- Mine, my own\n\nsome own text\n", title=TITLE)
    assert [one.text for one in found.added] == ["Mine, my own"] and found.blocks == ("some own text",)
    assert found.cut and not found.removed and not found.reworded


@pytest.mark.parametrize("n", range(1, len(BASE) - 1))
def test_the_rest_of_tacitd_s_own_line_is_not_a_part_of_a_person_s(n: int) -> None:
    """A line that a person puts above it, without a blank line between them."""
    left, _, torn = BASE[:n].rpartition("\n")
    for now in (f"{left}\n- Mine, my own\n{torn}", f"- Mine, my own\n{BASE[n:]}"):
        assert [one.text for one in find_edit([BASE], now, title=TITLE).added] == ["Mine, my own"]


def test_after_a_crash_only_what_both_texts_agree_on_counts() -> None:
    """It is unknown which of two texts was there: a line that only one of them has was neither deleted nor added."""
    new = mirror("## Coding\n- a\n- b\n- d\n\n## Testing\n- t\n\nwords\n")
    assert find_edit([BASE, new], BASE.replace("- b\n", ""), title=TITLE) == MirrorEdit(removed=("b",))
    now = new.replace("- b\n", "").replace("- d\n", "- d\n- e\n")
    assert find_edit([BASE, new], now, title=TITLE) == MirrorEdit(
        removed=("b",), added=(AddedLine("Coding", "e"),)
    )


def test_an_edit_names_the_source_s_own_text() -> None:
    """The mirror shows some words differently. A line that the source lost meanwhile need not be removed."""
    one = MirrorEdit(removed=("see `@x`", "gone"), reworded=(RewordedLine("Coding", "use `@y`", "z"),))
    assert to_source(one, {"see `@x`": "see @x", "use `@y`": "use @y"}) == MirrorEdit(
        removed=("see @x",), reworded=(RewordedLine("Coding", "use @y", "z"),)
    )
