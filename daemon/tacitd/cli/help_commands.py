"""`tacitd help` and `tacitd completion`."""

from __future__ import annotations

import click

COMPLETE = "_TACITD_COMPLETE"
"""The variable by which the shell asks the program for completions."""


@click.command("help", epilog="\b\nExample: tacitd help learned\nExample: tacitd help --all")
@click.argument("topic", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="List every command.")
@click.pass_context
def show_help(ctx: click.Context, topic: tuple[str, ...], everything: bool) -> None:
    """Show the help of a command, as `--help` does; without TOPIC the list of commands."""
    from tacitd.cli.program import LIST_ALL

    context = ctx.parent or ctx
    context.meta[LIST_ALL] = everything
    command = context.command
    for name in topic:
        if not isinstance(command, click.Group):
            raise click.UsageError(f"{context.command_path} has no commands", ctx)
        _, found, _ = command.resolve_command(context, [name])
        assert found is not None  # it raises UsageError for an unknown name
        command, context = found, click.Context(found, parent=context, info_name=name)
    click.echo(command.get_help(context))


@click.command(
    epilog="\b\nExample: echo 'eval \"$(tacitd completion bash)\"' >> ~/.bashrc"
    "\nExample: tacitd completion fish > ~/.config/fish/completions/tacitd.fish"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell: commands, options and their values."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    program = ctx.find_root().command
    maker = kind(program, {}, "tacitd", COMPLETE)
    # Not `source()`: for bash it runs `bash --version`, and the script works in each version that is still maintained.
    click.echo(maker.source_template % maker.source_vars())
