"""Whether a message can only mean "yes, go on", so that a batch of such messages is not put to the model. Pure.

A message counts only if it is exactly one of these words, or a slash command without arguments, and if the assistant had
asked nothing: "yes" to "Tabs or spaces, always tabs?" is a preference. The length of a message never decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tacitd.events import Prompt
from tacitd.text.lazy_pattern import compile_lazily
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
_COMMAND = compile_lazily(r"/[\w:-]+")
_QUESTION = compile_lazily(
    r"[?？؟]|\b(?:y|yes|j|ja|s|sí|sì|o|oui|sim|да|д)\s*/\s*(?:n|no|nein|nee|non|não|нет|н)\b|^\s*\(?a[.)]\s|"
    r"\b(?:let me know|tell me|confirm|which|whether|prefer|choose|choice|pick|options?|should i|shall i|may i|do you|would you|want me to|"
    r"if you (?:want|like|wish|agree)|if you[’']d|up to you|your call|say|reply|answer)\b|"
    r"\b(?:sag\w*|bescheid|welche\w*|möchtest|möchten sie|willst|wollen sie|soll ich|sollen wir|bevorzug\w*|lieber|wähl\w*|optionen|option|bestätig\w*|lass\w* mich wissen)\b|"
    r"\b(?:dime|dígame|avísame|avisa|hazme saber|prefier\w*|quier[ea]s?|cuál\w*|elig\w*|elija|opci\w*|confirm\w*)\b|"
    r"\b(?:di(?:s|tes)[- ]moi|fai(?:s|tes)[- ]moi savoir|préf\w*|veux|voulez|souhait\w*|quel\w*|lequel|laquelle|chois\w*|dois-je|est-ce que)\b|"
    r"\b(?:dimmi|mi dica|fammi sapere|prefer\w*|vuoi|vuole|quale|scegl\w*|opzion\w*|conferma\w*)\b|"
    r"\b(?:diga|diz|me avis\w*|avise|deixe-me saber|quer|queres|qual|quais|escolh\w*|opç\w*)\b|"
    r"\b(?:laat \w+ weten|vertel\w*|zeg\w*|wil je|wilt u|welke?|voorkeur|liever|kies\w*|optie\w*|zal ik|moet ik|bevestig\w*)\b|"
    r"\b(?:ли|скаж\w*|сообщ\w*|дай(?:те)? знать|выб(?:е|и)р\w*|как(?:ой|ая|ое|ие|ую)|предпоч\w*|хотите|хочешь|подтверд\w*|вариант\w*)\b|"
    r"か[なねよ]?(?=[\s。．.、,!！)）」』]|$)|でしょう|教えて|選んで|選択|どちら|どれ|確認して|"
    r"[吗嗎呢吧么麼](?=[\s。．.，,!！;；)）]|$)|告诉我|告訴我|选择|選擇|哪|是否|要不要|还是|還是|确认|"
    r"(?:까요?|나요|가요|래요?|니|냐)(?=[\s。.,!)]|$)|알려|말씀|선택|어느|어떤",
    re.MULTILINE,
)
"""What a question contains, in the languages of the assents, also without a question mark. It is wide: a batch that is
taken for an answer without being one is only sent."""


def has_nothing_to_learn(prompts: Iterable[Prompt]) -> bool:
    """Return whether every prompt is an assent or a slash command without arguments, and none answers a question."""
    return all(_is_assent(prompt) for prompt in prompts)


def _is_question(context: str) -> bool:
    return _QUESTION.search(compose_text(context).casefold()) is not None


def _is_assent(prompt: Prompt) -> bool:
    if prompt.kind in ("answers", "reject-words") or _is_question(prompt.context):
        return False
    text = prompt.text.strip()
    words = " ".join(compose_text(text).casefold().strip(_SIGNS).split())
    return words in _ASSENTS or _COMMAND.fullmatch(text) is not None
