"""Whether a message can only mean "yes, go on", so that a batch of such messages is not put to the model. Pure.

A message counts only if it is exactly one of these words, or a slash command without arguments, and if the assistant had
asked nothing: "yes" to "Tabs or spaces, always tabs?" is a preference. The length of a message never decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacitd.events import Prompt
from tacitd_handlers.shared.text_parts import compose_text

_WORDS = {
    "en": """yes; y; yep; yeah; yup; ok; okay; k; sure; go; go on; go ahead; continue; please continue; proceed;
        please proceed; do it; do that; please do; thanks; thank you; thx; ty; lgtm; looks good; sounds good; great;
        perfect; nice; cool; good; fine; all good; done; next""",
    "de": """ja; jo; jep; ja bitte; bitte; gut; ok danke; passt; weiter; mach weiter; mach das; mach; los; danke; genau; super;
        perfekt; alles klar; in ordnung; klar; gerne; einverstanden""",
    "es": """sí; si; vale; claro; de acuerdo; adelante; sigue; continúa; hazlo; gracias; perfecto; bien; muy bien; dale;
        listo; por favor""",
    "fr": "oui; d'accord; vas-y; continue; merci; parfait; très bien; c'est bon; allez",
    "it": "sì; va bene; procedi; continua; vai; grazie; perfetto; bene; certo",
    "pt": "sim; tá; tá bom; certo; pode; pode continuar; continua; continue; obrigado; obrigada; perfeito; beleza",
    "nl": "ja; oké; prima; ga door; doe maar; dank je; bedankt; goed; perfect",
    "ja": "はい; うん; ええ; お願いします; お願い; 続けて; 続けてください; ありがとう; ありがとうございます; 了解; 了解です; いいね; いいです",
    "zh": "好; 好的; 是; 是的; 对; 可以; 行; 继续; 请继续; 谢谢; 嗯; 没问题",
    "ko": "네; 예; 응; 좋아; 좋아요; 계속; 계속해; 고마워; 고마워요; 감사합니다",
    "ru": "да; ок; хорошо; продолжай; давай; спасибо; отлично",
}
_ASSENTS = frozenset(
    compose_text(" ".join(one.split())).casefold() for words in _WORDS.values() for one in words.split(";")
)
_SIGNS = " \t\r\n.,!…。！、👍🙏✅"
_COMMAND = re.compile(r"/[\w:-]+")
_QUESTION = re.compile(r"[?？؟]")


def has_nothing_to_learn(prompts: Iterable[Prompt]) -> bool:
    """Return whether every prompt is an assent or a slash command without arguments, and none answers a question."""
    return all(_is_assent(prompt) for prompt in prompts)


def _is_assent(prompt: Prompt) -> bool:
    if prompt.kind in ("answers", "reject-words") or _QUESTION.search(prompt.context):
        return False
    text = prompt.text.strip()
    words = " ".join(compose_text(text).casefold().strip(_SIGNS).split())
    return words in _ASSENTS or _COMMAND.fullmatch(text) is not None
