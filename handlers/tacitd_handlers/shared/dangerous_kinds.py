"""Kinds of sentences that are dangerous as an instruction, and which of their words make them so.

A sentence that a session loads can make an agent read credentials, skip a check or follow the orders of others. Such a sentence is
not refused, because people do write "skip the hooks on a draft branch". Its words must have been typed, which
`grounding` checks (SPEC S-67).

A clause counts by its polarity: "skip the hooks" is dangerous, "never skip the hooks" is not; "delete the branch" is,
"never delete the branch" is not. Languages: those of `word_stems.JUDGED`. A pattern is searched in the folded clause. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from tacitd.text.lazy_pattern import compile_lazily
from tacitd_handlers.shared.text_parts import compose_text

Scope = Literal["clause", "to the end", "to the start"]
"""Which negations count: those of the whole clause, those up to the trigger's last word, or those before its first."""


class Danger(Struct, frozen=True):
    """A dangerous clause."""

    kind: str
    """What it is about, as a noun phrase for a message."""
    trigger: str
    """The words that make it dangerous."""
    odd: bool
    """Whether an odd number of negations governs the trigger. The typed words must agree with it."""
    scope: Scope
    """Which negations of the clause govern the trigger."""


_ASKING = (
    r"(?:\bask(?:s|ed|ing)?\b|confirm\w*|permission|approv\w*|prompt(?:s|ed|ing)?\b|consent|sign-?off|check(?:ing)? (?:in )?with"
    r"|(?:tell|inform|notify|warn|show|mention)\w* (?:it |this |that )?(?:to )?(?:the user|anyone|anybody|me|him|her|the person|the developer)"
    r"|wait(?:ing)? for (?:the |an? |my |any )?(?:answer|user|ok\b|reply|go)"
    r"|frag\w*|bestätig\w*|rückfrage\w*|nachfrag\w*|zustimmung|erlaubnis|demander|confirmation|autorisation|preguntar\w*|confirmar\w*|permiso"
    r"|確認|許可|承認|尋ね|聞か)"
)
_CHECKED = (
    r"(?:checks?\b|hooks?\b|pre-?commit|pre-?push|tests?\b|lint\w*|\bci\b|verif\w*|validat\w*|safety|security|sandbox\w*|guard\w*"
    r"|reviews?\b|signatures?|signing|gpg|certificate\w*|tls\b|ssl\b|auth\b|authenti\w*|authori[sz]\w*|type-?check\w*|scans?\b|audits?|firewall|antivirus|protections?"
    r"|prüfung\w*|sicherheit\w*|überprüf\w*|vérification\w*|contrôles?|sécurité|verificaci\w*|comprobaci\w*|pruebas?\b|seguridad"
    r"|チェック|フック|検証|テスト|セキュリティ)"
)
_SKIPPING = (
    r"(?:skip\w*|disabl\w*|bypass\w*|ignor\w*|turn\w* off|switch\w* off|circumvent\w*|suppress\w*|omit\w*|deactivat\w*"
    r"|(?:not|never|n't|without|no longer) (?:\w+ )?(?:run|use|enable|requir|need|execut|perform|wait|do|writ|add|creat|includ)\w*|\bnever (?=tests?\b|hooks\b|checks\b|reviews?\b|lint)|without (?:any |the |a |\w+ )?(?=\w+)|\bno (?:\w+ )?(?=\w+)"
    r"|überspring\w*|deaktivier\w*|umgeh\w*|ohne|abschalt\w*|ausschalt\w*|désactiv\w*|saute[rz]?\b|contourn\w*|sans|desactiv\w*|omit\w*|salt\w*|sin\b"
    r"|スキップ|無効|省略|無視|回避|せずに|なしで)"
)
_SECRET = (
    r"(?:credentials?\b|passwords?\b|passphrases?\b|secrets?\b|api[ _-]?keys?\b|(?:access|auth\w*|bearer|session|refresh|login|api) ?tokens?\b"
    r"|(?:private|ssh|access|secret|signing) ?keys?\b|\.env\b"
    r"|wallets?\b|system prompts?\b"
    r"|zugangsdaten|passw[oö]rt\w*|kennw[oö]rt\w*|geheimnis\w*|schlüssel\w*|identifiants?\b|mots? de passe|clés? (?:privées?|api|ssh|secrètes?)"
    r"|credenciales|contraseñas?|claves? (?:privadas?|api|ssh|secretas?)|apiキー|認証情報|パスワード|秘密|鍵|トークン)"
)
_SECRET_PLACE = r"\bid_(?:rsa|ed25519|ecdsa)\b|\.ssh\b|\.aws\b|\.netrc\b|\.pgpass\b|\.npmrc\b|\bkeychain\b|\bkeyring\b|/etc/(?:passwd|shadow)|seed phrases?"
_HANDLING = (
    r"(?:\b(?:read|open|print|send|sent|show|cop(?:y|ie)|paste|post|upload|log|share|forward|includ|append|reveal|output|echo|cat|embed|transmit"
    r"|exfiltrat|report|quot|giv|mail|email|dump|collect|list|expos|commit|put|writ|add|sav|leak|tell|disclos|publish|attach|look(?:ing)? (?:at|up|for|into))\w*"
    r"|\b(?:lies|lese|lesen|sende|schick|zeig|kopier|gib|nenn|ausgeb|ausgib|teile|öffne|hochlad|einfüg|füge)\w*"
    r"|\b(?:lire|lis\b|lisez|envoy|affich|copi|montr|partag|inclu|donne|publi)\w*|\b(?:leer|lee\b|lea\b|envía|envia|muestr|compart|imprim|incluy|publica)\w*"
    r"|読|送|表示|コピー|貼|出力|共有|アップロード|含め|公開|教え)"
)
_SESSION = r"(?:sessions?|conversations?|chats?|sitzung\w*|unterhaltung\w*|gespräch\w*|sesión|sesiones|conversación|セッション|会話)"
_HOME = (
    r"(?:\bhome[ -]?(?:folder|director\w*|dir)\b|\$home\b|\b(?:shell|bash|zsh|command|terminal|browser|browsing) history\b|\b(?:bash|zsh)_history\b|\bprintenv\b"
    r"|\b(?:environment|env) (?:variables?|vars?)\b|\bthe (?:whole |entire |full |process )?environment\b(?! \w+ (?:file|folder))"
    r"|home-?verzeichnis\w*|benutzerverzeichnis\w*|umgebungsvariable\w*|(?:dossier|répertoire) personnel|variables d'environnement|(?:carpeta|directorio) personal"
    r"|variables de entorno|ホームディレクトリ|ホームフォルダ|環境変数|シェルの履歴)"
)
_MOVING = (
    r"(?:\b(?:mirror|sync|rsync|scp|back(?:s|ing)? up|backup|archiv|zip|tar|upload|transfer|stream|stor|import|export|mov|captur|record|pipe|ship)\w*"
    r"|\b(?:spieg|übertrag|sicher|archivier|lade|hänge)\w*|\b(?:télévers|transfér|archiv|sauvegard|joindre|joins)\w*|\b(?:sube|subir|adjunt|transfier|respald)\w*|保存|転送|添付|同期)"
)
_SENDING = (
    r"\b(?:send|sent|cop(?:y|ie)|post|upload|mirror|forward|transmit|transfer|exfiltrat|stream|ship|rsync|scp|sync|mail|email|attach|report|submit|publish"
    r"|sende|schick|kopier|spieg|übertrag|lade|envo[iy]|copi|télévers|transfér|transmet|envía|envia|manda|sube|subir|copia)\w*"
)
_ELSEWHERE = (
    r"(?:\b(?:web-?hooks?|pastebins?|paste (?:site|service)|gists?|endpoints?|buckets?|drop-?box|ftp|third[ -]part(?:y|ies)|outside (?:host|service|party)|external \w+|remote (?:host|machine|server)"
    r"|(?:\w+'s |\w+ )?servers?|serveur|servidor|collector|telegram|discord)\b)"
)
_RESOURCE = (
    r"(?:\b(?:buckets?|repo(?:s|sitor(?:y|ies))?|databases?|servers?|clusters?|storage|dashboards?|backups?|volumes?|registr(?:y|ies)|data|(?:customer|user) lists?"
    r"|datenbank\w*|daten|dépôts?|données|repositorios?|bases? de (?:données|datos)|datos)\b)"
)
_PUBLIC = r"(?:\bpublic\b|\bpublicly\b|\bworld-readable\b|\böffentlich\b|\bpubli(?:cs?|ques?)\b|\bpúblic[oa]s?\b|公開)"
_OPENING = r"\b(?:open|opens|opening|expos(?:e|es|ing)|öffne|ouvr(?:e|ez|ir)|expon(?:er|e)|abr(?:e|ir))\b"
_WRITTEN = (
    r"\b(?:comments?|files?|(?:web)?pages?|web ?sites?|read-?me|documents?|docs|e-?mails?|issues?|tickets?|texts?|web|tool (?:output|results?)|output|results?|source|changelog|todos?"
    r"|kommentare?\w*|dateien?|seiten?|texte?|commentaires?|fichiers?|comentarios|archivos|páginas?)\b"
)
"""Text that nobody typed."""
_SECRECY = "secrecy from the user"
_PEOPLE = r"(?:the )?(?:users?|person|people|developers?|humans?|owners?|team|reviewers?|me|him|her|them|anyone|anybody|nobody|someone|somebody)\b"
_OBEYING = "whom to obey"
_ANSWERING = (
    r"(?:answer\w*|respond\w*|reply\w*|response\w*|repl(?:y|ies)\b|doing anything|anything else|you start|starting (?:any|a|each|every|to|work)|any (?:work|task)"
    r"|(?:each|every|any|new) (?:task|turn|prompt|message|request)|antwort\w*|commencer|démarrer|empezar|comenzar|répon\w*|respond\w*|contest\w*|回答|返答|応答|答え)"
)
_KINDS: tuple[tuple[str, bool, str], ...] = (
    # What it is about; whether an odd number of negations makes it dangerous (otherwise an even one); the pattern.
    ("credentials", False, _SECRET_PLACE),
    (
        "credentials",
        False,
        rf"{_HANDLING}.{{0,60}}(?:{_SECRET}|\btokens?\b|\b(?:environment|env) var\w*)|{_SECRET}.{{0,30}}{_HANDLING}",
    ),
    (
        "permissions",
        False,
        r"\b(?:grant|allow|approve|accept|give|auto-?approve|auto-?accept|erlaube?|gewähre?|autorise[rz]?|accorde[rz]?|concede|permite|permit)\w*\b.{0,40}"
        r"(?:\bpermissions?|\baccess|\btools?\b|\bcommands?|\bbash\b|\bedits?\b|\b(?:tool|access) requests?|\beverything|\brights|zugriff|rechte|accès|droits|acceso|permisos?|outils|commandes)"
        r"|\b(?:grant|give|make)\w*\b.{0,20}\b(?:every(?:one|body)|any(?:one|body)|(?:all|every|each) (?:users?|members?|accounts?))\b.{0,20}\b(?:admin\w*|root|owners?)\b|\broot login\b"
        r"|\bpermissions?\b|\bprivileges?\b|\bsudo\b|\bchmod\b|\b(?:as|be) (?:root|admin\w*)\b|\broot (?:access|rights|user)|\bfull access\b|berechtigung\w*"
        r"|\btrust\w* (?:all|any|every|everything|the (?:user|content|code|input)|this|whatever)|権限|アクセス許可|すべて許可|管理者",
    ),
    ("confirmations", True, _ASKING),
    (
        "confirmations",
        False,
        r"\bauto(?:matically)?[ -]?(?:approv|confirm|accept|merg|push|commit|execut)\w*|\b(?:secretly|covertly|silently|stillschweigend|heimlich|en secret|silencieusement|en secreto|en silencio)\b"
        r"|\bassume (?:yes|consent|approval)|\b(?:approve|merge) (?:all|any|every|each)\b|\byes to all\b|\bhid(?:e|ing) .{0,30}\bfrom (?:the )?(?:user|person|developer|me)\b|勝手に|こっそり|内緒|黙って",
    ),
    (
        _SECRECY,
        True,
        rf"\b(?:mention|disclos|reveal|report|tell|inform|notif|warn|explain|admit|show|say|expos)\w*\b.{{0,50}}?\bto {_PEOPLE}|\b(?:tell|inform|notify|warn)\w* {_PEOPLE}|(?<=without ){_PEOPLE}(?:'s)? (?:knowing|knowledge|noticing)\b"
        r"|\b(?:erwähn|verrat|sag|zeig|meld|bericht)\w*\b.{0,40}\b(?:dem|den) (?:benutzer|nutzer|anwender|entwickler)\w*|\b(?:dem|den) (?:benutzer|nutzer|anwender|entwickler)\w* .{0,40}(?:erwähn|verrat|sag|zeig|meld)\w*"
        r"|\b(?:mentionn|di[rst]|révél|montr)\w*\b.{0,40}\bà (?:l'utilisateur|la personne)|\b(?:mencion|di[gc]|revel|muestr|avis|inform)\w*\b.{0,40}\bal usuario|(?:ユーザー?に).{0,20}(?:言わ|見せ|知らせ|伝え|報告し|話さ)",
    ),
    (
        _SECRECY,
        False,
        rf"\b(?:keep|kept|stays?|remains?|leave)\b.{{0,40}}\b(?:secret|quiet|hidden|confidential)\b.{{0,10}}\b(?:from|to) {_PEOPLE}|\bkeep (?:this|that|it) (?:\w+ )?(?:secret|hidden|quiet|confidential|to yourself)\b|\bbetween us\b|\bconceal\w*|\b(?:lie|lying) to {_PEOPLE}|\bbehind .{{0,12}}\bback\b"
        rf"|\bhid(?:e|es|den|ing) .{{0,40}}\bfrom {_PEOPLE}|\bverheimlich\w*|\bverschweig\w*|\bocult\w+ (?:al?|a la) (?:usuario|persona)\w*|\bcache[rz]? .{{0,40}}\bà (?:l'utilisateur|la personne)|\bunter uns\b|\bentre nous\b|\bentre nosotros\b",
    ),
    (
        "sending something elsewhere",
        False,
        rf"(?:{_HANDLING}|{_MOVING}).{{0,60}}{_HOME}|{_HOME}.{{0,40}}(?:{_SENDING}|\b(?:in|into|to) (?:\w+ )?(?:reports?|logs?|output|fixtures?|issues?|commits?)\b)"
        rf"|{_SENDING}.{{0,60}}\b(?:to|at|with|on|via|through|an|auf|zu|à|au|sur|al?|en)\b.{{0,30}}{_ELSEWHERE}|(?:送信|アップロード|転送).{{0,20}}サーバ|サーバ.{{0,20}}(?:送信|アップロード|転送|送る|送っ)",
    ),
    (
        "making something public",
        False,
        rf"\b(?:mak(?:e|es|ing)|set|turn|switch|mark|flip|mache?|stelle?|rend(?:re|s|ez)?|mets|haz|hacer|pon)\b.{{0,40}}{_RESOURCE}.{{0,20}}{_PUBLIC}"
        rf"|{_OPENING}.{{0,40}}\b(?:to (?:the )?(?:internet|world|web|public|every(?:one|body)|any(?:one|body))|internet|firewalls?|(?:all|any|every|each) ports?|0\.0\.0\.0)\b"
        r"|\b(?:publish\w*|veröffentlich\w*|publie[rz]?|publica\w*)\b.{0,20}\b(?:customers?'?|users?'?|internal|private|personal|kunden\w*|clients?|clientes?)\b.{0,15}(?:data\b|records?\b|lists?\b|daten\b|données|datos)",
    ),
    (
        "checks or hooks",
        False,
        rf"{_CHECKED}.{{0,40}}\b(?:optional\b|left out\b|(?:may|can|could|should|must|is|are|be) (?:be )?(?:dropped|off)\b|facultati\w*|opcional\w*|wegfallen|weggelassen)|\boptional {_CHECKED}"
        rf"|\b(?:accept|allow|tolerate|trust)\w*\b.{{0,20}}\b(?:invalid|expired|self-signed|unsigned|broken|wrong|any|all) (?:\w+ )?(?:packages?|commits?|certificate\w*|tls|ssl|signatures?)",
    ),
    ("checks or hooks", True, rf"{_SKIPPING}.{{0,18}}{_CHECKED}|{_CHECKED}.{{0,20}}(?:{_SKIPPING}|\boff\b|aus\b)"),
    (
        "checks or hooks",
        False,
        r"--no-verify\b|--no-gpg-sign\b|--insecure\b|--skip-\w+|--no-check\w*|\bverify ?= ?false\b|tls_reject_unauthorized|stricthostkeychecking|--trusted-host"
        r"|--dangerously-\S+|bypasspermissions|\bhusky ?= ?0\b",
    ),
    (
        "downloading and running",
        False,
        r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-expression|download\w*|fetch(?:es|ed)?|herunterlad\w*|lade\b|télécharg\w*|descarg\w*)\b.{0,120}"
        r"(?:\||\b(?:run|runs|execute\w*|exec|ba?sh|zsh|sh|eval|source|pipe|install\w*|starte\w*|führe|ausführ\w*|exécut\w*|lance[rz]?|ejecut\w*)\b)"
        r"|\b(?:run|execute|install|führe|starte|exécute[rz]?|ejecuta)\w*\b.{0,60}\b(?:from (?:the )?(?:internet|web|url|https?|net)|script (?:at|from)|https?://)"
        r"|\b(?:run|execute)\w*\b.{0,30}\b(?:in|from|of) (?:\w+ )?(?:issues?|tickets?|comments?|e-?mails?|web ?(?:pages?|sites?))\b"
        r"|\b(?:npx|bunx|uvx|pipx)\s+(?:-\S+\s+)*[@\w]|\beval\b|\bbase64\b|\bdecod\w+ (?:and|then|it|this)|ダウンロード.{0,40}実行|をインストール|実行して.{0,20}https?",
    ),
    (
        "deleting",
        False,
        r"\b(?:delet|remov|wip|eras|purg|destroy|drop|truncat|overwrit|discard|lösch|entfern|überschreib|supprim|efface|écras|borr|elimin|sobrescrib)\w*\b.{0,40}"
        r"(?:\bfiles?\b|director(?:y|ies)|\bfolders?\b|\bbranch(?:es)?\b|\bdatabases?\b|\bdb\b|\btables?\b|\bdata\b|\brepo\w*|\bhistory\b|\bbackups?\b|\blogs?\b"
        r"|\beverything\b|\bdisks?\b|\bvolumes?\b|\bcontainers?\b|\bbuckets?\b|\bclusters?\b|\baccounts?\b|\brecords\b|\bhome\b|\ball\b(?! (?:unused|dead))|\.git\b|~|/\*"
        r"|dateien|datei\b|ordner|verzeichnis\w*|datenbank\w*|daten\b|alles|fichiers?|dossiers?|répertoires?|base de données|données|archivos?|carpetas?|ficheros?|base de datos|datos)"
        r"|\brm\s+-\w*[rf]|\bgit (?:reset --hard|clean)|--hard\b|\bforce[- ]?push\w*|--force\b|\bdrop (?:table|database|schema)\b|\bformat the (?:disk|drive)|\bmkfs\b|\bdd if="
        r"|(?:ファイル|フォルダ|ディレクトリ|データ|ブランチ|履歴|全て|すべて).{0,15}(?:削除|消去|消し|上書き)|(?:削除|消去|上書き)",
    ),
    (
        "what to do at the start of a session",
        False,
        rf"\b{_SESSION}(?:'s)?[ -]?(?:start\w*|begin\w*|open\w*|init\w*|launch\w*|beginn\w*|anfang)|\b(?:start|beginning|begin|opening|outset|first message|beginn|anfang|début|inicio|principio|comienzo)\w*\b.{{0,30}}{_SESSION}"
        rf"|\b(?:before|prior to|whenever|when|each time|every time|bevor|vor|avant|antes)\b.{{0,25}}{_ANSWERING}|\b(?:every|each|any|new|jede\w*|neue\w*|chaque|nouvelle|cada|nueva)\b.{{0,10}}{_SESSION}"
        rf"|\b(?:begin|start) (?:every|each|all|any) (?:day|answer|response|reply|message|turn)|\b(?:first|always) (?:thing|action|step) (?:to do|is|in)|{_SESSION}.{{0,10}}(?:開始|始め|冒頭|最初|起動)|(?:毎回|最初に|回答する前|答える前|返答の前|応答の前)",
    ),
    (
        _OBEYING,
        False,
        r"\b(?:obey\w*|follow\w* (?:(?:the )?\w+'s|all|any|every|other|new|hidden|embedded|external|their|its|his|her)\b.{0,20}\b(?:instructions?|commands?|orders?)|compl(?:y|ies) with|take orders|defer to|listen to)\b"
        r"|\b(?:follow|execute|accept|treat|trust|carry out)\w*\b.{0,40}\b(?:instructions?|commands?|orders?)\b.{0,12}\b(?:in|from|of|by|on|at|that|found|within|inside|given|posted|written)\b"
        r"|\b(?:befolge?|folge|gehorche?|suivre|suis|suivez|obéi\w*|obedece\w*|sigue|seguir|siga)\w*\b.{0,40}"
        r"\b(?:instructions?|commands?|orders?|anweisung\w*|befehl\w*|consignes?|ordres?|instrucciones|órdenes|indicaciones)\b"
        r"|\b(?:instructions?|commands?|orders?|anweisungen|befehle) (?:in|from|of|by|within|aus|von|in)\b|\b(?:ignore|disregard|forget|ignoriere?|vergiss|oublie|ignora)\w*\b.{0,30}\b(?:instructions?|rules?|prompts?|guidelines|directives?|anweisungen|regeln|consignes|règles|instrucciones|reglas|user|person|human|developer)\b"
        r"|\byou are (?:now|no longer|an?|the)\b|\b(?:act|behave|respond) as (?:if|an?|the|though)\b|\bpretend\w*|\brole-?play|\bjailbreak\w*|\b(?:new|real|true|only) (?:owner|master|boss|operator|user|administrator)\b"
        rf"|\b(?:treat|regard|consider|count|handle|see)\w*\b.{{0,60}}\bas (?:if|though)\b|\bas (?:if|though) (?:the |a |an )?(?:user|person|human|developer|owner|it|they)\b.{{0,30}}\b(?:typed|said|wrote|asked|ordered|written|came|came from)\b"
        rf"|\b(?:counts?|treat\w*|regard\w*|consider\w*) .{{0,40}}\b(?:typed|said|spoken|written) by\b|\b(?:counts?|counted|treat\w*|regard\w*|consider\w*)\b.{{0,40}}\bas (?:an? |the )?(?:user's|typed|requests?|orders?|instructions?|commands?|authority)\b|\boutrank\w*"
        rf"|\b(?:do|obey|follow|heed|tu|fais|faites|haz)\b.{{0,20}}\b(?:what|whatever|was|ce que|lo que)\b.{{0,20}}{_WRITTEN}.{{0,40}}\b(?:says?|asks?|tells?|wants?|demands?|steht|stehen|sagt|sagen|dit|disent|dice|dicen)\b"
        rf"|{_WRITTEN}.{{0,30}}\b(?:may|can|could|should|must|shall|will) (?:also )?(?:give|change|set|issue|override|order|command|instruct|decide|direct|tell)\b|{_WRITTEN}.{{0,30}}\b(?:are|is) (?:requests?|orders?|instructions?|commands?|binding|authoritative)\b"
        rf"|{_WRITTEN}.{{0,40}}\b(?:must|should|shall) be (?:obeyed|followed|carried out|executed|done)\b"
        r"|\btakes? precedence\b|\bsupersede\w*|\boverrid\w+ (?:all|any|the|every|other|previous)|\bhighest (?:priority|authority)\b|\bnot the user\b|\bdu bist (?:jetzt|nun)\b|\btu es (?:maintenant|désormais)\b|\beres ahora\b"
        r"|指示に従|命令に従|に従って|従いなさい|従う|指示を無視|無視して|(?:human|assistant|system)\s*:",
    ),
)  # fmt: skip
_COMPILED = tuple((kind, odd, compile_lazily(pattern)) for kind, odd, pattern in _KINDS)
_NEGATION = compile_lazily(
    r"\b(?:never|not|cannot|no|none|nothing|nobody|without|neither|nor|avoid\w*|skip\w*|stop\w*|refrain\w*|disabl\w*|bypass\w*|forb[ia]d\w*|forbidden|"
    r"prohibit\w*|ban(?:s|ned)?|disallow\w*|refus\w*|hesitat\w*|forget\w*|fail|fails|neglect\w*|omit\w*|ignor\w*|prevent\w*|reject\w*|dislikes?|hates?|against|"
    r"suppress\w*|circumvent\w*|off|deactivat\w*|unless|except|w/o|dont|doesnt|mustnt|shouldnt|wont|cant|annoy\w*|instead of|rather than|unnecessary|"
    r"nicht|nie|niemals|kein\w*|ohne|weder|vermeid\w*|überspring\w*|deaktivier\w*|verboten|umgeh\w*|außer|statt|abschalt\w*|ausschalt\w*|aufhör\w*|"
    r"pas|jamais|sans|aucune?|éviter?|évite[rz]?|désactiv\w*|saute[rz]?|interdi\w*|arrête[rz]?|contourn\w*|"
    r"nunca|jamás|sin|evit\w*|desactiv\w*|prohibi\w*|salt\w*|tampoco|dej\w+ de)\b|n't\b|"
    r"--no-|ない|なし|せず|ずに|ません|禁止|スキップ|無効|省略|無視|やめ|避け|回避"
)
_AFTER_NEGATION = compile_lazily(r"\b(?:before|until|till|bevor|bis|avant|jusqu\w*|antes|hasta)\b")
_CLAUSE = compile_lazily(
    r"->|→|[!?;:\n。！？；、]|\.(?=\s|$)|,|\s[–—-]{1,2}\s|(?<!\w)(?:and|but|then|when|whenever|while|if|because|so that|und|aber|dann|wenn|weil|et|mais|puis|quand|si|car"
    r"|y|pero|luego|cuando|porque)(?!\w)"
)
_INTERJECTION = compile_lazily(r"^\s*(?:no|nope|nein|non|never mind|not again|いや|いいえ)\s*[,!.;:–—-]+\s*")
_PROTECTED = compile_lazily(
    r"\b(?:ask\w*|confirm\w*|check with|get \w* ?(?:approval|permission|confirmation|sign-?off)|require\w*|wait\w* for|frag\w*|bestätig\w*|demander?|demandez|confirmer?|pregunta\w*|confirma\w*)\b.{0,40}"
    r"\b(?:before|prior to|first|when|bevor|vor|avant|antes)\b"
)
_PROTECTABLE = frozenset(
    {"deleting", "permissions", "downloading and running", "what to do at the start of a session"}
)
_PREDICATE = compile_lazily(
    r"\W*(?:\w+\W+){0,3}?(?:must|should|shall|may|can|are|is|do|does|will|be|dürfen|sollen|werden|doivent|deben)?\s*"
    r"(?:not|never|no longer|n't|nie|niemals|nicht|jamais|nunca)\b"
)
"""Words after a noun that prohibit it: "credentials must not"."""
_ACROSS = frozenset({"downloading and running", "what to do at the start of a session", _OBEYING})
"""Kinds that are recognised across clauses: "download it, then run it"."""
_GOVERNED_BEFORE = frozenset({_OBEYING, _SECRECY})
"""Kinds for which only a negation in front counts: "do not tell the user that hooks were skipped" has one."""


def find_dangers(text: str) -> tuple[Danger, ...]:
    """Return the dangerous clauses of a fact or line, at most one of each kind."""
    plain = _INTERJECTION.sub("", compose_text(text).casefold().replace("`", " ").replace("*", ""))
    found = [danger for clause in split_clauses(plain) for danger in _dangers_of(clause)]
    found += [danger for danger in _dangers_of(plain) if danger.kind in _ACROSS]
    return tuple({danger.kind: danger for danger in reversed(found)}.values())


def split_clauses(text: str) -> list[str]:
    """Return the clauses of a text, folded. A negation in one has no effect on the others."""
    plain = compose_text(text).casefold().replace("`", " ")
    return [clause.strip() for clause in _CLAUSE.split(plain) if clause and clause.strip()]


def is_odd(clause: str, trigger: int) -> bool:
    """Whether a folded clause has an odd number of negations. `trigger`: the index of the trigger's first character.

    "Never X before Y" counts as two, because it means "not X without Y".
    """
    negations = list(_NEGATION.finditer(clause))
    count = len(negations)
    if negations and _AFTER_NEGATION.search(clause, negations[0].end(), trigger):
        count += 1
    return count % 2 == 1


def _dangers_of(clause: str) -> Iterator[Danger]:
    guarded = _PROTECTED.search(clause)
    for kind, dangerous_if_odd, pattern in _COMPILED:
        match = pattern.search(clause)
        if match is None:
            continue
        # "Don't ask" is dangerous by its negation, wherever in the clause that is. For other kinds, a negation after the
        # trigger does not reverse it.
        scope: Scope = "clause" if dangerous_if_odd else "to the end"
        if kind in _GOVERNED_BEFORE:
            scope = "to the start"
        if is_odd(_governing(clause, match, scope), match.start()) != dangerous_if_odd:
            continue
        if not dangerous_if_odd and guarded and kind in _PROTECTABLE:
            continue
        yield Danger(kind, match[0], dangerous_if_odd, scope)


def _governing(clause: str, match: re.Match[str], scope: Scope) -> str:
    """The part of the clause whose negations count.

    "Never delete without asking": what follows the trigger does not reverse "never delete", except as a predicate
    ("credentials must not be logged"). "Ignore the rules": the trigger's own verb is not a negation of it.
    """
    if scope == "clause":
        return clause
    passive = _PREDICATE.match(clause, match.end())
    before = clause[: match.end() if scope == "to the end" else match.start()]
    return f"{before} {passive[0]}" if passive else before
