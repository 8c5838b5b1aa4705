"""A template that changed after the answers were recorded: the prompts are named, and their answers can be kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import learning
from recorded_answers import load_answers, record_answer, save_answers
from support_claude import install_stand_in

pytestmark = pytest.mark.scenario


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The answers of the project thesis."""
    path = tmp_path / "answers.jsonl"
    monkeypatch.setattr(learning, "ANSWERS", path)
    dumped = tmp_path / "dumped"
    replies = {
        "# Thesis\n": "- Never edit files in data/raw.",
        "# Known facts\n": '{"message": 4, "words": "in the tex files one sentence per line please", "fact": "One sentence per line in the tex files"}',
    }
    while learning.main(["--projects", "thesis", "--dump-prompts", str(dumped)]) != 0:
        for prompt in dumped.glob("*[0-9a-f].txt"):
            asked = prompt.read_text("utf-8")
            reply = next((text for shown, text in replies.items() if shown in asked), "NONE")
            prompt.with_name(f"{prompt.stem}.answer.txt").write_text(reply, "utf-8")
        assert learning.main(["--take-answers", str(dumped)]) == 0
        for used in dumped.iterdir():
            used.unlink()
    return path


def test_rounds_end_and_a_changed_prompt_is_renewed(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each round asks for what depends on the answers before; `--rekey` keeps an answer under the new prompt's hash."""
    recorded = load_answers(answers)
    assert [one.name for one in recorded] == [
        "thesis-1 extraction 1",
        "thesis-1 summary 1",
        "thesis-1 synthesis 1",
    ]
    assert learning.main(["--projects", "thesis"]) == 1, "the recall of this set is low"
    assert capsys.readouterr().err == ""
    old = next(one for one in recorded if one.kind == "synthesis")
    save_answers(answers, [*recorded, record_answer(old.name, _reword(old.lines), old.answer)])
    learning.main(["--projects", "thesis", "--rekey"])
    warning = (
        "thesis-1 synthesis 1: the prompt changed; the answer recorded for thesis-1 synthesis 1 was taken"
    )
    assert warning in capsys.readouterr().err
    assert load_answers(answers) == recorded
    learning.main(["--projects", "thesis"])
    assert capsys.readouterr().err == ""


def test_recording_prints_and_stores_what_the_client_reports(
    answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Answers without a client have no cost; those of `--record` have that of the `claude` on PATH, then and later."""
    cost = "dollars, as the client reported them"
    learning.main(["--projects", "thesis"])
    assert f"{cost} unknown" in " ".join(capsys.readouterr().out.split())
    real = install_stand_in(tmp_path / "real", [{"reply": "NONE", "usd": 0.25}])
    monkeypatch.setenv("PATH", real.path())
    learning.main(["--projects", "thesis", "--record"])
    printed = " ".join(capsys.readouterr().out.split())
    calls = len(real.prompts())
    assert calls and f"{cost} {calls / 4:.4f} ({calls / 4:.4f} per session)" in printed
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    learning.main(["--projects", "thesis", "--json"])
    figures = json.loads(capsys.readouterr().out)["calls"]
    assert (figures["usd"], figures["sessions"]) == (calls / 4, 1)


def _reword(lines: tuple[str, ...]) -> str:
    """A synthesis prompt of another wording with the same data."""
    return "Perform knowledge synthesis.\n```\n" + "\n".join(lines) + "\n```\n"
