"""`agentkit export` and `agentkit restore`: the memory of a project as one file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import JsonOption, ProjectOption

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from agentkit.kit import Kit
    from agentkit.records import Scope
    from agentkit.store import RestoreReport

# Books of the store that a person did not write.
UNTOLD = frozenset({"scope", "policy_version", "purge_mark"})


def export(
    file: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write; compressed if it ends in .gz."
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="Whose memory."),
    ] = None,
    everybody: Annotated[
        bool, typer.Option("--all", help="The memory of all users, in place of --user.")
    ] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write everything into one file.

    Memories with history and vectors, episodes with trajectories, jobs, the retrieval log; also
    what is forgotten or expired. Exit code 1: a trajectory is missing here, all else was written.
    """
    import asyncio

    from agentkit.cli.output import print_json, progress_bar
    from agentkit.kit import Kit

    scope = _whose(user, everybody=everybody)

    async def run(kit: Kit) -> None:
        with progress_bar("exporting", shown=not as_json) as advance:
            report = await kit.export_to(file, scope=scope, progress=advance)
        if as_json:
            print_json(
                {
                    "file": str(report.file),
                    "records": dict(report.counts),
                    "size_bytes": report.size_bytes,
                    "sha256": report.sha256,
                    "lost": list(report.lost),
                }
            )
        else:
            size = f"{report.size_bytes / 1e6:.1f} MB"
            typer.echo(f"wrote {report.file}: {_told(report.counts)}; {size}")
            for episode_id in report.lost:
                typer.echo(f"error: the trajectory of {episode_id} is missing here", err=True)
        if report.lost:
            raise typer.Exit(1)

    asyncio.run(_with_kit(project, run))


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `export` wrote.")],
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="Only the part of this user; by default all."),
    ] = None,
    as_user: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", help="The name that this user gets here."),
    ] = None,
    with_purged: Annotated[
        bool,
        typer.Option("--with-purged", help="Bring back even what was purged here since."),
    ] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put back what an export holds.

    All of it or nothing. Nothing is reflected on again, and restoring a file twice adds nothing.
    What is here in another state is refused. What was purged here since the file was written stays
    gone, and is counted.
    """
    import asyncio

    from agentkit.cli.output import print_json, progress_bar
    from agentkit.kit import Kit
    from agentkit.records import Scope

    scope = None if user is None else Scope(user)
    as_scope = None if as_user is None else Scope(as_user)

    async def run(kit: Kit) -> None:
        with progress_bar("restoring", shown=not as_json) as advance:
            report = await kit.restore_from(
                file, scope=scope, as_scope=as_scope, with_purged=with_purged, progress=advance
            )
        # Embedding anew may take long, and is done by whoever works here next.
        settled = None if report.embedder_note else await kit.settle()
        if as_json:
            print_json(
                {
                    "file": str(report.file),
                    "added": dict(report.added),
                    "known": dict(report.known),
                    "purged": dict(report.purged),
                    "kept": report.kept,
                    "indexed": 0 if settled is None else settled.indexed,
                    "note": report.embedder_note,
                }
            )
        else:
            _tell(report)

    asyncio.run(_with_kit(project, run))


def _whose(user: str | None, *, everybody: bool) -> "Scope | None":
    from agentkit.errors import InputError
    from agentkit.records import Scope

    if everybody == (user is not None):
        raise InputError("say whose memory: either --user NAME, or --all for everybody's")
    return None if user is None else Scope(user)


async def _with_kit(project: Path | None, run: "Callable[[Kit], Awaitable[None]]") -> None:
    """Run on an open project without starting its background: nothing is to change meanwhile."""
    from agentkit.kit import Kit

    kit = Kit.open(project, worker="external")
    try:
        await run(kit)
    finally:
        await kit.aclose()


def _told(counts: "Mapping[str, int]") -> str:
    """Return counts in words, such as `2 episodes, 1 memory`."""
    told = [
        f"{count} {_plural(name) if count != 1 else name}"
        for name, count in counts.items()
        if count and name not in UNTOLD
    ]
    return ", ".join(told) or "nothing"


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _tell(report: "RestoreReport") -> None:
    typer.echo(f"restored {_told(report.added)}")
    if any(name not in UNTOLD for name in report.known):
        typer.echo(f"here already: {_told(report.known)}")
    if report.purged:
        typer.echo(f"purged here since, left out: {_told(report.purged)} (see --with-purged)")
    if report.kept:
        typer.echo(f"changed here by a purge, left as they are: {report.kept} records")
    if report.embedder_note:
        typer.echo(f"note: {report.embedder_note}", err=True)
