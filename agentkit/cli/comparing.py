"""`agentkit doctor --overlap`: how much of the exact scan does the approximate plan find?"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from agentkit.kit.overlapping import OverlapReport


def compare_plans(root: Path, user: str, *, as_json: bool) -> None:
    """Measure the approximate plan on the logged queries of a user, and show what was found.

    Args:
        root: Folder of the project.
        user: Whose queries and memories.
        as_json: Whether to print one JSON document.

    Raises:
        AgentkitError: If the project cannot be opened, or the user's name is none.
        typer.Exit: With 1 where the approximate plan cannot be had.
    """
    import asyncio
    from dataclasses import asdict

    from agentkit.cli.output import print_json

    found = asyncio.run(_measure(root, user, shown=not as_json))
    if as_json:
        print_json({"ok": not found.problem, **asdict(found)})
    else:
        typer.echo(_said(found), err=bool(found.problem))
    if found.problem:
        raise typer.Exit(1)


async def _measure(root: Path, user: str, *, shown: bool) -> "OverlapReport":
    from agentkit.cli.output import progress_bar
    from agentkit.kit import Kit
    from agentkit.records import Scope

    kit = Kit.open(root, worker="external")
    try:
        with progress_bar("answering with both plans", shown=shown) as advance:
            return await kit.measure_overlap(scope=Scope(user), progress=advance)
    finally:
        await kit.aclose()


def _said(found: "OverlapReport") -> str:
    if found.problem:
        return f"error: the approximate plan cannot be had: {found.problem}"
    if found.overlap is None:
        return f"{found.logged} logged queries were looked at; none could be compared"
    return (
        f"{found.overlap:.1%} of the exact ten best found, over {found.queries} queries; "
        f"approximate {found.approximate_ms:.0f} ms, exact {found.exact_ms:.0f} ms"
    )
