"""Groups of commands, such as `agentkit memories`."""

import typer
from typer.core import TyperGroup


def command_group(about: str) -> typer.Typer:
    """Return an empty group that says which commands it has when none is named.

    Args:
        about: One line for the help.
    """
    group = typer.Typer(help=about, rich_markup_mode=None)
    group.callback(invoke_without_command=True)(_needs_command)
    return group


def _needs_command(context: typer.Context) -> None:
    group = context.command
    if context.invoked_subcommand is None and isinstance(group, TyperGroup):
        names = ", ".join(group.list_commands(context))
        context.fail(f"Missing command; there are {names}.")
