"""The tasks of reach, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping

from tacitd.contract import Done, Outcome, Task, Tools
from tacitd.files.atomic import read_snapshot
from tacitd.files.disk import DISK
from tacitd.handler import Degradation, Footprint
from tacitd_handlers.reach.rule_files import USER_RULES
from tacitd_handlers.reach.user_rules import LIST, update_rules

JOB, CHECK = "user-rules", "reach-check"
PROBLEMS = ("reach.committed", "reach.excluded", "reach.linked", "reach.old-client")


def run(task: Task, tools: Tools) -> Outcome:
    """Bring the file up to date, or check the projects."""
    if task.key.partition(" ")[0] == CHECK:
        _report_problems(tools)
        return Done()
    return update_rules(tools, restore=task.kind == "session-started", forced=task.kind == "purge")


def _report_problems(tools: Tools) -> None:
    """Report what does not reach the sessions of known projects, until it is gone."""
    from tacitd_handlers.reach.reach_checks import check_projects  # not for `status`: it imports the settings

    roots = [root for (root,) in tools.rows("SELECT root FROM project ORDER BY root")]
    found = {one.id: one for one in check_projects(tools.client_home, roots, tools.clock.now())}
    for id in PROBLEMS:
        if id in found:
            tools.degrade(Degradation(id, found[id].what, found[id].hint))
        else:
            tools.clear(id)


def find_footprint(environ: Mapping[str, str]) -> Footprint:
    """The rules file, for `uninstall`: removed if its whole text is tacitd's, otherwise kept and named."""
    from tacitd.state.paths import config_dir, state_dir
    from tacitd.store import open_readonly

    path = config_dir(environ) / USER_RULES
    if path.is_symlink() or not path.is_file():
        return Footprint(places=[path.parent])
    leaves = list[str]()
    store = open_readonly(state_dir(environ))
    if store is not None:
        with store:
            found = store.rows("SELECT leaf FROM shared_leaf WHERE path = ?", str(path))
            leaves = [leaf for (leaf,) in found]
    seen = read_snapshot(path, DISK)
    if seen is not None and leaves and not LIST.splice(seen.data, dict.fromkeys(leaves)):
        return Footprint(places=[path.parent], copies=[path])
    why = "it has lines that tacitd did not write, or is not tacitd's"
    return Footprint(edited_copies=[path], places=[path.parent], reasons={path: why})
