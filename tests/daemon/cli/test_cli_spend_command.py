"""`tacitd spend`, on rows that the budget wrote."""

from __future__ import annotations

from support_calls import open_budget, spend
from support_cli import Cli
from tacitd.testing import FakeClock


def test_it_prints_aligned_rows_and_a_sum(cli: Cli) -> None:
    """An assumed cost is marked."""
    cli.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_budget(cli.state, FakeClock(wall=1_700_000_000.0)) as budget:
        for key, usd, why in (
            ("extraction", 0.01, ""),
            ("synthesis", 0.5, ""),
            ("extraction", None, "timed out"),
        ):
            spend(budget, key, usd, why=why, project="/home/ada/\x1bapp")
    said = cli.run("spend", "--by", "purpose")
    assert said.code == 0 and said.out.splitlines() == [
        "PURPOSE       COST  CALLS  UNANSWERED",
        "synthesis    $0.50      1",
        "extraction  ~$0.27      2           1",
        "total       ~$0.77      3           1",
    ]
    assert "\x1b" not in cli.run("spend", "--by", "project").out
    assert [row["name"] for row in cli.run("spend", "--by", "purpose", "--json").json] == [
        "synthesis",
        "extraction",
    ]
    assert cli.run("spend", "--since", "0s").err == "no model call was made in the last 0s\n"


def test_without_calls_it_says_so(cli: Cli) -> None:
    """Exit code 0; in JSON an empty list. A wrong age is a usage error."""
    assert cli.run("spend").err == "no model call was made yet\n"
    assert cli.run("spend", "--json").json == []
    assert cli.run("spend", "--since", "\x1bsoon").code == 2
