"""What is learned from a set of labelled sessions, and what that costs: the real daemon, one project after another.

    python benchmarks/learning.py [--live] [--record] [--rekey] [--json] [--dump-prompts DIR] [--take-answers DIR]

By default the answers are the recorded ones in `learning_set/answers.jsonl`, given by the stand-in for Claude Code. They
measure the pipeline: prompts, parsing, gates, files. They do not measure a model. `--live` asks the `claude` on PATH, which
costs money, and `--record` also stores its answers.

A prompt that changed since its answer was recorded is named in a warning and gets the nearest answer; `--rekey` stores
these for the new prompts, if only the template changed. With
`--dump-prompts DIR` prompts without an answer are written there instead, and each project stops at its first such stage;
`--take-answers DIR` records what was written beside them. Repeat both until no prompt is missing.

Ends with 1 if the recall is below 0.95, a one-off became a line, or an answer is missing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loguru import logger

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from label_scores import FoundLine, LabelScore, parse_labels, score_lines  # noqa: E402
from labelled_sessions import LabelledProject, load_projects  # noqa: E402
from recorded_answers import (  # noqa: E402
    RecordedAnswer,
    count_fixed_bytes,
    dump_prompt,
    load_answers,
    make_rules,
    record_answer,
    save_answers,
    take_answers,
)
from session_replay import ModelCall, ProjectReplay, list_missing, replay_project  # noqa: E402
from support_claude import install_proxy, install_stand_in  # noqa: E402
from tacitd.store import open_readonly  # noqa: E402

SET = Path(__file__).parent / "learning_set"
ANSWERS = SET / "answers.jsonl"
RECALL = 0.95
NAMES = "names.json"
INSTRUCTIONS = """Each file `NN-….txt` is a prompt as it is sent to a model. For each, write what a careful model would answer into
`NN-….answer.txt`: only the answer, in the form that the prompt asks for. Use nothing but the prompt itself.
"""


@dataclass(frozen=True, slots=True)
class CallFigures:
    """What the calls of a run cost."""

    typed: int
    """Messages that a person typed."""
    calls: int
    sent: int
    """Bytes of all prompts."""
    extractions: int
    fixed_share: float
    """The share of an extraction prompt that is the same in every call: the mean over all of them, 0 to 1."""
    sessions: int
    usd: float | None
    """US dollars, as the client reported them; None if no client was asked for some of the answers."""


def main(argv: Sequence[str]) -> int:
    """Run the benchmark and print the result. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], epilog="Example: python benchmarks/learning.py --json"
    )
    parser.add_argument("--live", action="store_true", help="ask the claude on PATH (costs money)")
    parser.add_argument("--record", action="store_true", help="like --live, and store the answers")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--dump-prompts", type=Path, metavar="DIR", help="write prompts without an answer there"
    )
    parser.add_argument(
        "--take-answers", type=Path, metavar="DIR", help="record the answers beside such prompts"
    )
    parser.add_argument(
        "--rekey", action="store_true", help="store the nearest answers for prompts that were only reworded"
    )
    parser.add_argument("--projects", nargs="*", metavar="NAME", help="only these projects of the set")
    options = parser.parse_args(argv)
    if options.take_answers:
        return _take(options.take_answers)
    projects = load_projects(SET / "sessions")
    projects = [one for one in projects if not options.projects or one.name in options.projects]
    answers = load_answers(ANSWERS)
    live = options.live or options.record
    with tempfile.TemporaryDirectory(prefix="tacitd-learning-") as folder:
        replays = [
            _replay(one, Path(folder, one.name), answers, live=live, dumps=options.dump_prompts is not None)
            for one in projects
        ]
        calls = [call for replay in replays for call in replay.calls]
        if options.dump_prompts:
            return _dump(options.dump_prompts, replays)
        if options.record:
            made = [record_answer(call.name, call.prompt, call.answer, call.usd) for call in calls]
            save_answers(ANSWERS, [*answers, *made])
        if options.rekey:
            save_answers(ANSWERS, [*answers, *_rekey(calls, answers)])
        problems = [] if live else _list_problems(calls, answers)
        problems += [f"{what} (not handled)" for replay in replays for what in replay.parked]
        score = _score(replays)
    figures = _measure(projects, calls, [call.usd for call in calls] if live else _list_costs(calls, answers))
    _print(score, figures, problems, as_json=options.json)
    missing = not live and any(call.rule < 0 for call in calls)
    return 0 if score.recall >= RECALL and not score.promoted and not missing else 1


def _replay(
    project: LabelledProject, box: Path, answers: Sequence[RecordedAnswer], *, live: bool, dumps: bool
) -> ProjectReplay:
    """Replay one project with the client that the options name."""
    box.mkdir()
    if live:
        real = shutil.which("claude")
        if real is None:
            sys.exit("learning.py: no claude on PATH\nhint: install Claude Code, or leave --live out")
        client = install_proxy(box / "bin", Path(real))
    else:
        client = install_stand_in(box / "bin", make_rules(answers, exact=dumps))
    return replay_project(
        project,
        box / "run",
        client.program,
        goes_on=lambda calls: not (dumps and list_missing(calls)),
    )


def _dump(directory: Path, replays: Sequence[ProjectReplay]) -> int:
    """Write the prompts without an answer. Returns 1 if there are some."""
    missing = [call for replay in replays for call in list_missing(replay.calls)]
    directory.mkdir(parents=True, exist_ok=True)
    names = {dump_prompt(directory, n, call.prompt).name: call.name for n, call in enumerate(missing, 1)}
    (directory / NAMES).write_text(json.dumps(names, indent=1) + "\n", "utf-8")
    (directory / "README.md").write_text(INSTRUCTIONS, "utf-8")
    print(f"{len(missing)} prompts without an answer in {directory}")
    return 1 if missing else 0


def _take(directory: Path) -> int:
    """Record the answers of a directory. Returns 1 if some are missing."""
    names = json.loads((directory / NAMES).read_text("utf-8"))
    made, missing = take_answers(directory, names)
    save_answers(ANSWERS, [*load_answers(ANSWERS), *made])
    print(f"{len(made)} answers recorded in {ANSWERS}")
    for path in missing:
        print(f"no answer beside {path}", file=sys.stderr)
    return 1 if missing else 0


def _list_problems(calls: Sequence[ModelCall], answers: Sequence[RecordedAnswer]) -> list[str]:
    """Prompts that changed since their answers were recorded, and those without an answer."""
    found: list[str] = []
    for call in calls:
        if call.rule < 0:
            found.append(f"{call.name}: no recorded answer; NONE was taken")
        elif (used := _find_nearest(call, answers)) is not None:
            found.append(f"{call.name}: the prompt changed; the answer recorded for {used.name} was taken")
    return found


def _find_nearest(call: ModelCall, answers: Sequence[RecordedAnswer]) -> RecordedAnswer | None:
    """The answer that a call got because it was the nearest; None for one that has the prompt's hash."""
    near = [one for one in answers if one.kind != "other"]
    return near[call.rule - len(answers)] if call.rule >= len(answers) else None


def _rekey(calls: Sequence[ModelCall], answers: Sequence[RecordedAnswer]) -> list[RecordedAnswer]:
    """The answers of prompts that changed, for the prompts as they are now. An answer of another prompt is not taken."""
    found = ((call, _find_nearest(call, answers)) for call in calls)
    return [
        record_answer(call.name, call.prompt, used.answer, used.usd)
        for call, used in found
        if used is not None and used.name == call.name
    ]


def _list_costs(calls: Sequence[ModelCall], answers: Sequence[RecordedAnswer]) -> list[float | None]:
    """What each call's answer cost when it was recorded; None if no client was asked, or if there is no answer."""
    near = [one for one in answers if one.kind != "other"]
    return [[*answers, *near][call.rule].usd if call.rule >= 0 else None for call in calls]


def _score(replays: Sequence[ProjectReplay]) -> LabelScore:
    labels = parse_labels((SET / "labels.txt").read_text("utf-8"))
    wanted = {session.id.rpartition("-")[0] for replay in replays for session in replay.project.sessions}
    lines: list[FoundLine] = []
    profiles: dict[str, str] = {}
    for replay in replays:
        name = replay.project.sessions[0].id.rpartition("-")[0]
        lines += _list_learned(name, replay)
        profile = replay.memory_dir / "profile.json"
        profiles[name] = profile.read_text("utf-8") if profile.exists() else ""
    return score_lines([one for one in labels if one.project in wanted], lines, profiles)


def _list_learned(name: str, replay: ProjectReplay) -> list[FoundLine]:
    """The lines of a project and of its person, with the messages that they were made from."""
    home = replay.memory_dir.parents[1]
    store = open_readonly(replay.state_dir)
    assert store is not None
    with store:
        found = store.rows(
            "SELECT number, path, text FROM learning_line WHERE state = 'present' ORDER BY number"
        )
        return [
            FoundLine(
                name,
                path.removeprefix(f"{replay.root}/").replace(f"{home}/", "~/"),
                text,
                tuple(
                    id
                    for (id,) in store.rows(
                        "SELECT DISTINCT p.id FROM learning_line_fact l JOIN learning_fact f ON f.number = l.fact "
                        "JOIN prompt p ON p.number = f.prompt WHERE l.line = ?",
                        number,
                    )
                ),
            )
            for number, path, text in found
        ]


def _measure(
    projects: Sequence[LabelledProject], calls: Sequence[ModelCall], costs: Sequence[float | None]
) -> CallFigures:
    known = [usd for usd in costs if usd is not None]
    extractions = [call.prompt for call in calls if call.kind == "extraction"]
    shares = [count_fixed_bytes(prompt) / len(prompt.encode()) for prompt in extractions]
    return CallFigures(
        typed=sum(len(session.messages) for project in projects for session in project.sessions),
        calls=len(calls),
        sent=sum(len(call.prompt.encode()) for call in calls),
        extractions=len(extractions),
        fixed_share=sum(shares) / len(shares) if shares else 0.0,
        sessions=sum(len(project.sessions) for project in projects),
        usd=sum(known) if len(known) == len(costs) else None,
    )


def _print(score: LabelScore, figures: CallFigures, problems: Sequence[str], *, as_json: bool) -> None:
    for problem in problems:
        print(f"warning: {problem}", file=sys.stderr)
    if as_json:
        document: dict[str, Any] = asdict(score) | {"recall": score.recall, "problems": list(problems)}
        print(json.dumps(document | {"calls": asdict(figures)}, ensure_ascii=False, indent=1))
        return
    rows = [
        ("recall of durable statements", f"{score.recall:.3f} ({score.recalled} of {score.durable})"),
        ("one-offs that became a line", f"{len(score.promoted)} of {score.one_offs}"),
        ("misplaced lines", f"{len(score.misplaced)} of {score.lines}"),
        ("duplicates", str(len(score.duplicates))),
        ("outdated lines left", str(len(score.stale))),
        ("profile values found", f"{score.profile - len(score.profile_missed)} of {score.profile}"),
        ("lines that no label covers", str(len(score.unlabelled))),
        ("model calls", f"{figures.calls} for {figures.typed} typed messages"),
        ("calls per typed message", f"{figures.calls / figures.typed:.2f}"),
        ("bytes sent", f"{figures.sent} ({figures.sent / figures.typed:.0f} per typed message)"),
        ("fixed share of extraction prompts", f"{figures.fixed_share:.2f} (mean of {figures.extractions})"),
    ]
    cost = "unknown: no client was asked for these answers"
    if figures.usd is not None:
        cost = f"{figures.usd:.4f} ({figures.usd / figures.sessions:.4f} per session)"
    rows.append(("dollars, as the client reported them", cost))
    for name, value in rows:
        print(f"{name:<36} {value}")
    for title in ("lost", "promoted", "misplaced", "duplicates", "stale", "profile_missed", "unlabelled"):
        for what in getattr(score, title):
            print(f"  {title}: {what}")


if __name__ == "__main__":
    logger.remove()
    sys.exit(main(sys.argv[1:]))
