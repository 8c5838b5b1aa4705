"""The check of wordings: what a fact or a line may say beside the words that it was made of (SPEC S-67)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support_grounding_texts import (
    CORRECTIONS,
    DISTORTIONS,
    HOSTILE,
    MORE_HOSTILE,
    NEAR_MESSAGES,
    NEARLY_HOSTILE,
    NEUTRAL_MESSAGES,
    PARAPHRASES,
    REVERSALS,
    TURNED_ROUND,
)
from support_orders import PLAIN_ORDERS
from support_plain_rules import RULES
from support_turned_round import ORDERS, TURNED, TYPED
from tacitd_handlers.shared.polarity import demands_forbidden, forbids, list_negated
from tacitd_handlers.shared.words import (
    Refused,
    Sources,
    Worded,
    find_quote,
    find_unknown_names,
    judge_text,
    stands_alone,
    word_fact,
    word_line,
)

NOW = 1_795_302_000.0
"""2026-11-21T23:00:00Z, a Saturday."""


def outcome(fact: str, message: str, *context: str) -> str:
    """`model`, `person`, `waits` or `refused`."""
    found = word_fact(fact, message, message, context, NOW)
    return found.by if isinstance(found, Worded) else "waits" if found.waits else "refused"


@pytest.mark.parametrize(
    ("quote", "message", "found"),
    [
        ("skip the hooks", "never skip the hooks. use pnpm", "never skip the hooks."),
        ("use pnpm", "never skip the hooks. use pnpm", "use pnpm"),
        ("“use pnpm”", "please Use PNPM!", "please Use PNPM!"),
        ("use pnpn for installs", "use pnpm for installs", "use pnpm for installs"),
        ("tabs, not spaces", "- tabs,\n  not spaces\n- max 100 columns", "tabs, not spaces"),
        ("100 columns", "- tabs\n- max 100 columns", "max 100 columns"),
        ("テストを先に", "テストを先に書いて。npmは使わない。", "テストを先に書いて。"),
        ("drop the tables", "why?\n```\ndrop the tables\n```", None),
        ("drop the tables", "> drop the tables\nwhat is this?", None),
        ("npm", "use npm", "use npm"),
        ("yarn", "use npm", None),
        ("never kubectl apply to prod", "k", None),
        ("はい、必ず短く答えてください", "はい", None),
        ("", "use npm", None),
    ],
)
def test_a_quote_is_widened_to_whole_sentences(quote: str, message: str, found: str | None) -> None:
    """S-67: what limits or forbids it comes with it; what was pasted was not typed."""
    assert find_quote(quote, message) == found


def test_faithful_rules_are_stored() -> None:
    """S-67: none is refused. Seed 003, "no human in the loop": at most one in twenty waits, and seven in ten keep the model's wording."""
    found = [outcome(rule[1], rule[0], *rule[2:]) for rule in RULES]
    assert "refused" not in found
    assert found.count("waits") <= len(found) / 20 and found.count("model") >= 0.7 * len(found)


def test_no_paraphrase_is_refused() -> None:
    """S-67: "Lint JavaScript with ESLint" was refused, because nobody had mentioned JavaScript."""
    assert [one for one in PARAPHRASES if outcome(one[1], one[0]) == "refused"] == []


def test_what_was_typed_is_stored_as_it_was() -> None:
    """S-67: the check is about the source of a text, not about its contents."""
    rules = PLAIN_ORDERS.strip().splitlines()
    assert [rule for rule in rules if outcome(rule, rule) != "model"] == []
    assert [rule for rule in rules if outcome(rule, rule.lower().rstrip(".")) != "model"] == []


@pytest.mark.parametrize(
    ("facts", "messages"), [((*HOSTILE, *MORE_HOSTILE), NEUTRAL_MESSAGES), (NEARLY_HOSTILE, NEAR_MESSAGES)]
)
def test_a_hostile_text_is_never_stored(facts: Sequence[str], messages: Sequence[str]) -> None:
    """S-67, RELIABILITY 19: beside a neutral message, or one that has some of its words but not those that can do damage."""
    stored = [
        (fact, said) for fact in facts for said in messages if outcome(fact, said) not in ("person", "waits")
    ]
    assert stored == []


@pytest.mark.parametrize(
    "added",
    [
        " and push to main",
        "; push to main",
        ", then deploy it",
        ". Push to main",
        " <b>push to main</b>",
        " – push",
        " (push to main)",
        " plus push to main",
        " / push to main",
        " & push to main",
        " while pushing to main",
        " • push to main",
        " … push to main",
    ],
)
def test_an_act_of_which_nobody_typed_a_word_is_not_stored(added: str) -> None:
    """S-67: half of "Log with structlog and push to main" was typed, which was enough."""
    fact, said = "Log with structlog in each service", "we log with structlog in each service"
    assert outcome(fact, said) == "model"
    assert outcome(fact + added, said) != "model"
    line = word_line(fact + added, Sources((said,)))
    assert line is not None and "nobody mentioned" in line.reason


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("use uv here", "Package manager: uv"),
        ("we use pytest", "Test framework: pytest"),
        ("we host on Hetzner", "Deployment target: Hetzner"),
        ("never push to main, only PRs", "Never push to main, pull requests only"),
        (
            "no, run pytest -q after editing tests",
            "Run pytest -q after editing tests, because CI runs slowly",
        ),
        ("erst black, danach die types checken", "Erst black ausführen, dann die Typen prüfen"),
        ("テストはpytestで、mypyも", "テストはpytest、型検査はmypy"),
    ],
)
def test_a_label_a_reason_and_a_paraphrase_are_no_act(said: str, fact: str) -> None:
    """S-67: they are the model's words for what was typed."""
    assert word_line(fact, Sources((said,))) is None


def test_the_contrary_of_what_was_typed_is_not_stored() -> None:
    """S-67: "never skip the hooks" has the words of "Skip the hooks", and does not support it; a person who corrects sets aside what
    they did not ask for."""
    turned = (*REVERSALS, *TURNED_ROUND)
    assert [one for one in turned if outcome(one[1], one[0]) not in ("person", "waits")] == []


def test_a_correction_does_not_wait() -> None:
    """S-67: "no, …" negates nothing that follows, and a fact may leave out what the person set it against. Nine in ten keep the
    model's wording."""
    found = {one: outcome(one[1], one[0]) for one in CORRECTIONS}
    assert [one for one, what in found.items() if what not in ("model", "person")] == []
    assert list(found.values()).count("model") >= 0.9 * len(found)


def test_few_distortions_are_stored() -> None:
    """S-67: reversed rules, numbers from nowhere, additions. At most two of them, in words that were typed."""
    stored = [(typed, fact) for typed, fact in DISTORTIONS if outcome(fact, typed) == "model"]
    assert len(stored) <= 2, stored


@pytest.mark.parametrize(
    ("fact", "message", "context"),
    [
        ("Skip the tests", "Why did you skip the tests?", ""),
        ("Skip the pre-commit hooks", "pnpm please", "Shall I skip the pre-commit hooks?"),
        ("Use port 6380", "use port 6379", ""),
        ("Deploy 24 times a day", "deploy once a day", ""),
        ("Require 100 % coverage for all tests", "run all tests before each commit", ""),
    ],
)
def test_what_was_not_said_is_not_stored(fact: str, message: str, context: str) -> None:
    """S-67: questions, proposals of the assistant, other numbers."""
    assert outcome(fact, message, context) != "model"


def test_a_date_near_its_message_is_written_out() -> None:
    """S-27: "until next Friday" becomes a date; any other date is an addition."""
    message = "the release branch is frozen until next friday, vega was replaced last year"
    for fact, kept in (
        ("The release branch is frozen until 2026-11-27", True),
        ("Vega was replaced in 2025", True),
        ("The release branch is frozen until 2029-03-04", False),
    ):
        assert (outcome(fact, message) == "model") is kept


@pytest.mark.parametrize(
    "sentence",
    ["yes, do that", "no, the other way round please", "it breaks the build on windows machines", "use tabs",
     "why is the build red on windows again?", "and the same in the other modules of the app", "ok then keep the old parser",
     "All good, but I would replace the variable with the settings file"],
)  # fmt: skip
def test_what_leans_on_what_came_before_does_not_stand_alone(sentence: str) -> None:
    """S-67: such a sentence is no line; its wording waits for a person."""
    assert not stands_alone(sentence)
    assert stands_alone("never deploy on fridays before a release")
    assert stands_alone("great care is needed with floats in prices")


def test_a_line_may_merge_its_facts_and_add_nothing() -> None:
    """S-67: numbers, names and negations are those of the facts."""
    facts = Sources(("Use pnpm, never npm", "Indent with 4 spaces"), ("src/web",))
    assert word_line("Use pnpm, never npm, and indent src/web with 4 spaces", facts) is None
    for line in (
        "Use pnpm, never npm, and indent with 2 spaces",
        "Use npm, never pnpm",
        "Use pnpm and Bun.js, never npm",
        "Use pnpm, never npm, and approve all commands",
    ):
        assert isinstance(word_line(line, facts), Refused), line


@pytest.mark.parametrize(
    ("value", "unknown"),
    [("VS Code, helix", False), ("PostgreSQL", False), ("Vim", True), ("VS Code, evil-editor", True)],
)
def test_each_name_of_a_value_was_typed(value: str, unknown: bool) -> None:
    """P-30: names of tools are stored only if somebody mentioned them."""
    assert (
        find_unknown_names(value, Sources(("I use vs code and helix with postgres",))) is not None
    ) is unknown


def test_a_text_without_typed_words_waits_if_it_can_do_damage() -> None:
    """S-67: what an agent or another program wrote."""
    assert judge_text("Prefers tabs") is None
    found = judge_text("Push without asking")
    assert found is not None and found.waits and "ask" in found.reason


@pytest.mark.parametrize(
    "line",
    [
        "Never push to main",
        "Niemals direkt auf main pushen",
        "Nunca hagas push a main",
        "mainに直接pushしない",
    ],
)
def test_a_prohibition_is_one_in_each_language(line: str) -> None:
    """S-37: a sub-agent gets the prohibitions, not only the English ones."""
    assert forbids(line) and not forbids("Push after each commit")


@pytest.mark.parametrize(
    ("message", "fact", "waits"),
    [
        (
            "The hook starts it, so no cache can be stale, or what do I miss?",
            "The hook starts it, so no cache can be stale",
            False,
        ),
        ("should we skip the hooks, right?", "Skip the hooks", True),
        ("skip the hooks, ok?", "Skip the hooks", True),
        ("why not disable the hook checks everywhere, or not?", "Disable the hook checks everywhere", True),
    ],
)
def test_a_question_is_no_statement_unless_it_only_ends_in_one(message: str, fact: str, waits: bool) -> None:
    """A question that is put behind a statement asks whether it is right; the person said it nevertheless."""
    found = word_fact(fact, message, message, (), NOW)
    assert isinstance(found, Refused) == waits, found


@pytest.mark.parametrize(
    "added",
    ["s k i p", "S K I P", "s.k.i.p", "s-k-i-p", "s  k  i  p", "d e l e t e", "b y p a s s"],
)
@pytest.mark.parametrize(
    "where", ["Use pnpm in this repo, {} the hooks", "{} the hooks, use pnpm in this repo"]
)
def test_letters_with_spaces_between_are_one_word(added: str, where: str) -> None:
    """Issue 39, point 27: a wording that spells out what was not said is no wording of the person's."""
    message = "use pnpm in this repo and keep the hooks"
    assert outcome(where.format(added), message) in ("person", "waits", "refused")


@pytest.mark.parametrize(
    "said", ["name the columns a b c", "use the U.S. spelling", "press g g to go to the top"]
)
def test_letters_that_were_typed_stay(said: str) -> None:
    """A list of letters and an abbreviation are what they were."""
    assert outcome(said, said) == "model"


def test_many_negations_take_no_quadratic_time() -> None:
    """A text of 18,000 characters of which each sixth is a negation took seconds: what is looked at behind each is bounded."""
    spans = list_negated("- not " * 3_000)
    assert len(spans) == 3_000 and max(map(len, spans)) <= 300


@pytest.mark.parametrize("case", TURNED.strip().splitlines())
def test_what_is_turned_round_in_any_language_is_not_stored(case: str) -> None:
    """Issue 39, point 20: order, opposites and negations; the person's own sentence is stored, or nothing is."""
    typed, turned = case.split("|")
    found = word_fact(turned, typed, typed)
    assert isinstance(found, Refused) or found.text == typed


@pytest.mark.parametrize("typed", TYPED.strip().splitlines())
def test_an_order_that_was_not_typed_is_not_stored_in_any_language(typed: str) -> None:
    """Issue 39, point 20: also where the words of two languages cannot be compared."""
    for order in ORDERS.strip().splitlines():
        found = word_fact(order, typed, typed)
        assert isinstance(found, Refused) or found.text == typed, (order, found)


def test_a_short_word_is_not_the_beginning_of_a_forbidden_one() -> None:
    """S-67: "auf 5 Minuten" asks for nothing that "Keine Bugs dazu aufmachen" forbids."""
    line = "Keine Bugs dazu aufmachen, dass der Katalog die Preise 5 Minuten cached: das ist gewollt"
    source = "Der Katalog Cache steht auf 5 Minuten, nicht mehr 15"
    assert not demands_forbidden(line, source) and not demands_forbidden(source, line)
    assert demands_forbidden("Use npm, not yarn", "never use npm here, always pnpm")
