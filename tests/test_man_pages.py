"""The manual pages' form: what `man` and `mandoc` make of them."""

from __future__ import annotations

import shutil
import subprocess

import click
import pytest

import generate
import man_pages

TROUBLESOME = (
    "Print `.SH NAME`\\n.\n\n.TH is text, and so are 'quotes', back\\slashes and --dashes — with ellipses…"
)


@click.command("odd", help=TROUBLESOME)
@click.option("--dash-ed", help="'A' \\fBtext\\fR.")
def odd() -> None:
    pass


def _format(*arguments: str, page: str) -> str:
    program = shutil.which("mandoc") or pytest.skip("mandoc is not installed")
    done = subprocess.run(
        [program, *arguments], input=page, capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", ["tacitd.1", "tacitd-rescue.1", "tacitd-undo.1", "lesson.1"])
def test_mandoc_finds_no_fault(name: str) -> None:
    """The pages have no date, which is the only thing that mandoc may warn of."""
    found = _format("-T", "lint", "-W", "warning", page=(generate.MAN / name).read_text())
    assert [one for one in found.splitlines() if "missing date" not in one] == []


def test_a_help_text_cannot_be_a_request() -> None:
    """A text that looks like man(7) stays text: a leading dot, a backslash, quotes, other alphabets."""
    page = man_pages.format_page(odd, man_pages.make_context(odd, "odd"))
    assert page.isascii()
    assert page.count("\n.TH ") == 1 and page.count("\n.SH NAME") == 1
    shown = " ".join(_format("-T", "utf8", "-O", "width=500", page=page).split())
    for text in (
        ".TH is text",
        "'quotes'",
        "back\\slashes",
        "--dashes — with ellipses…",
        "'A' \\fBtext\\fR.",
    ):
        assert text in shown.replace("\b", "")


def test_a_page_has_options_subcommands_and_examples() -> None:
    """What `--help` shows is on the page; `--help` itself is listed once."""
    page = generate.manual_pages()["tacitd-rescue.1"]
    assert '.SS "tacitd rescue retry"' in page
    assert ".B \\-\\-all" in page
    assert "tacitd rescue retry \\-\\-all" in page
    assert page.count(".B \\-h, \\-\\-help") == 1
