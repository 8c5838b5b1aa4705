"""A thousand random command lines against a model of the log: its bytes, the exit code and what is printed (SPEC E-10 to E-25).

The model knows nothing of the product: it is written from the seed and SPEC. Some of the lines are another program's.
"""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest

from support_lessons import Lessons

COMMANDS = int(os.environ.get("TACITD_COMMANDS", "1000"))
RUNS = 10
WHENS = ("editing tmux.conf", "the page is slow", "two answers fit", "a test is flaky -> again")
DOS = ("read the file first", "wait two seconds", "notify the team", "git push --force to main")
REASONS = ("it was wrong before", "the person said so")
SCOPES = ("global", "tmux", "browser")
WORDS = ("tmux", "FIRST", "slow page", "said so", "zebra", "browser wait")
Fields = dict[str, Any]
Parts = tuple[str, str, str, str]


def show_text(one: Fields) -> str:
    """The canonical pattern."""
    verb = "DO" if one["action"] == "do" else "DO NOT"
    return f"WHEN {one['when']} -> {verb} {one['do']} -> BECAUSE {one['because']}"


def dump(record: Fields) -> bytes:
    """A record as the seed writes it."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass
class Model:
    """What the log has to be."""

    data: bytes = b""
    lessons: dict[int, Fields] = field(default_factory=dict)
    last: int = 0
    odd: int = 0
    torn: int = 0
    """The id in a torn last line: it counts when the line is ended."""

    def end_line(self) -> None:
        """End a torn last line."""
        self.data += b"\n" if self.data and not self.data.endswith(b"\n") else b""
        self.last, self.torn = max(self.last, self.torn), 0

    def append(self, record: Fields) -> None:
        """A record of the product: a torn line before it is ended."""
        self.end_line()
        self.data += dump(record) + b"\n"
        self.lessons.setdefault(int(record["id"]), {}).update(record)
        self.last = max(self.last, int(record["id"]))

    def active(self, scope: str | None = None) -> list[Fields]:
        """By id."""
        found = [one for _, one in sorted(self.lessons.items()) if one["status"] == "active"]
        return [one for one in found if scope in (None, one["scope"])]

    def is_waiting(self, one: Fields) -> bool:
        """Deleted from the beginning: an agent's that waits for the person."""
        return one["status"] == "deleted" and "updated" not in one

    def name_state(self, one: Fields) -> str:
        """The status that people see."""
        return "waiting" if self.is_waiting(one) else str(one["status"])

    def find_bar(self, parts: Parts, scope: str, source: str) -> tuple[int, Fields] | None:
        """The exit code of an addition that is none, and the lesson that bars it."""
        when, action, do, because = parts
        same = [
            one
            for _, one in sorted(self.lessons.items())
            if (one["when"], one["action"], one["do"]) == (when, action, do)
        ]
        if source == "ai":
            for one in same:
                if one["status"] == "deleted" and not self.is_waiting(one):
                    return 1, one
        for one in same:
            is_there = one["status"] == "active" or (self.is_waiting(one) and source == "ai")
            if is_there and one["scope"] == scope and one["because"] == because:
                return 0, one
        return None

    def table(self, rows: list[Fields], *, every: bool) -> str:
        """The table of `list`."""
        keys = ["id", "scope", "from", *(["status"] if every else [])]
        lines = [[*(key.upper() for key in keys), "PATTERN"]]
        rows = [{**one, "status": self.name_state(one)} for one in rows]
        lines += [[*(one[key] for key in keys), show_text(one)] for one in rows]
        widths = [max(len(line[at]) for line in lines) + 2 for at in range(len(keys))]
        texts = ["".join(map(str.ljust, line[:-1], widths)) + line[-1] for line in lines]
        return "\n".join(texts) + "\n" if rows else ""


@dataclass
class Player:
    """Draws command lines, runs them, and compares."""

    draw: random.Random
    lessons: Lessons
    monkeypatch: pytest.MonkeyPatch
    model: Model = field(default_factory=Model)
    today: str = field(default_factory=lambda: date.today().isoformat())

    def run(self, *arguments: str, code: int = 0, out: str = "") -> str:
        """Run a command line; the log must be the model's afterwards. Returns what it said on stderr."""
        said = self.lessons.run(*arguments)
        assert (said.code, said.out) == (code, out), (arguments, said)
        now = self.lessons.log.read_bytes() if self.lessons.log.exists() else b""
        assert now == self.model.data, (arguments, now[-300:], self.model.data[-300:])
        return said.err

    def add(self) -> None:
        """E-01, E-10 to E-12, E-22, E-32, S-67."""
        draw, model = self.draw, self.model
        parts = (draw.choice(WHENS), draw.choice(("do", "dont")), draw.choice(DOS), draw.choice(REASONS))
        when, action, do, because = parts
        scope, firm, force, agent = draw.choice(SCOPES), *(draw.random() < 0.4 for _ in range(3))
        self.monkeypatch.setenv("CLAUDECODE", "1" if agent else "")
        source = "user" if firm and not agent else "ai"
        verb = {"do": "DO", "dont": "DO NOT"}[action]
        whole = draw.choice(
            (
                [f"WHEN {when} -> {verb} {do} -> BECAUSE {because}"],
                [f"when [{when}]\n→ {verb.lower()} {do}\n→ Because [{because}]"],
                ["-w", when, f"--{action}", do, "-b", because],
            )
        )
        line = [*whole, "-s", scope, *(["--firm"] if firm else []), *(["--force"] if force else [])]
        bar = None if force and not agent else model.find_bar(parts, scope, source)
        if bar is not None:
            said = self.run("add", *line, code=bar[0])
            assert f"lesson {bar[1]['id']}" in said
            return
        waits = source == "ai" and do == DOS[3]
        opposites = [
            one
            for one in model.active()
            if (one["when"], one["do"]) == (when, do) and one["action"] != action
        ]
        record = {"id": f"{model.last + 1:03d}", "scope": scope, "from": source}
        record |= {"status": "deleted" if waits else "active", "created": self.today}
        record |= dict(zip(("when", "action", "do", "because"), parts, strict=True))
        model.append(record | ({"reason": "it runs a command"} if waits else {}))
        said = self.run("add", *line)
        assert said.count("says the opposite") == len(opposites)
        assert ("waits for the person" if waits else f"Added lesson {record['id']}") in said

    def change(self) -> None:
        """`wrong` and `promote` (E-15, E-16, E-19, E-21)."""
        draw, model = self.draw, self.model
        self.monkeypatch.setenv("CLAUDECODE", "")  # only a person promotes
        number = draw.randint(1, model.last + 1)
        id, reason = draw.choice((str(number), f"{number:03d}")), draw.choice(("", "too broad"))
        to = draw.choice(("", "skill/notes", "tool/tmux"))
        arguments = [id, *(["--reason", reason] if reason else [])]
        command = ["promote", *arguments, f"--to={to}", "--create"] if to else ["wrong", *arguments]
        one = model.lessons.get(number)
        if one is None:
            self.run(*command, code=1)
            return
        is_same = one["status"] == "promoted" and one["promoted_to"] == to
        is_gone = one["status"] == "deleted" and not model.is_waiting(one)
        if is_same or (not to and is_gone):
            self.run(*command)
            return
        if one["status"] != "active" and (to or not model.is_waiting(one)):
            self.run(*command, code=1)
            return
        record = {key: one[key] for key in ("id", "scope", "from")}
        record |= {"id": f"{number:03d}", "status": "promoted" if to else "deleted", "updated": self.today}
        emptied = {"reason": ""} if one.get("reason") else {}
        model.append(
            record
            | ({"reason": reason} if reason else {})
            | ({"promoted_to": to} if to else {})
            | (emptied if not reason else {})
        )
        self.run(*command, out="" if to else f"Deleted lesson {number:03d}\n")

    def look(self) -> None:
        """`list`, `search` and `load` (E-13, E-17, E-18)."""
        draw, model = self.draw, self.model
        scope, every = draw.choice((None, *SCOPES)), draw.random() < 0.3
        rows = [one for _, one in sorted(model.lessons.items())] if every else model.active()
        rows = [one for one in rows if scope in (None, one["scope"])]
        options = [*(["--all"] if every else []), *([f"--scope={scope}"] if scope else [])]
        match draw.choice(("list", "search", "load")):
            case "list":
                said = self.run("list", *options, out=model.table(rows, every=every))
                assert (f"{model.odd} line" in said) is (model.odd > 0)
            case "search":
                words = draw.choice(WORDS)
                texts = [(one, f"{one['scope']} {show_text(one)}".lower()) for one in rows]
                found = [one for one, text in texts if all(each in text for each in words.lower().split())]
                self.run("search", words, *options, out=model.table(found, every=every))
            case _:
                chosen = [each for each in dict.fromkeys(("global", scope or "global")) if model.active(each)]
                lines = [f"## Lessons ({sum(len(model.active(each)) for each in chosen)} active)"]
                for each in chosen:
                    lines += ["", "### Global" if each == "global" else f"### {each}"]
                    lines += [
                        f"- {show_text(one)}" + " [firm]" * (one["from"] == "user")
                        for one in model.active(each)
                    ]
                arguments = [f"--scope={scope}"] if scope else []
                self.run("load", "--lines=0", *arguments, out="\n".join(lines) + "\n")

    def show(self) -> None:
        """E-14: the seed's YAML, for lessons of each status."""
        number = self.draw.randint(1, self.model.last + 1)
        one = dict(self.model.lessons.get(number, {}))
        if not one:
            self.run("show", str(number), code=1)
            return
        one |= {"status": self.model.name_state(one)}
        lines = [f"{key}: {one[key]}" for key in ("id", "scope", "from", "status", "created")]
        lines += [f"updated: {one['updated']}"] if "updated" in one else []
        lines += [f'reason: "{one["reason"]}"'] if one.get("reason") else []
        lines += [f"promoted_to: {one['promoted_to']}"] if "promoted_to" in one else []
        lines += [f'pattern: "{show_text(one)}"', "parsed:", f'  when: "{one["when"]}"']
        lines += [f"  action: {one['action']}", f'  do: "{one["do"]}"', f'  because: "{one["because"]}"']
        self.run("show", f"{number:03d}", out="\n".join(lines) + "\n")

    def misuse(self) -> None:
        """E-04: nothing is written."""
        wrong = self.draw.choice(
            (["add"], ["add", "WHEN a -> DO b"], ["promote", "1", "--to=skill/../x"], ["show"])
        )
        assert "Usage: lesson" in self.run(*wrong, code=2)

    def interfere(self) -> None:
        """E-20 to E-23: another program's line, whole or torn, or a key that we do not know."""
        draw, model = self.draw, self.model
        model.end_line()
        match draw.choice(("junk", "torn", "key", "gap")):
            case "junk":
                model.data += b"no record\n"
                model.odd += 1
            case "torn":
                model.torn = model.last + draw.choice((1, 900))
                model.data += f'{{"id":"{model.torn:03d}","scope":"tm'.encode()
                model.odd += 1
            case "key" if model.lessons:
                number = draw.choice(list(model.lessons))
                model.data += dump({"id": number, "mine": [1]}) + b"\n"
            case _:
                model.last += 1
                model.data += dump({"id": f"{model.last:03d}", "status": "deleted"}) + b"\n"
                model.odd += 1
        self.lessons.directory.mkdir(parents=True, exist_ok=True)
        self.lessons.log.write_bytes(model.data)


@pytest.mark.parametrize("seed", range(RUNS))
def test_random_command_lines(lessons: Lessons, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """After each command line the log has the model's bytes, and what it prints is the model's."""
    draw = random.Random(seed)
    player = Player(draw, lessons, monkeypatch)
    steps = (player.add, player.change, player.look, player.show, player.misuse, player.interfere)
    for _ in range(COMMANDS // RUNS):
        draw.choices(steps, weights=(40, 18, 24, 10, 4, 4))[0]()
    listed = lessons.json("list", "--all")["lessons"]
    assert {int(one["id"]): one["status"] for one in listed} == {
        number: player.model.name_state(one) for number, one in player.model.lessons.items()
    }
