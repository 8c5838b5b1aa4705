"""The shipped table of names: which spellings mean one tool, and which words imply that a tool is meant.

Data and its lookup; pure. A line of `_GROUPS` is one tool: its names, then, after `<`, words that imply it in one
direction ("container" implies docker, docker does not imply a container). A name with `!` is also an ordinary word: if a
person typed it, it grounds the tool, but it needs no grounding itself.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from tacitd_handlers.shared.text_parts import list_words, split_parts

_GROUPS = """
postgresql postgres psql pgsql pg < pgbouncer
mysql mariadb
sqlite sqlite3
mongodb mongo
redis
elasticsearch
kubernetes k8s kube kubectl < cluster pods helm
docker dockerfile docker-compose < container containers image compose
podman
terraform tf
ansible
typescript ts tsx mts .d.ts tsconfig tsc < types typed タイプスクリプト
javascript js jsx mjs cjs ecmascript es6 < node npm
python py python3 python2 pyproject < パイソン hints docstrings pytest pip venv dataclass dataclasses pydantic mypy ruff django flask fastapi poetry
golang gofmt go! < gopath goroutine goroutines
rust! rs rustc < cargo clippy crate crates
ruby rb < rails gem rspec
java < maven gradle spring junit
kotlin kt
csharp c# cs dotnet .net < nuget
cpp c++ cxx
node! nodejs node.js
deno
bun!
npm package.json < node
npx
pnpm
yarn! yarnpkg
pip pip3 < requirements.txt
pipx
uv
uvx
bunx
poetry!
conda
cargo! < crate crates
homebrew brew
apt! apt-get
pytest py.test
unittest
jest! jestjs
vitest
mocha!
cypress!
playwright
selenium
storybook
eslint
prettier!
ruff! ruff.toml
flake8
pylint
mypy
pyright
black!
webpack
vite! vitejs
rollup!
esbuild
tsup
turborepo turbo
nx
react! reactjs react.js < jsx tsx hooks component components
preact
vue! vuejs vue.js
svelte sveltekit
angular angularjs
nextjs next.js
nuxt nuxtjs
tailwind tailwindcss
graphql gql
grpc < protobuf
protobuf proto
openapi swagger
fastapi
django
flask!
sqlalchemy
alembic
pydantic
numpy np
pandas
pytorch torch!
tensorflow
jupyter ipynb < notebook notebooks
rails! rubyonrails
laravel
springboot
github gh < pr prs pull actions gist
gitlab < mr mrs
bitbucket
git! < commit commits branch branches push pull merge rebase stash checkout tag tags diff cherry-pick repo repository
jenkins
circleci < circle
travisci < travis
nginx
apache!
rabbitmq amqp
kafka
aws < s3 ec2 lambda dynamodb cloudwatch ecs eks
gcp googlecloud
azure
vscode vs-code visualstudiocode code!
neovim nvim
vim! vi
emacs
intellij idea! jetbrains
pycharm
macos mac osx darwin
ios iphone ipad
linux ubuntu debian
windows! win32 win
powershell pwsh ps1
bash sh! < shell
zsh < shell
wsl
curl
wget
ssh! openssh
scp
rsync
sudo
chmod
chown
systemctl systemd
launchctl launchd
crontab cron
makefile make!
cmake
bazel
gradle
maven mvn
markdown md mdx
json jsonl ndjson
yaml yml
toml
html htm
css scss sass!
xml
csv
restructuredtext rst
oauth oauth2
openai chatgpt gpt
claude! < you your yourself
copilot!
huggingface hf
youtube
stackoverflow
linkedin
javadoc
jsdoc < docstrings docstring
pubsub
websocket websockets ws
ok okay
dropdown
camelcase lowercamelcase < camel キャメル
pascalcase uppercamelcase < pascal パスカル
snakecase < snake スネーク
kebabcase < kebab dashes ケバブ
uppercase allcaps
"""
_PROSE = frozenset(
    list_words("""
    and/or either/or yes/no read/write input/output client/server on/off true/false before/after his/her her/his s/he
    he/she ci/cd tcp/ip a/b i/o n/a w/o pass/fail start/stop up/down left/right push/pull request/response
    success/failure get/set win/loss pros/cons add/remove create/update create/delete import/export frontend/backend
    backend/frontend key/value name/value try/catch try/except if/else async/await unit/integration dev/prod 24/7
    und/oder y/o et/ou oui/non ja/nein
    """)
)
"""Words around a slash that are prose and not a path."""
_ABBREVIATIONS = frozenset(
    list_words("e.g i.e etc z.b u.a d.h o.ä u.s a.m p.m p.ej c.f cf vs ph.d no.1 a.k.a u.s.a")
)


class AliasTable(Struct, frozen=True):
    """The table, indexed by joined parts."""

    groups: dict[str, frozenset[int]]
    """By name, the tools (line numbers of `_GROUPS`) that it is a spelling of."""
    implied: dict[str, frozenset[int]]
    """By word, the tools that it is a spelling of or implies."""
    unambiguous: frozenset[str]
    """Names that are not ordinary words: they are concrete anywhere in a fact."""


@cache
def alias_table() -> AliasTable:
    """Return the table. It is built once."""
    groups: dict[str, set[int]] = {}
    implied: dict[str, set[int]] = {}
    unambiguous: set[str] = set()
    for number, line in enumerate(_GROUPS.strip().splitlines()):
        names, _, words = line.partition(" < ")
        for name in names.split():
            joined = join_name(name)
            groups.setdefault(joined, set()).add(number)
            implied.setdefault(joined, set()).add(number)
            if not name.endswith("!") and joined != "ok":
                unambiguous.add(joined)
        for word in words.split():
            implied.setdefault(join_name(word), set()).add(number)
    return AliasTable(_frozen(groups), _frozen(implied), frozenset(unambiguous))


def join_name(name: str) -> str:
    """Return a name's parts in one string. `c#` and `c++` keep their sign, which distinguishes them from C."""
    plain = name.rstrip("!").casefold()
    return {"c#": "csharp", "c++": "cpp", "f#": "fsharp"}.get(plain) or "".join(split_parts(plain))


def is_prose_pair(text: str) -> bool:
    """Whether words around a slash are prose, such as "and/or"."""
    return text.casefold() in _PROSE


def is_abbreviation(text: str) -> bool:
    """Whether dots within a word belong to an abbreviation, as in "e.g."."""
    return text.casefold().rstrip(".") in _ABBREVIATIONS


def _frozen(found: dict[str, set[int]]) -> dict[str, frozenset[int]]:
    return {name: frozenset(numbers) for name, numbers in found.items()}
