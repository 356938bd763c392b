"""`agentkit memories`: what is remembered, how it came about, and changing it."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from agentkit.cli import changing
from agentkit.cli.groups import command_group
from agentkit.cli.options import JsonOption, ProjectOption, TypeOption, UserOption

if TYPE_CHECKING:
    from agentkit.records import Memory, MemoryEvent, MemoryStatus, Step

app = command_group("Look at what is remembered, and change it.")

MemoryIdArgument = Annotated[str, typer.Argument(metavar="MEMORY_ID", help="Full id.")]

SHOWN_CHARS = 200


@app.command("list")
def list_memories(
    user: UserOption,
    memory_type: TypeOption = None,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="STATUS", help="Such as active or disputed; repeat it."),
    ] = None,
    tag: Annotated[str | None, typer.Option("--tag", metavar="TAG", help="facet:value.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000)] = 50,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0)] = 0,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories, newest first."""
    import asyncio

    from agentkit.cli import words
    from agentkit.cli.output import memory_cell, print_json, print_table
    from agentkit.kit import Kit
    from agentkit.policy.tags import parse_tag
    from agentkit.records import Scope
    from agentkit.serve.documents import memory_document

    wanted_type = None if memory_type is None else words.memory_type(memory_type)
    statuses: list[MemoryStatus] | None = None
    if status is not None:
        statuses = [words.memory_status(word) for word in status]

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            wanted_tag = None if tag is None else parse_tag(tag, kit.policy.taxonomy)
            found = await kit.memories(
                scope=scope,
                statuses=statuses,
                memory_type=wanted_type,
                tag=wanted_tag,
                limit=limit,
                offset=offset,
            )
        if as_json:
            print_json({"memories": [memory_document(memory) for memory in found]})
        elif not found:
            typer.echo("no memories")
        else:
            rows = [[memory.status, memory_cell(memory), memory.memory_id] for memory in found]
            print_table(["status", "memory", "id"], rows)

    asyncio.run(run())


@app.command("show")
def show_memory(
    memory_id: MemoryIdArgument,
    user: UserOption,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one memory and what it rests on."""
    import asyncio

    from agentkit.cli.output import print_json
    from agentkit.kit import Kit
    from agentkit.records import Scope
    from agentkit.serve.documents import memory_document

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            memory = await kit.memory(memory_id, scope=scope)
            steps: tuple[Step, ...] = ()
            if memory.episode_id is not None and memory.evidence:
                trajectory = await kit.trajectory(memory.episode_id, scope=scope)
                cited = {item.step_id for item in memory.evidence}
                steps = tuple(step for step in trajectory.steps if step.step_id in cited)
        if as_json:
            print_json(memory_document(memory))
        else:
            _show(memory, steps)

    asyncio.run(run())


@app.command("history")
def show_history(
    memory_id: MemoryIdArgument,
    user: UserOption,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every change of one memory."""
    import asyncio

    from agentkit.cli.output import print_json, print_table
    from agentkit.kit import Kit
    from agentkit.records import Scope
    from agentkit.serve.documents import event_document

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            events = await kit.history(memory_id, scope=scope)
        if as_json:
            print_json(
                {"memory_id": memory_id, "events": [event_document(event) for event in events]}
            )
            return
        print_table(
            ["at", "what", "by", "reason", "change"],
            [
                [
                    event.at.strftime("%Y-%m-%d %H:%M:%S"),
                    event.kind,
                    event.actor,
                    event.reason,
                    _change(event),
                ]
                for event in events
            ],
        )

    asyncio.run(run())


app.command("edit")(changing.edit_memory)
app.command("restore")(changing.restore_memory)


def _change(event: "MemoryEvent") -> str:
    """Return the fields that an event changed, a line each: `status: active -> forgotten`."""
    import json

    old, new = json.loads(event.old or "{}"), json.loads(event.new or "{}")
    return "\n".join(
        f"{name}: {_value(old[name])} -> {_value(new.get(name))}"
        if name in old
        else f"{name}: {_value(new[name])}"
        for name in dict.fromkeys((*old, *new))
    )


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    if isinstance(value, float):
        return f"{value:.2f}"
    return "none" if value is None else str(value)


def _show(memory: "Memory", steps: "tuple[Step, ...]") -> None:
    from agentkit.cli.output import print_table
    from agentkit.serve.documents import memory_document
    from agentkit.text import one_line

    typer.echo(memory.content)
    document = memory_document(memory)
    left_out = {"content", "evidence", "tags", "cues"}
    rows = [
        [name, str(value)]
        for name, value in document.items()
        if name not in left_out and value not in (None, "", False)
    ]
    rows.append(["tags", ", ".join(map(str, memory.tags))])
    rows.append(["cues", "; ".join(memory.cues)])
    print_table(["field", "value"], rows)
    texts = {step.step_id: step.text for step in steps}
    for item in memory.evidence:
        typer.echo(f"{item.step_id}: {item.quote}")
        if item.step_id in texts:
            typer.echo(f"    {one_line(texts[item.step_id], limit_chars=SHOWN_CHARS)}")
