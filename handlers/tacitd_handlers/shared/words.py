"""Whether a text says no more than the words that it was made of (SPEC S-67). Pure.

The model quotes the words of each fact. `find_quote` looks them up in the message and widens them to whole sentences, so that
"skip the hooks" cannot be cut out of "never skip the hooks". A wording that adds something to the quoted sentence is not
refused: the sentence itself takes its place, if it can be understood alone. Otherwise the wording waits for a person. The check
may therefore be strict and short.

A wording adds something if it has

- a sign (a number, a path, a flag, a name in code) that its source does not have,
- a word of what can do damage ("delete", "token", "ask") that its source does not have, or with such a word another number of
  negations,
- a word behind a negation that is not negated in its source, or the contrary,
- no exception where its source has one,
- too few words in common with its source.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.model_text import FACT_LIMIT, drop_quotes, strip_marks
from tacitd_handlers.shared.polarity import (
    CJK,
    CJK_RUN,
    STEM,
    STOP_WORDS,
    WORD,
    count_negations,
    demands_forbidden,
    find_negated,
    fold_text,
    forbids,
    hides_reversal,
    is_onesided,
    list_negated,
    list_stems,
    match_stems,
    plain_text,
    reverses,
    strip_answer,
    turns_round,
)

_CLOSE = 88
"""The similarity of a quote and the words of a message, 0 to 100: a model may mend a typing error in its copy."""
_SHORT = 8
"""Characters. A shorter quote must be in the message as it is."""
_DATE_DAYS = 31
"""How far a date may be from the day of its message: "until next Friday" is written out."""
_SHARE = 4
"""One of so many words of a text must be in its source."""
_ALONE = 4
"""Words with a meaning that a sentence needs to be understood alone."""
_ENDING = 4
"""Letters that a name may have more than the word that was typed."""
_SPACES = compile_lazily(r"[^\S\n]+")
_SENTENCE_END = compile_lazily(r"(?<=[.!?;])\s+|\n+|(?<=[。！？；])")
_PARTS = compile_lazily(
    r"[,;，、；。—–…·•→\u2028<>|()&/]|\s-+>?\s|[.!?]\s|\b(?:and|then|or|but|plus|while|und|dann|oder|et|puis|ou|y|luego|poi|и)\b",
    re.IGNORECASE,
)
"""What stands between the clauses of a line."""
_REASON = compile_lazily(r"\b(?:because|weil|denn|parce|porque|perché)\b", re.IGNORECASE)
_ACT = compile_lazily(
    r"\b(?:push|deploy|merge|publish|install|execute|run|rebase|reset|kill|upload)(?:es|s|ed|ing)?\b",
    re.IGNORECASE,
)
"""What an agent does that others notice, or that cannot be taken back."""
_PLAIN_WORD = compile_lazily(r"[a-z]+")
"""In code it is compared like any word."""
_NAME_END = compile_lazily(r"[,;/()+&]| and | und | et | y ")
_YEAR = compile_lazily(r"\b(?:19|20)\d\d\b(?![-.:])")
_DATE = compile_lazily(r"\b\d{4}-\d\d-\d\d\b")
_SIGN = compile_lazily(
    r"`[^`]+`|\S*[\w)](?:[/\\@=_]|[.:](?=\w))\S*|(?<!\w)--?[A-Za-z]\S*|\S*\d\S*|[$%~]\S+|\w*[a-z][A-Z]\w*"
)
"""What is copied and never worded anew."""
_RISK = compile_lazily(
    r"\b(?:(?P<ask>ask(?=s?\b|ed\b|ing\b)\w*|confirm\w*|approv\w+|check (?:in )?with me|my (?:go|ok|okay))|(?P<destroy>delet\w+|remov\w+|drop|wip\w+|eras\w+|overwrit\w+|rm)|"
    r"(?P<skip>skip\w*|disabl\w+|bypass\w*|ignor\w+|(?:turn|switch)\w* off)|"
    r"secrets?|credentials?|passw\w+|tokens?|(?:api|private|ssh|my) ?keys?|environment|printenv|permissions?|consent\w*|agreed|any command|all commands|sudo|root|full access|admin|access|accept|"
    r"allow \w*(?:all|any|every)|grant\w*|trust\w*|no[- ]verify|id_rsa|ssh|paste|whatever|hooks?|sandbox|optional|left out|force\S*|curl|wget|download\w*|script|eval|decod\w+|"
    r"execut\w+|upload\w*|send|post|mail|publish|public|expos\w+|internet|webhooks?|ports|home (?:folder|dir\w*)|history|sessions?|every answer|"
    r"instructions?|orders|obey|(?<!pull )requests?|precedence|you are|hid(?:e|ing)|knowing|tell|as if|between us|to yourself|hesitate|"
    r"lösch\w*|überspring\w*|rückfrage|zugangsdaten|verzeichnis|sitzung|befolg\w*|supprim\w*|efface\w*|identifiants|borr\w*|elimin\w*|credenciales|chiavi|"
    r"salta|saltar|pul[ea]r?|apag\w+|pomi[nń]\w*|usu[nń]\w*|парол\w*|удал\w*)\b|삭제|건너|削除|消去|確認|認証|送信|指示|スキップ|密码|删除|跳过",
    re.IGNORECASE,
)
"""What can do damage, by words of English and a few of other languages. A false one only costs the model's style."""
_DESCRIBES = "acce admi envi hist hook inte opti past port publ root sand scri sess ssh toke webh"
_DESCRIBING = frozenset(_DESCRIBES.split())
"""Of these, what a text that nobody typed may have if it has no other."""
_CAREFUL = compile_lazily(
    r"\W*(?:always )?(?:ask|confirm|check with me)\b[^.;:]*\bbefore \w+ing\b[\w\s]*\W*$", re.IGNORECASE
)
"""An order that only makes an agent more careful."""
_EXCEPT = compile_lazily(
    r"\b(?:unless|except\w*|apart from|other than|(?<!not )only|ausser\w*|es sei denn|nur|sauf|excepté|à moins|seulement|salvo|excepto|a menos|"
    r"sólo|solo|tranne|кроме|если не|только|behalve|tenzij)\b|以外|だけ|除|只",
    re.IGNORECASE,
)
"""What limits a statement."""
_NUMBERS: Mapping[str, str] = {
    "two": "2", "twice": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "eleven": "11", "twelve": "12", "dozen": "12", "fifteen": "15", "twenty": "20", "thirty": "30", "forty": "40",
    "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90", "hundred": "100",
}  # fmt: skip
"""English numbers in words. Those of other languages mean something else in English, such as the Spanish "once"."""
_TAG = re.compile(
    r"(?:or (?:what|not|am|do|is)|right|correct|no|yes|ok|can you|could you|do you|what do you|is(?:n't| it)|does(?:n't| it))\b"
)
"""How a question begins that is put behind a statement."""
_ASKS = re.compile(
    r"(?:so |and |but |hmm |¿)*(?:what|why|how|when|where|who|which|should|shall|can|could|would|will|do|does|did|is|are|am|may|¿)"
)
_DEPENDS = compile_lazily(
    r"^\W*(?:(?:no|all good|looks? good|lgtm|great|nice|perfect|cool|thanks|fine|sure|well)[.,!;:]|nope|and|but|ok|okay|yes|yeah|yep|so|or|it|its|it's|this|that|that's|these|those|they|them|he|she|we'll|same|also|then|"
    r"und|aber|nein|ne|nee|ja|das|dies\w*|es|er|sie|et|mais|non|oui|c'est|ça|cela|il|elle|y|pero|sí|eso|esto|ese|esta?|и|но|нет|да|это)(?!\w)",
    re.IGNORECASE,
)
"""How a sentence begins that leans on what was said before it."""


class Worded(Struct, frozen=True):
    """A text that may be stored."""

    text: str
    words: str
    """The sentence that it was made of."""
    by: Literal["model", "person"]
    """Whose wording it is. A person's raw sentence waits first where others can read it."""


class Sources(Struct, frozen=True):
    """What a line, a value or a lesson was made of."""

    texts: tuple[str, ...]
    """Facts that were made of typed words, or messages."""
    context: tuple[str, ...] = ()
    """What explains them. Its words count, and its negations do not."""
    at: float | None = None
    """When they were typed, for dates: seconds since 1970, UTC."""


class Refused(Struct, frozen=True):
    reason: str
    """A clause for a person."""
    waits: bool = False
    """True: a person decides about it."""


def find_quote(quote: str, message: str) -> str | None:
    """Return the sentences of a message that contain the quoted words; None if they are not in it.

    What is quoted in the message itself (fences, lines that begin with `>`) was not typed, and is not searched.
    """
    typed = _SPACES.sub(" ", unicodedata.normalize("NFC", drop_quotes(message)))
    typed = typed.replace(" \n", "\n").replace("\n ", "\n")
    plain = fold_text(typed)
    # Folding keeps almost every character in its place; where it does not, the folded words are as good.
    typed = typed if len(typed) == len(plain) else plain
    plain, wanted = plain.replace("\n", " "), " ".join(fold_text(quote).split()).strip(" \"'.…")
    if not wanted:
        return None
    at = plain.find(wanted)
    end = at + len(wanted)
    if at < 0:
        # A shorter message would be looked up in the quote: "k" is in almost every one.
        if len(wanted) < _SHORT or len(plain) * 100 < len(wanted) * _CLOSE:
            return None
        from rapidfuzz import fuzz  # imported at the first use: most commands look up no quote

        found = fuzz.partial_ratio_alignment(wanted, plain, score_cutoff=_CLOSE)
        if found is None:
            return None
        at, end = found.dest_start, found.dest_end
    cuts = [0, *(found.end() for found in _SENTENCE_END.finditer(typed)), len(typed)]
    begins, ends = max(cut for cut in cuts if cut <= at), min(cut for cut in cuts if cut >= end)
    return strip_marks(typed[begins:ends])


def word_fact(
    fact: str,
    quote: str,
    message: str,
    context: Sequence[str] = (),
    at: float | None = None,
    is_beside_tool: bool = False,
) -> Worded | Refused:
    """Return how a fact is stored, given the words that the model quotes for it and the message that has them.

    `context`: the end of the assistant's turn that the message answers, and names that a fact may have too, such as the folders
    of the session. `at`: when the message was typed, seconds since 1970, UTC. `is_beside_tool`: whether the message is recorded
    beside a tool's result, which may have words of the tool's; what can do damage then waits.
    """
    sentence = find_quote(quote, message)
    if sentence is None:
        return Refused("its words are not in the message")
    if is_beside_tool and (risks := _risks(f"{fact} {sentence}")):
        return Refused(f"it is about “{risks[min(risks)]}”, and a tool may have written it", waits=True)
    added = (
        _find_addition(fact, sentence, context, at)
        or _find_contrary(fact, sentence, is_strict=True)
        or ("" if forbids(fact) else _find_exception_lost(fact, sentence))
        or _find_reversal(fact, sentence)
    )
    if not added:
        return Worded(fact, sentence, "model")
    own = strip_answer(sentence)
    if len(own) <= FACT_LIMIT and stands_alone(own):
        return Worded(own, sentence, "person")
    return Refused(added, waits=True)


def word_line(line: str, sources: Sources) -> Refused | None:
    """Return why a text says more than the facts or messages that it was made of; None if it does not.

    A text that was made of several may have another number of negations than they have together.
    """
    source = ". ".join(sources.texts)
    added = _find_addition(line, source, sources.context, sources.at)
    added = added or _find_contrary(line, source, is_strict=len(sources.texts) == 1)
    if not added and len(sources.texts) == 1:
        added = _find_reversal(line, source)
    return Refused(added, waits=True) if added else None


def find_loss(line: str, source: str, at: float | None = None, others: Sequence[str] = ()) -> Refused | None:
    """Return what a line leaves out of the one fact that it is made of: a number or a name, or an exception; None if it does not.

    What stands behind a negation may go: "5 minutes, not 15 any more" is "5 minutes". `at`: see `Sources`.
    `others`: further lines that the fact was divided into; what is in one of them is not left out.
    """
    squashed, rest = _squash(" ".join((line, *others))), _without_dates(source, at)
    for part in list_negated(plain_text(rest)):
        rest = re.sub(re.escape(part), " ", rest, flags=re.IGNORECASE)
    lost = [sign for sign in _signs(rest) if _squash(sign) not in squashed]
    if lost:
        return Refused(f"it leaves out {lost[0].strip('`.,;:()')}")
    loss = _find_exception_lost(line, source)
    return Refused(loss) if loss else None


def word_value(value: str, sources: Sources) -> Refused | None:
    """Return why no single one of the sources supports a value; None if one does."""
    found = [word_line(value, Sources((text,), sources.context, sources.at)) for text in sources.texts]
    return None if None in found else next(iter(found), Refused("nobody said it"))


def find_unknown_names(value: str, sources: Sources) -> Refused | None:
    """Return which names in a value were not typed, such as those of "VS Code, helix"; None if all were."""
    source = " ".join((*sources.texts, *sources.context))
    squashed, words = _squash(source), WORD.findall(plain_text(source))
    names = (name for name in _NAME_END.split(value) if _squash(name) not in squashed)
    for word in (word for name in names for word in name.split()):
        is_known = _squash(word) in squashed or plain_text(word) in STOP_WORDS or _completes(word, words)
        if not is_known:
            return Refused(f"nobody mentioned {word}")
    return None


def share_subject(one: str, other: str) -> bool:
    """Whether two lines are about the same: a name or a word with a meaning is in both."""
    if CJK.search(one) and CJK.search(other):
        return bool(_pairs(one) & _pairs(other))
    theirs = list_stems(other)
    return any(match_stems(word, each) for word in list_stems(one) for each in theirs)


def stands_alone(sentence: str) -> bool:
    """Whether a sentence is understood without what was said before it."""
    plain = plain_text(sentence)
    if plain.endswith(("?", "？")) or _DEPENDS.match(plain):
        return False
    if CJK.search(plain):
        return len(_pairs(plain)) > _ALONE
    return len(list_stems(_without_signs(plain))) + len(_signs(plain)) >= _ALONE


def judge_text(text: str) -> Refused | None:
    """Return why a text for which no typed words are known waits for a person; None if it may be stored.

    That is what another program or an agent wrote, most of it descriptions of programs: "the session blocks" alone is none.
    """
    if _CAREFUL.match(text):
        return None
    negated = find_negated(text)
    # "Do not skip the checklist" is careful, "do not ask" is not.
    risks = {key: word for key, word in _risks(text).items() if key == "ask" or word[:STEM] not in negated}
    orders = risks.keys() - _DESCRIBING if len(risks) == 1 else risks.keys()
    return Refused(f"it is about “{risks[min(orders)]}”, which was not typed", waits=True) if orders else None


def has_risk(text: str) -> bool:
    """Whether a text has a word of what can do damage."""
    return bool(_risks(text))


def _find_addition(text: str, source: str, context: Sequence[str], at: float | None) -> str:
    everything = " ".join((source, *context))
    words = WORD.findall(plain_text(everything))
    squashed = " ".join((_squash(everything), *(_NUMBERS[word] for word in words if word in _NUMBERS)))
    for sign in _signs(_without_dates(text, at)):
        if _squash(sign) not in squashed and not _completes(sign, words):
            return f"nobody mentioned {sign.strip('`.,;:()')}"
    risks = _risks(text)
    if new := risks.keys() - _risks(everything).keys():
        return f"it is about “{risks[min(new)]}”, which was not typed"
    # What the assistant proposed is no order of the person's.
    if risks and not _count_shared(text, source, is_checked=False)[0]:
        return f"it is about “{risks[min(risks)]}”, which only the assistant mentioned"
    shared, number = _count_shared(text, everything, is_checked=True)
    if shared * _SHARE < number:
        return "most of its words were not typed"
    # A label, as of "Package manager: uv", and a reason may be the model's words. What is to be done is not.
    for part in _PARTS.split(_REASON.split(text, maxsplit=1)[0]):
        if _ACT.search(part) and not _count_shared(part, everything, is_checked=True)[0]:
            return f"nobody mentioned “{part.strip()}”"
    return ""


def _find_contrary(text: str, source: str, *, is_strict: bool) -> str:
    contrary = "it forbids what was asked for, or asks for what was forbidden"
    if reverses(text, source) or demands_forbidden(text, source) or demands_forbidden(source, text):
        return contrary
    if is_onesided(text, source, is_strict=is_strict):
        return contrary
    if not _risks(text):
        return ""
    own, theirs = count_negations(text), count_negations(source)
    apart = own[0] > theirs[1] or theirs[0] > own[1] or (own[0] > 0 and theirs[0] == 0)
    if apart if is_strict else bool(own[1]) != bool(theirs[1]):
        return contrary
    return "it was asked, not said" if _is_question(source) else ""


def _find_reversal(text: str, source: str) -> str:
    """Whether a text puts the words of one sentence in another order, or may do so, as a clause for a person; "" if it does not."""
    if turns_round(text, source):
        return "it turns the words round"
    return "a reversal would not be recognised in its language" if hides_reversal(text, source) else ""


def _find_exception_lost(text: str, source: str) -> str:
    exceptions = len(_EXCEPT.findall(plain_text(source))) - len(_EXCEPT.findall(plain_text(text)))
    return "it leaves out an exception" if exceptions > 0 else ""


def _is_question(source: str) -> bool:
    """Whether a sentence asks. One that only ends in a question, "there is no service, or what do I miss?", says what stands before."""
    plain = plain_text(source)
    if not plain.endswith(("?", "？")):
        return False
    said, comma, asked = plain.rpartition(", ")
    return not (comma and _TAG.match(asked) and not _ASKS.match(said) and len(list_stems(said)) >= _ALONE)


def _squash(text: str) -> str:
    return re.sub(r"[\W_]+", "", plain_text(text))


def _split_sign(sign: str) -> list[str]:
    """A command and a path by their parts, so that "login.py in src/auth" supports `src/auth/login.py`."""
    return [part for part in re.split(r"[\s/]+|<\w+>", sign.strip("`")) if _squash(part)]


def _signs(text: str) -> list[str]:
    """What must be in the source as it is."""
    parts = (part for sign in _SIGN.findall(CJK_RUN.sub(" ", text)) for part in _split_sign(sign))
    return [part for part in parts if not _PLAIN_WORD.fullmatch(part)]


def _without_signs(text: str) -> str:
    return _SIGN.sub(lambda sign: " ".join(filter(_PLAIN_WORD.fullmatch, _split_sign(sign[0]))), text)


def _completes(sign: str, words: Iterable[str]) -> bool:
    """Whether a name is a typed word written out: "Node.js" for "node", "PostgreSQL" for "postgres", "TypeScript" for "ts"."""
    plain = _squash(sign)
    initials = "".join(char for char in sign if char.isupper()).casefold()
    return plain.isalpha() and any(
        word == initials or (len(word) > 2 and plain.startswith(word) and len(plain) - len(word) <= _ENDING)
        for word in words
    )


def _without_dates(text: str, at: float | None) -> str:
    """The text without dates near the day of its message, and without the years around it."""
    if at is None:
        return text
    day = datetime.fromtimestamp(at, UTC)

    def cut(found: re.Match[str]) -> str:
        try:
            date = datetime.fromisoformat(found[0]).replace(tzinfo=UTC)
        except ValueError:
            return found[0]
        return "" if abs(date - day) <= timedelta(days=_DATE_DAYS) else found[0]

    return _YEAR.sub(lambda year: "" if abs(int(year[0]) - day.year) <= 1 else year[0], _DATE.sub(cut, text))


def _risks(text: str) -> dict[str, str]:
    """What in a text can do damage: its words, by a group of equal words or the beginning of the word."""
    return {found.lastgroup or found[0][:4]: found[0] for found in _RISK.finditer(plain_text(text))}


@lru_cache(maxsize=2048)
def _pairs(text: str) -> frozenset[str]:
    runs = CJK_RUN.findall(plain_text(text))
    return frozenset(run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1)))


def _count_shared(text: str, source: str, *, is_checked: bool) -> tuple[int, int]:
    """How many of a text's words are in its source, and how many it has. A sign is a word too. `is_checked`: all signs are in it."""
    if CJK.search(text):
        own = _pairs(text)
        return len(own & _pairs(source)), len(own)
    own, theirs, squashed = list_stems(_without_signs(text)), list_stems(source), _squash(source)
    signs = _signs(text)
    copied = sum(is_checked or _squash(sign) in squashed for sign in signs)
    shared = sum(any(match_stems(word, other) for other in theirs) for word in own)
    return copied + shared, len(signs) + len(own)
