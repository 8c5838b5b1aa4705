"""What learning leaves in projects, as reported to `uninstall --purge`."""

from __future__ import annotations

from support_learning import Bench
from tacitd_handlers.learning.learning_files import learning_footprint


def environ(bench: Bench) -> dict[str, str]:
    return {"HOME": str(bench.box), "TACITD_STATE_DIR": str(bench.state)}


def test_lines_in_gits_exclude_file_are_named_with_the_reason(bench: Bench) -> None:
    """The exclude lines stay, so that LEARNED.md is not published by the next `git add .`; the user sees which file has them."""
    exclude = bench.root / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("/mine\n")
    bench.learn()
    assert "/LEARNED.md" in exclude.read_text()
    found = learning_footprint(environ(bench))
    assert exclude in found.kept and "LEARNED.md" in found.reasons[exclude]
    exclude.write_text("/mine\n")
    assert exclude not in learning_footprint(environ(bench)).kept


def test_an_empty_tmp_of_a_project_is_tacitds(bench: Bench) -> None:
    """`tmp` was made for the raw facts and the summary; if it has other files, it stays (`rmdir`)."""
    bench.learn()
    assert bench.root / "tmp" in learning_footprint(environ(bench)).own
