"""Which lines protect data: they forbid to destroy, change or disclose something, or ask for a confirmation first. Pure.

Such a line is shown first, is never moved to the archive, and is replaced only by a line of its own file. A line that is
taken for one without being one is only kept longer, so the words are wide. Languages: those of `word_stems.JUDGED`.
"""

from __future__ import annotations

import re

from tacitd_handlers.shared.dangerous_kinds import split_clauses

_FORBIDS = re.compile(
    r"\b(?:never|not|cannot|no|nothing|nobody|without|avoid|forbid\w*|forbidden|prohibit\w*|off-limits|read-only|out of|must ask|ask (?:\w+ ){0,3}(?:before|first)|"
    r"confirm\w* (?:\w+ ){0,3}(?:before|first)|(?:backup|back up|dump) .{0,60}\bbefore|(?:first|always) (?:back up|backup)|"
    r"nicht|nie|niemals|kein\w*|ohne|verboten|vermeid\w*|tabu|(?:frag\w*|bestätig\w*|sicher\w*) .{0,60}\b(?:bevor|vor|vorher)|"
    r"pas|jamais|sans|aucune?|interdi\w*|éviter?|(?:demand\w*|confirm\w*|sauvegard\w*) .{0,60}\bavant|"
    r"nunca|jamás|no|sin|prohibi\w*|evit\w*|(?:pregunt\w*|confirm\w*|respald\w*) .{0,60}\bantes)\b|n't\b|"
    r"ない|ません|禁止|せず|ずに|前に.{0,10}(?:確認|バックアップ)|(?:確認|バックアップ).{0,10}(?:から|前)"
)
_DATA = re.compile(
    r"\b(?:delet\w*|drop\w*|truncat\w*|wip\w*|purg\w*|eras\w*|destroy\w*|overwrit\w*|discard\w*|force[- ]?push\w*|rewrit\w* history|reset --hard|"
    r"--hard|--force|rm -\w+|mkfs|prod|production|live (?:data\w*|system\w*|db)|backups?|migrations?|customer\w*|personal data|pii|secrets?|"
    r"passwords?|credentials?|tokens?|api keys?|private keys?|e-?mail addresses|patient\w*|payment data|"
    r"lösch\w*|überschreib\w*|verwerf\w*|produktion\w*|produktiv\w*|kundendaten|sicherungen|backups?|geheimnis\w*|passw[oö]rt\w*|zugangsdaten|"
    r"personenbezogen\w*|supprim\w*|efface\w*|écras\w*|base de données|données|sauvegardes?|mots? de passe|secrets?|identifiants|"
    r"borr\w*|elimin\w*|sobrescrib\w*|producción|base de datos|datos|copias de seguridad|contraseñas?|credenciales)\b|"
    r"\.env\b|削除|消去|消し|上書き|本番|データベース|個人情報|顧客|パスワード|秘密|バックアップ|マイグレーション"
)


def guards_data(line: str) -> bool:
    """Whether a clause of the line forbids something that can lose or disclose data: "never drop tables in production"."""
    return any(_FORBIDS.search(clause) and _DATA.search(clause) for clause in split_clauses(line))
