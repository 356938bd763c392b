"""`agentkit worker`: works off jobs until it is told to stop."""

import signal
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import ProjectOption

if TYPE_CHECKING:
    from agentkit.kit import Kit
    from agentkit.records import ReflectionReport


def worker(
    project: ProjectOption = None,
    once: Annotated[
        bool, typer.Option("--once", help="Work off what is due now, then end.")
    ] = False,
) -> None:
    """Reflect on finished tasks for every process that uses this project.

    For projects with `worker: external`. Stop it with Ctrl-C; the job at hand is finished first.
    """
    import asyncio

    from agentkit.kit import Kit

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            if once:
                _tell(await kit.reflect())
                return
            await _tick(kit)

    asyncio.run(run())


async def _tick(kit: "Kit") -> None:
    import asyncio

    from agentkit.jobs import Ticker

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for ending in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(ending, stop.set)
    typer.echo("working; stop with Ctrl-C")
    await Ticker(kit, told=_tell).run(stop)
    typer.echo("stopped")


def _tell(reports: "tuple[ReflectionReport, ...]") -> None:
    from agentkit.text import one_line

    for report in reports:
        said = report.error or f"{len(report.admitted)} lessons, {len(report.verified)} verified"
        typer.echo(f"{report.episode_id}: {one_line(said, limit_chars=200)}")
