"""`agentkit doctor --consistency`: do SQL, index and trajectories agree?"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentkit.cli.output import print_table, progress_bar

if TYPE_CHECKING:
    from agentkit.store import Consistency

_SHOWN = 3


async def prove(root: Path, *, mend: bool, shown: bool) -> "Consistency":
    """Return how a project stands, after mending it where that is wanted.

    Args:
        root: Folder of the project.
        mend: Whether to mend what can be mended.
        shown: Whether to show a progress bar.

    Raises:
        StoreError: If the project cannot be opened, or mended.
    """
    from agentkit.kit import Kit

    kit = Kit.open(root, worker="external")
    try:
        with progress_bar("comparing", shown=shown) as advance:
            found = await kit.prove(progress=advance)
        if not mend or found.ok:
            return found
        with progress_bar("mending", shown=shown) as advance:
            await kit.mend(found, progress=advance)
        with progress_bar("comparing again", shown=shown) as advance:
            return await kit.prove(progress=advance)
    finally:
        await kit.aclose()


def consistency_json(found: "Consistency") -> dict[str, object]:
    """Return a proof as JSON holds it."""
    return {
        "ok": found.ok,
        "keys": found.keys,
        "indexed": found.indexed,
        "trajectories": found.blobs,
        "disagreements": [
            {
                "kind": item.kind,
                "count": len(item.subjects),
                "subjects": list(item.subjects),
                "mendable": item.mendable,
                "fix": item.fix,
            }
            for item in found.disagreements
        ],
    }


def show_consistency(found: "Consistency") -> None:
    """Print a proof for a person."""
    indexed = "not looked at" if found.indexed is None else f"{found.indexed} keys"
    said = f"{found.keys} keys in SQL, index: {indexed}, {found.blobs} trajectories read"
    if found.ok:
        typer.echo(f"SQL, index and trajectories agree: {said}")
        return
    typer.echo(said)
    rows = [
        [item.kind, str(len(item.subjects)), ", ".join(item.subjects[:_SHOWN]), item.fix]
        for item in found.disagreements
    ]
    print_table(["disagreement", "count", "such as", "what to do"], rows)
    for item in found.disagreements:
        typer.echo(f"error: {item.kind}: {len(item.subjects)}", err=True)
