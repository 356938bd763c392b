"""`agentkit import` and `agentkit reflect`: recorded sessions in, lessons out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import JsonOption, ProjectOption, UserOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentkit.evaluation.importers import ImportReport
    from agentkit.records import ReflectionReport

# More than these are counted, not listed: a wrong file would fill the screen.
LISTED_SKIPS = 20


def import_recordings(
    path: Annotated[Path, typer.Argument(help="File of recorded sessions, JSON or JSON Lines.")],
    user: UserOption,
    format_name: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Format; by default told from the content."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Import nothing if any part of the file is damaged.")
    ] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import recorded sessions as episodes.

    Importing a file again adds only what is new. `agentkit reflect` then learns from them.
    """
    import asyncio

    from agentkit.cli.output import print_json, progress_bar
    from agentkit.evaluation.importers import read_recordings
    from agentkit.kit import Kit
    from agentkit.records import Scope

    report = read_recordings(path, format=format_name, strict=strict)
    total = len(report.recordings)

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            with progress_bar("importing", shown=not as_json) as advance:
                counts = await kit.import_recordings(
                    report.recordings,
                    scope=scope,
                    progress=lambda done: advance(done, total),
                )
        if as_json:
            print_json(
                {
                    "format": report.format,
                    "imported": counts.added,
                    "known": counts.known,
                    "skipped": [
                        {"line": item.line, "reason": item.reason} for item in report.skipped
                    ],
                }
            )
            return
        _tell_skipped(report, path)
        typer.echo(
            f"imported {counts.added}, known {counts.known}, skipped {len(report.skipped)} "
            f"({report.format})"
        )
        if counts.added:
            typer.echo(f"next: agentkit reflect --user {user}")

    asyncio.run(run())


def reflect(user: UserOption, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Look back on episodes and keep lessons."""
    import asyncio

    from agentkit.cli.output import print_json, progress_bar
    from agentkit.kit import Kit
    from agentkit.records import Scope
    from agentkit.serve.documents import reflection_document

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            with progress_bar("reflecting", shown=not as_json) as advance:
                reports = await kit.reflect(
                    scope=scope, progress=lambda done, left: advance(done, done + left)
                )
        failed = [report for report in reports if report.error]
        if as_json:
            print_json(
                {
                    "episodes": [reflection_document(report) for report in reports],
                    "added": sum(len(report.admitted) for report in reports),
                    "verified": sum(len(report.verified) for report in reports),
                    "refused": sum(len(report.refused) for report in reports),
                    "failed": len(failed),
                }
            )
        else:
            _show_reports(reports, user=user)
        if failed:
            raise typer.Exit(1)

    asyncio.run(run())


def _tell_skipped(report: "ImportReport", path: Path) -> None:
    for item in report.skipped[:LISTED_SKIPS]:
        typer.echo(f"skipped {path}:{item.line}: {item.reason}", err=True)
    more = len(report.skipped) - LISTED_SKIPS
    if more > 0:
        typer.echo(f"skipped {more} more (all of them with --json)", err=True)


def _show_reports(reports: "Sequence[ReflectionReport]", *, user: str) -> None:
    from agentkit.cli.output import print_table

    if not reports:
        typer.echo("nothing to reflect on")
        return
    rows = [
        [
            report.episode_id,
            "" if report.reflection is None else report.reflection.outcome,
            "" if report.reflection is None else report.reflection.critic,
            str(len(report.admitted)),
            str(len(report.verified)),
            "\n".join(f"{item.action}: {item.reason}" for item in report.refused),
            report.error,
        ]
        for report in reports
    ]
    print_table(
        ["episode", "outcome", "critic", "added", "verified", "not admitted", "error"], rows
    )
    added = sum(len(report.admitted) for report in reports)
    verified = sum(len(report.verified) for report in reports)
    refused = sum(len(report.refused) for report in reports)
    typer.echo(
        f"{len(reports)} episodes: {added} memories added, {verified} verified, {refused} refused"
    )
    if added:
        typer.echo(f"see them: agentkit memories list --user {user}")
