"""`agentkit init`: a project of one's own."""

from pathlib import Path
from typing import Annotated

import typer

from agentkit.cli.options import JsonOption


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the new project.")],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that are there already.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a project.

    It holds settings and a copy of the prompts, policy, tools and suites, for you to edit.
    """
    from agentkit.cli.output import print_json
    from agentkit.project import init_project

    written = init_project(folder, force=force)
    if as_json:
        print_json({"project": str(folder), "files": [str(path) for path in written]})
        return
    typer.echo(f"made {folder} ({len(written)} files)")
    typer.echo("next:")
    typer.echo(f"  cd {folder}")
    typer.echo("  agentkit doctor")
    typer.echo('  agentkit remember "something to keep" --user NAME')
