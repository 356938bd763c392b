"""`agentkit reindex --embedder`: try another embedder out, switch to it, or drop its vectors."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentkit.cli.indexing import index_json, show_index
from agentkit.cli.options import project_root
from agentkit.cli.output import print_json, print_table, progress_bar
from agentkit.cli.rewriting import settle_embedder
from agentkit.kit import Kit
from agentkit.kit.succession import other_embedder

if TYPE_CHECKING:
    from agentkit.store import Agreement, Comparison, FillReport, SwitchReport

RESTART = "processes that run already go by words alone until they are started anew"


def try_out(project: Path | None, name: str, *, queries: int, as_json: bool) -> None:
    """Make the vectors of an embedder, and compare it with the one in use.

    Args:
        project: Folder as given.
        name: The other embedder.
        queries: Most logged queries to compare on.
        as_json: Whether to print one JSON document.

    Raises:
        AgentkitError: If it cannot be done; what was embedded stays.
    """

    async def run() -> "tuple[FillReport, Comparison | None]":
        new = other_embedder(name)
        async with _opened(project) as kit:
            with progress_bar(f"embedding with {name}", shown=not as_json) as advance:
                filled = await kit.fill_embedder(new, progress=advance)
            with progress_bar("comparing on the logged queries", shown=not as_json) as advance:
                compared = await kit.compare_embedders(new, queries=queries, progress=advance)
            return filled, compared

    filled, compared = asyncio.run(run())
    if as_json:
        document = None if compared is None else asdict(compared)
        print_json({"ok": True, "filled": asdict(filled), "comparison": document})
        return
    typer.echo(
        f"{filled.embedded} keys embedded with {filled.embedder}, "
        f"{filled.keys - filled.embedded} had been before"
    )
    _show_comparison(compared)
    typer.echo(
        f"agentkit reindex --embedder {name} --switch changes over to it, --drop removes it again"
    )


def switch(project: Path | None, name: str, *, as_json: bool) -> None:
    """Change over to an embedder, and let the settings say so.

    Args:
        project: Folder as given.
        name: The other embedder.
        as_json: Whether to print one JSON document.

    Raises:
        AgentkitError: If it cannot be done.
        typer.Exit: With 1 where the index is not whole, or the owner has to change a setting.
    """

    async def run() -> "SwitchReport":
        new = other_embedder(name)
        async with _opened(project) as kit:
            with progress_bar(f"changing over to {name}", shown=not as_json) as advance:
                return await kit.switch_embedder(new, progress=advance)

    done = asyncio.run(run())
    left = settle_embedder(project_root(project), name)
    ok = not left and not done.index.problem
    if as_json:
        report = {"old": done.old, "new": done.new, "embedded": done.embedded}
        print_json({"ok": ok, **report, "index": index_json(done.index), "to_do": left})
    else:
        _show_switch(done, left)
    if not ok:
        raise typer.Exit(1)


def drop(project: Path | None, name: str, *, as_json: bool) -> None:
    """Remove the vectors of an embedder that is not in use.

    Args:
        project: Folder as given.
        name: The embedder.
        as_json: Whether to print one JSON document.

    Raises:
        InputError: If it is in use.
    """

    async def run() -> list[dict[str, object]]:
        async with _opened(project) as kit:
            return [asdict(one) for one in await kit.drop_embedder(name)]

    dropped = asyncio.run(run())
    if as_json:
        print_json({"ok": True, "dropped": dropped})
        return
    for one in dropped:
        typer.echo(f"{one['vectors']} vectors of {one['fingerprint']} removed")
    if not dropped:
        typer.echo(f"there are no vectors of {name}; nothing was removed")


@asynccontextmanager
async def _opened(project: Path | None) -> AsyncGenerator[Kit]:
    """Open a project whatever embedder its settings name: it may be the old or the new one."""
    kit = Kit.open(project, embedder="none", worker="external")
    try:
        yield kit
    finally:
        await kit.aclose()


def _show_switch(done: "SwitchReport", left: str) -> None:
    if done.old == done.new:
        typer.echo(f"{done.new} is in use already")
    else:
        typer.echo(f"recall goes by {done.new} now; {done.embedded} keys were embedded for it")
    show_index(done.index)
    if done.old not in (None, done.new):
        name = str(done.old).rpartition("@")[0]
        typer.echo(
            f"the vectors of {done.old} are kept: --embedder {name} --switch goes back, "
            f"--embedder {name} --drop removes them"
        )
        typer.echo(RESTART)
    if left:
        typer.echo(f"error: one thing is left to do: {left}", err=True)


def _show_comparison(compared: "Comparison | None") -> None:
    if compared is None:
        typer.echo("no other embedder is in use, so there is nothing to compare with")
        return
    if not compared.logged:
        typer.echo("not compared: no recall is in the log yet")
        return
    overall = compared.overall
    rows = [_row("all", overall)]
    if len(compared.languages) > 1:
        rows += [_row(language, one) for language, one in compared.languages.items()]
    title = f"{compared.new.fingerprint} against {compared.old.fingerprint}"
    headings = ["queries", "used", "overlap@10", "of", "helpful"]
    headings += ["rank old", "rank new", "MRR old", "MRR new"]
    print_table(headings, rows, title=title)
    typer.echo(
        f"{compared.logged} logged queries were looked at, {overall.queries} could be ranked"
    )
    if overall.telling < overall.queries:
        typer.echo(
            f"{overall.queries - overall.telling} had at most 10 memories to choose from: their "
            "overlap would be 1 with any embedder and is left out"
        )
    if overall.helpful:
        typer.echo("the helpful ones were found with the old embedder, so the log flatters it")


def _row(name: str, one: "Agreement") -> list[str]:
    ranks = [_shown(one.old_rank, 1), _shown(one.new_rank, 1)]
    reciprocal = [_shown(one.old_mrr, 3), _shown(one.new_mrr, 3)]
    counts = [name, str(one.queries), _shown(one.overlap, 3), str(one.telling), str(one.helpful)]
    return [*counts, *ranks, *reciprocal]


def _shown(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
