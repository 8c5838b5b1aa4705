"""A home with a person's rules file: the reach plugin in a bench, and lines about the person that a test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from tacitd.clock import Clock
from tacitd.errors import FileRefusedError
from tacitd.session_context.context_request import PersonRule
from tacitd.testing import HandlerBench
from tacitd_handlers.reach import make_plugin
from tacitd_handlers.reach.user_rules import HEAD, TITLE

MINUTE = 60.0
DAY = 86_400.0


class ToyRules:
    """A plugin's person rules that a test sets. There is one set for the process, as files are."""

    title = "Toys"
    rules: dict[str, PersonRule] = {}
    withdrawn: list[str] = []
    fails = False
    file = Path("/nowhere")

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        pass

    def list_files(self) -> Sequence[Path]:
        """One file, whose change is noticed."""
        return [self.file]

    def list_rules(self) -> Sequence[PersonRule]:
        """The rules that the test set."""
        if self.fails:
            raise FileRefusedError("the toys are broken", "mend them")
        return list(self.rules.values())

    def withdraw_rule(self, id: str) -> None:
        """Remove it."""
        self.withdrawn.append(id)
        self.rules.pop(id, None)


class ReachBox:
    """A bench with the reach plugin and toys."""

    def __init__(self, tmp: Path, **settings: str) -> None:
        ToyRules.rules, ToyRules.withdrawn, ToyRules.fails = {}, [], False
        ToyRules.file = tmp / "toys"
        self.claude = tmp.resolve() / "home" / ".claude"
        (self.claude / "projects").mkdir(parents=True)
        self.path = self.claude / "rules" / "tacitd.md"
        made = make_plugin()
        parts = {**made.prompt_parts, "person-rules": "support_reach:ToyRules"}
        plugin = replace(made, prompt_parts=parts)
        self.bench = HandlerBench(tmp, plugin, settings=settings)

    def know(self, **rules: str) -> None:
        """Set rules by id, as if tacitd had learned them."""
        self._set({id: PersonRule(id, text) for id, text in rules.items()})

    def state(self, **rules: str) -> None:
        """Set rules by id, as if the person had stated them."""
        self._set({id: PersonRule(id, text, by_person=True) for id, text in rules.items()})

    def drop(self, *ids: str) -> None:
        """Remove rules."""
        for id in ids:
            del ToyRules.rules[id]
        self._touch()

    def _set(self, rules: Mapping[str, PersonRule]) -> None:
        ToyRules.rules |= rules
        self._touch()

    def _touch(self) -> None:
        old = ToyRules.file.read_text() if ToyRules.file.exists() else ""
        # Another size, so that the change is seen whatever the clock's precision.
        ToyRules.file.write_text(old + "x")

    def wait(self, seconds: float = MINUTE) -> None:
        """Let time pass in steps of the job's interval."""
        for _ in range(round(seconds / 20)):
            self.bench.settle(20.0)

    @property
    def text(self) -> str:
        """The file's text; "" if there is none."""
        return self.path.read_bytes().decode() if self.path.exists() else ""

    @property
    def bullets(self) -> list[str]:
        """The file's list items."""
        return [line[2:] for line in self.text.splitlines() if line.startswith("- ")]

    def edit(self, old: str, new: str) -> None:
        """Replace text in the file, as an editor that writes a new file."""
        assert old in self.text
        self.save(self.text.replace(old, new, 1))

    def save(self, text: str) -> None:
        """Write the file, as an editor that writes a new file."""
        new = self.path.with_name("tacitd.md~")
        new.write_bytes(text.encode())
        new.replace(self.path)


def format_toys(*texts: str) -> str:
    """The generated text with these rules."""
    return "\n".join([HEAD, "", TITLE, "", "## Toys", "", *(f"- {text}" for text in texts), ""])
