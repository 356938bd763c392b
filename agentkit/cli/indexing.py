"""`agentkit reindex`: the index anew from the database, or the way to another embedder."""

from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import JsonOption, ProjectOption

if TYPE_CHECKING:
    from agentkit.store import SettleReport


def reindex(
    project: ProjectOption = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder",
            metavar="NAME",
            help="Another embedder: its vectors are made beside the old ones, then compared.",
        ),
    ] = None,
    switch: Annotated[
        bool,
        typer.Option(
            "--switch", help="With --embedder: recall by it from now on; the old vectors are kept."
        ),
    ] = False,
    drop: Annotated[
        bool,
        typer.Option("--drop", help="With --embedder: remove its vectors; not those in use."),
    ] = False,
    queries: Annotated[
        int,
        typer.Option(
            "--queries", metavar="N", help="With --embedder: logged queries to compare on."
        ),
    ] = 200,
    as_json: JsonOption = False,
) -> None:
    """Build the vector index anew from the database, or change the embedder.

    Without --embedder no text is embedded again. Recall works meanwhile; what was broken off is
    gone on with. Exit code 1 means that the index is not whole yet; the message says why.

    To change the embedder: `reindex --embedder NAME` makes its vectors and says how far its
    rankings of the logged queries agree with the old one's; then `--switch` or `--drop`.
    """
    from agentkit.errors import InputError

    if switch and drop:
        raise InputError("--switch and --drop exclude each other; give one of them")
    if embedder is None and (switch or drop):
        raise InputError("--switch and --drop need --embedder NAME: which one?")
    if embedder is None:
        _rebuild(project, as_json=as_json)
        return
    from agentkit.cli import succeeding

    if drop:
        succeeding.drop(project, embedder, as_json=as_json)
    elif switch:
        succeeding.switch(project, embedder, as_json=as_json)
    else:
        succeeding.try_out(project, embedder, queries=queries, as_json=as_json)


def _rebuild(project: ProjectOption, *, as_json: bool) -> None:
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
        print_json({"ok": not report.problem, **index_json(report)})
    else:
        show_index(report)
    if report.problem:
        raise typer.Exit(1)


def index_json(report: "SettleReport") -> dict[str, object]:
    """Return what became of the index as JSON holds it."""
    return {"indexed": report.indexed, "waiting": report.waiting, "problem": report.problem}


def show_index(report: "SettleReport") -> None:
    """Print what became of the index for a person."""
    typer.echo(f"{report.indexed} keys written to the index, {report.waiting} waiting")
    if report.problem:
        typer.echo(f"error: {report.problem}", err=True)
