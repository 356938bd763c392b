"""`agentkit memories edit | restore` and `agentkit purge`: what a person changes, and erases."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import JsonOption, ProjectOption, UserOption

if TYPE_CHECKING:
    from agentkit.kit import Kit
    from agentkit.records import Memory, Scope
    from agentkit.store import Keep, PurgeReport

MemoryIdArgument = Annotated[str, typer.Argument(metavar="MEMORY_ID", help="Full id.")]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept.")]

NO_TIME = "none"


def edit_memory(
    memory_id: MemoryIdArgument,
    user: UserOption,
    content: Annotated[
        str | None, typer.Option("--content", metavar="TEXT", help="What it is to say.")
    ] = None,
    cue: Annotated[
        list[str] | None,
        typer.Option("--cue", metavar="TEXT", help="All cues from now on: repeat it; '' for none."),
    ] = None,
    add_tag: Annotated[
        list[str] | None, typer.Option("--add-tag", metavar="TAG", help="One more; repeat it.")
    ] = None,
    remove_tag: Annotated[
        list[str] | None, typer.Option("--remove-tag", metavar="TAG", help="One less; repeat it.")
    ] = None,
    valid_from: Annotated[
        str | None,
        typer.Option("--valid-from", metavar="TIME", help="Not true before; ISO 8601, or none."),
    ] = None,
    valid_to: Annotated[
        str | None,
        typer.Option("--valid-to", metavar="TIME", help="Not seen after; ISO 8601, or none."),
    ] = None,
    reason: ReasonOption = "",
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change one memory.

    What you do not name stays as it is; what it said before is in its history.
    """
    import asyncio

    from agentkit.kit import Kit
    from agentkit.records import Scope

    scope = Scope(user)
    begins, ends = _time(valid_from, "--valid-from"), _time(valid_to, "--valid-to")

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            tags = None
            if add_tag or remove_tag:
                memory = await kit.memory(memory_id, scope=scope)
                tags = _tags(kit, memory, add=add_tag or [], remove=remove_tag or [])
            memory = await kit.edit(
                memory_id,
                scope=scope,
                content=content,
                cues=cue,
                tags=tags,
                valid_from=begins,
                valid_to=ends,
                reason=reason,
            )
        _show(memory, "changed", as_json=as_json)

    asyncio.run(run())


def restore_memory(
    memory_id: MemoryIdArgument,
    user: UserOption,
    reason: ReasonOption = "",
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Undo that a memory was forgotten, superseded or archived."""
    import asyncio

    from agentkit.kit import Kit
    from agentkit.records import Scope

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            memory = await kit.restore(memory_id, scope=scope, reason=reason)
        _show(memory, f"restored as {memory.status}", as_json=as_json)

    asyncio.run(run())


def purge(
    user: UserOption,
    memory_id: Annotated[
        str | None,
        typer.Option("--memory", metavar="ID", help="Only this memory, and what it came out of."),
    ] = None,
    keep_episode: Annotated[
        bool,
        typer.Option("--keep-episode", help="With --memory: leave the task that it came out of."),
    ] = False,
    episode_id: Annotated[
        str | None,
        typer.Option("--episode", metavar="ID", help="Only this task, and what rests on it alone."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Really erase. Without it you are told what would be.")
    ] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase for good: a memory, a task, or all of a user. There is no way back.

    Rows, vectors, trajectories, histories, logs and copies go, and the words are taken out of
    what stays. To stop using a memory, forget it instead.
    """
    import asyncio

    from agentkit.cli.edge import EXIT_FAILED, EXIT_USAGE
    from agentkit.errors import InputError
    from agentkit.kit import Kit
    from agentkit.records import Scope

    scope = Scope(user)
    if memory_id is not None and episode_id is not None:
        raise InputError("--memory and --episode were both given; purge one after the other")
    if keep_episode and memory_id is None:
        raise InputError("--keep-episode goes with --memory")

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            report = await _purge(
                kit,
                scope,
                memory_id=memory_id,
                episode_id=episode_id,
                keep_episode=keep_episode,
                rehearse=not yes,
            )
        _show_purge(report, really=yes, as_json=as_json)
        if not yes:
            typer.echo("nothing was erased; add --yes to erase it for good", err=True)
            raise typer.Exit(EXIT_USAGE)
        if report.left:
            raise typer.Exit(EXIT_FAILED)

    asyncio.run(run())


async def _purge(
    kit: "Kit",
    scope: "Scope",
    *,
    memory_id: str | None,
    episode_id: str | None,
    keep_episode: bool,
    rehearse: bool,
) -> "PurgeReport":
    if memory_id is not None:
        return await kit.purge_memory(
            memory_id, scope=scope, with_episode=not keep_episode, rehearse=rehearse
        )
    if episode_id is not None:
        return await kit.purge_episode(episode_id, scope=scope, rehearse=rehearse)
    return await kit.purge_user(scope=scope, rehearse=rehearse)


def _tags(kit: "Kit", memory: "Memory", *, add: list[str], remove: list[str]) -> list[str]:
    """Return the tags of a memory with some more and some less."""
    from agentkit.errors import InputError
    from agentkit.policy.tags import parse_tags

    less = parse_tags(remove, kit.policy.taxonomy)
    for tag in less:
        if tag not in memory.tags:
            held = ", ".join(map(str, memory.tags)) or "none"
            raise InputError(f"the memory does not carry {tag}; its tags are: {held}")
    more = parse_tags(add, kit.policy.taxonomy)
    return [str(tag) for tag in sorted({*memory.tags, *more} - set(less))]


def _time(given: str | None, option: str) -> "datetime | Keep | None":
    """Return the instant that an option names; local time where it names no offset."""
    from agentkit.errors import InputError
    from agentkit.store import KEEP

    if given is None:
        return KEEP
    if given.strip().casefold() == NO_TIME:
        return None
    try:
        return datetime.fromisoformat(given.strip()).astimezone()
    except ValueError as error:
        raise InputError(
            f"{option} {given!r} is no time; write it like 2027-01-31T18:00+01:00, or none"
        ) from error


def _show(memory: "Memory", what: str, *, as_json: bool) -> None:
    from agentkit.cli.output import print_json
    from agentkit.serve.documents import memory_document

    if as_json:
        print_json(memory_document(memory))
    else:
        typer.echo(f"{what}: {memory.memory_id}\n{memory.content}")


def _show_purge(report: "PurgeReport", *, really: bool, as_json: bool) -> None:
    from agentkit.cli.output import print_json, print_table

    if as_json:
        print_json(
            {
                "purged": really,
                "memory_ids": list(report.target.memory_ids),
                "episode_ids": list(report.target.episode_ids),
                "erased": dict(report.erased),
                "rewritten": dict(report.rewritten),
                "left": list(report.left),
            }
        )
        return
    done = "erased" if really else "would be erased"
    rows = [[done, kind, str(number)] for kind, number in report.erased.items()]
    rows += [["taken out of", kind, str(number)] for kind, number in report.rewritten.items()]
    if rows:
        print_table(["what", "kind", "number"], rows)
    else:
        typer.echo("there is nothing of this user")
    for line in report.left:
        typer.echo(f"left: {line}", err=True)
