"""`agentkit reindex`: the vector index, built anew from the database."""

from typing import TYPE_CHECKING

import typer

from agentkit.cli.options import JsonOption, ProjectOption

if TYPE_CHECKING:
    from agentkit.store import SettleReport


def reindex(project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Build the vector index anew from the database.

    No text is embedded again. Recall works meanwhile; what was broken off is gone on with.
    Exit code 1 means that the index is not whole yet; the message says why.
    """
    import asyncio

    from agentkit.cli.output import print_json, progress_bar
    from agentkit.kit import Kit

    async def run() -> "SettleReport":
        kit = Kit.open(project, worker="external")
        try:
            with progress_bar("rebuilding the index", shown=not as_json) as advance:
                return await kit.reindex(progress=advance)
        finally:
            await kit.aclose()

    report = asyncio.run(run())
    if as_json:
        print_json(
            {
                "ok": not report.problem,
                "indexed": report.indexed,
                "waiting": report.waiting,
                "problem": report.problem,
            }
        )
    else:
        typer.echo(f"{report.indexed} keys written to the index, {report.waiting} waiting")
        if report.problem:
            typer.echo(f"error: {report.problem}", err=True)
    if report.problem:
        raise typer.Exit(1)
