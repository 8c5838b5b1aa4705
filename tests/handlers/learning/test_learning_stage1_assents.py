"""Batches that are not put to the model because they can only say "go on"."""

from __future__ import annotations

import pytest

from support_learning import Bench
from tacitd.events import Prompt, PromptKind
from tacitd.handler import Done
from tacitd_handlers.learning.stage1.assents import has_nothing_to_learn


def typed(text: str, context: str = "", kind: PromptKind = "typed") -> Prompt:
    return Prompt(kind, text, "s1", "u1", 0.0, "/p", context)


@pytest.mark.parametrize(
    "text",
    ["yes", "Yes!", "OK.", " ok ", "go ahead", "Thanks!", "ja", "mach weiter", "sí", "Vale.", "d’accord", "はい", "続けて。", "好的", "네", "да", "/clear", "/my:command"],
)  # fmt: skip
def test_an_assent_says_nothing_new(text: str) -> None:
    """S-01: exactly one of the words, in any of the languages."""
    assert has_nothing_to_learn([typed(text)])
    for statement in (
        "I fixed the test.",
        "Ich habe den Test repariert.",
        "テストを直しました。",
        "我修好了测试。",
    ):
        assert has_nothing_to_learn([typed(text), typed("ok", statement)])


@pytest.mark.parametrize(
    "text",
    ["no", "nein", "tabs", "use uv", "ok, but use tabs", "yes and never npm", "/review never mention style", "go home", "いいえ", "npm nie", "1", "ok tabs"],
)  # fmt: skip
def test_everything_else_is_sent(text: str) -> None:
    """S-01: a short message can be a preference; length never decides."""
    assert not has_nothing_to_learn([typed(text)])
    assert not has_nothing_to_learn([typed("ok"), typed(text)])


@pytest.mark.parametrize(
    ("context", "kind"),
    [
        ("Shall I always use tabs?", "typed"),
        ("タブにしますか？", "typed"),
        ("今後もpnpmを使いますか。", "typed"),
        ("どちらがよいか教えてください。", "typed"),
        ("你要一直用pnpm吗", "typed"),
        ("항상 pnpm을 쓸까요", "typed"),
        ("Let me know which you prefer: always tabs, or spaces.", "typed"),
        ("Tell me whether I may use tabs everywhere.", "typed"),
        ("I can always use pnpm from now on (y/n)", "typed"),
        ("Options:\nA) tabs\nB) spaces", "typed"),
        ("Sag mir, ob ich immer pnpm nehmen soll.", "typed"),
        ("Dime si uso siempre pnpm.", "typed"),
        ("Dis-moi si je garde pnpm.", "typed"),
        ("Fammi sapere se uso sempre pnpm.", "typed"),
        ("Me avise se devo usar pnpm.", "typed"),
        ("Laat me weten of ik pnpm moet gebruiken.", "typed"),
        ("Скажи, использовать ли всегда pnpm.", "typed"),
        ("", "answers"),
        ("", "reject-words"),
    ],
)
def test_an_answer_to_a_question_is_sent(context: str, kind: PromptKind) -> None:
    """S-01: "yes" to a question can be a preference."""
    assert not has_nothing_to_learn([typed("yes", context, kind)])


def test_a_batch_of_assents_costs_no_call(bench: Bench) -> None:
    """S-01: it is counted in `status`, its position moves, and a batch with one other message is sent whole."""
    records = [bench.record("ok"), bench.record("go ahead", context="I will fix the test now.")]
    outcome = bench.play(bench.grew(*records, due=True))
    assert isinstance(outcome, Done) and not bench.model.asked
    assert bench.status["total"] == {"seen": 2, "asked": 0, "facts": 0, "lines": 0}
    assert bench.status["skipped"] == {"they only agree, or are commands": 2}
    assert "2 prompts were left out: they only agree, or are commands" in bench.status["says"]
    bench.play(bench.grew(bench.record("ok"), bench.record("use pnpm, not npm"), due=True))
    assert "\nok\n" in bench.model.prompts[-1] and bench.status["total"]["asked"] == 2


def test_the_answer_to_a_question_is_put_to_the_model(bench: Bench) -> None:
    """S-01: the question is sent along as context."""
    bench.play(bench.grew(bench.record("yes", context="Always pnpm, never npm?"), due=True))
    assert "Always pnpm, never npm?" in bench.model.prompts[-1]
