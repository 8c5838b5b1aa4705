"""Which raw files are ours: the rule as a property, and the log of the files that came with the project."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.testing import FakeClock
from tacitd_handlers.learning.raw_ownership import (
    LOG,
    BroughtFile,
    RawOwnership,
    describe_foreign,
    judge_raw_files,
)
from tacitd_handlers.learning.store import RAW, SUMMARY, ProjectPaths

FILES = ProjectPaths(Path("/app"))
NAMES = [RAW, SUMMARY, *(f"learning-raw.{number}.processing.jsonl" for number in "abc")]
names = st.sets(st.sampled_from(NAMES))


@given(
    tracked=st.none() | names.map(lambda found: frozenset(name.casefold() for name in found)),
    brought=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 50), max_size=5),
    present=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 50), max_size=5),
)
@examples(300)
def test_what_is_tracked_brought_along_or_unknown_is_never_ours(
    tracked: frozenset[str] | None, brought: dict[str, int], present: dict[str, int]
) -> None:
    """SPEC S-02, S-52: a file is ours if git does not track it and it did not exist at first sight, otherwise not."""
    access = judge_raw_files(
        FILES, tracked, {name: BroughtFile(size, "x") for name, size in brought.items()}, present
    )

    def is_ours(name: str) -> bool:
        return tracked is not None and name.casefold() not in tracked and name not in brought

    assert (access.raw == "own") == is_ours(RAW) and (access.summary == "own") == is_ours(SUMMARY)
    assert {path.name for path in access.claimed} == {n for n in present if "processing" in n and is_ours(n)}
    assert set(access.foreign) == {n for n in present if n != SUMMARY and not is_ours(n)}
    if access.raw == "appended":
        assert access.begin == brought[RAW] and tracked is not None and RAW not in tracked
    if not access.claimed and access.raw == "closed":
        assert not access.waiting


def test_every_file_that_is_there_is_ours_or_said(tmp_path: Path) -> None:
    """DESIGN "Priorities", 3: files that are not ours are named, at most five."""
    files = ProjectPaths(tmp_path)
    files.tmp_dir.mkdir()
    for number in range(7):
        (files.tmp_dir / f"learning-raw.{number}.processing.jsonl").write_text("{}\n")
    access = RawOwnership(tmp_path / "home", FakeClock()).inspect_files(files)
    said = describe_foreign(files, access)
    assert said is not None and said[0].count("processing") == 5 and "…" in said[0]


def test_the_first_sight_is_remembered_with_its_time(tmp_path: Path) -> None:
    """docs/files.md: one record for each project; a long file is identified by its beginning."""
    files, clock = ProjectPaths(tmp_path / "app"), FakeClock()
    files.tmp_dir.mkdir(parents=True)
    files.raw_file.write_bytes(b"x" * 200_000)
    first = RawOwnership(tmp_path / "home", clock)
    assert first.inspect_files(files).begin == 200_000 and not first.inspect_files(files).waiting
    (record,) = [json.loads(line) for line in (tmp_path / "home" / LOG).read_text().splitlines()]
    assert (record["project"], record["at"]) == (str(files.root), clock.now())
    clock.advance(86_400)
    with files.raw_file.open("ab") as tool:
        tool.write(b"more\n")
    again = RawOwnership(tmp_path / "home", clock).inspect_files(files)
    assert (again.raw, again.begin, again.waiting) == ("appended", 200_000, True)
    assert len((tmp_path / "home" / LOG).read_text().splitlines()) == 1


def test_records_of_another_version_are_passed_over(tmp_path: Path) -> None:
    """A record that cannot be read, such as a newer version's, is ignored."""
    (tmp_path / LOG).write_text(
        '{"project": 1}\n{"project": "/app", "files": {"a": [1], "b": "x", "c": [1, 2]}}\n'
    )
    (tmp_path / "app").mkdir()
    assert RawOwnership(tmp_path, FakeClock()).inspect_files(ProjectPaths(tmp_path / "app")).raw == "own"
