"""Which lines protect data: they forbid to destroy, change or disclose something, or ask for a confirmation first. Pure.

Such a line is shown first, is never moved to the archive, and is replaced only by a line of its own file. A line that is
taken for one without being one is only kept longer, so the words are wide. Languages: those of `word_stems.JUDGED`,
Italian, Portuguese, Russian and Chinese.
"""

from __future__ import annotations

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.dangerous_kinds import split_clauses
from tacitd_handlers.shared.word_stems import content_stems, language_of

_FORBIDS = compile_lazily(
    r"\b(?:never|not|cannot|no|nothing|nobody|without|avoid|forbid\w*|forbidden|prohibit\w*|off-limits|read-only|out of|must ask|ask (?:\w+ ){0,3}(?:before|first)|"
    r"confirm\w* (?:\w+ ){0,3}(?:before|first)|(?:backups?|back up|dump) .{0,60}\bbefore|only (?:after|with|once|if|when)|only \w+ (?:may|can)|leave .{0,60}\b(?:alone|untouched|as is|intact)|append-only|immutable|(?:first|always) (?:back up|backup)|"
    r"nicht|nie|niemals|kein\w*|ohne|verboten|vermeid\w*|tabu|(?:frag\w*|bestätig\w*|sicher\w*) .{0,60}\b(?:bevor|vor|vorher)|"
    r"pas|jamais|sans|aucune?|interdi\w*|éviter?|(?:demand\w*|confirm\w*|sauvegard\w*) .{0,60}\bavant|"
    r"nunca|jamás|no|sin|prohibi\w*|evit\w*|(?:pregunt\w*|confirm\w*|respald\w*) .{0,60}\bantes|"
    r"non|mai|senza|nessun\w*|vietat\w*|proibit\w*|(?:chied\w*|conferm\w*|backup) .{0,60}\bprima|"
    r"não|nao|sem|nenhum\w*|proibid\w*|(?:pergunt\w*|backup) .{0,60}\bantes|"
    r"не|никогда|нельзя|без|запрещ\w*|(?:спрос\w*|спраш\w*|подтвер\w*|бэкап\w*|копи\w*) .{0,60}\b(?:прежде|перед|до))\b|n't\b|"
    r"不要(?!な)|不得|不能|不可|不准|不许|勿|别|严禁|绝不|只读|(?:备份|确认|询问|问我).{0,10}(?:再|后)|前.{0,10}(?:备份|确认|询问|问我)|"
    r"ない|ません|禁止|せず|ずに|前に.{0,10}(?:確認|バックアップ)|(?:確認|バックアップ).{0,10}(?:から|前)"
)
_DATA = compile_lazily(
    r"\b(?:delet\w*|drop\w*|truncat\w*|wip\w*|purg\w*|eras\w*|destroy\w*|overwrit\w*|discard\w*|force[- ]?push\w*|rewrit\w* history|reset --hard|"
    r"--hard|--force|rm -\w+|mkfs|prod|production|live (?:data\w*|system\w*|db)|backups?|migrations?|customer\w*|personal data|pii|secrets?|"
    r"passwords?|credentials?|tokens?|api keys?|private keys?|e-?mail addresses|patient\w*|payment data|"
    r"lösch\w*|überschreib\w*|verwerf\w*|produktion\w*|produktiv\w*|kundendaten|sicherungen|backups?|geheimnis\w*|passw[oö]rt\w*|zugangsdaten|"
    r"personenbezogen\w*|supprim\w*|efface\w*|écras\w*|base de données|données|sauvegardes?|mots? de passe|secrets?|identifiants|"
    r"borr\w*|elimin\w*|sobrescrib\w*|producción|base de datos|datos|copias de seguridad|contraseñas?|credenciales|"
    r"git clean|clean -\w+|(?:audit|event) (?:logs?|trails?|store)|ledgers?|"
    r"(?:touch|alter|modif|chang|edit|leav|renam|mov)\w* .{0,40}\b(?:data|tables?|databases?|db|schemas?|buckets?|records|rows|uploads?|volumes?)|"
    r"cancell\w*|sovrascriv\w*|svuota\w*|produzione|dati|migrazion\w*|segret[io]|credenziali|"
    r"apag\w*|exclu(?:a|ir|i)|sobrescrev\w*|produção|dados|migraç\w*|senhas?|segredos?|credenciais|"
    r"удал\w*|стир\w*|сотр\w*|перезапис\w*|очищ\w*|баз[ауыеой]* данных|данны\w*|продакшн\w*|продакшен\w*|миграци\w*|бэкап\w*|парол\w*|секрет\w*)\b|"
    r"删除|删掉|清空|覆盖|销毁|生产|数据|备份|迁移|密码|密钥|凭证|隐私|"
    r"\.env\b|削除|消去|消し|上書き|本番|データベース|個人情報|顧客|パスワード|秘密|バックアップ|マイグレーション"
)


def guards_data(line: str) -> bool:
    """Whether a clause of the line forbids something that can lose or disclose data: "never drop tables in production"."""
    return any(_guarding_clauses(line))


def may_be_replaced(line: str, new: str) -> bool:
    """Whether a new line may take the place of a line of ours (SPEC S-26).

    A line that guards data makes way only for another one, or for a line with its verb and one more of its words: "drop
    tables in production with make drop" takes back "never drop tables in production", "use tables" does not.
    """
    clauses = _guarding_clauses(line)
    if not clauses or guards_data(new):
        return True
    language = language_of(line)
    said = content_stems(new.casefold(), language)
    for clause in clauses:
        stems = content_stems(clause, language)
        forbids = _FORBIDS.search(clause)
        after = clause[forbids.end() :] if forbids else ""
        verb = next((found for word in after.split() if (found := content_stems(word, language))), stems)
        if verb & said and len(stems & said) > 1:
            return True
    return False


def _guarding_clauses(line: str) -> list[str]:
    return [one for one in split_clauses(line) if _FORBIDS.search(one) and _DATA.search(one)]
