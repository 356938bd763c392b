"""`agentkit sessions`: the conversations of a user."""

from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import JsonOption, ProjectOption, UserOption

if TYPE_CHECKING:
    from agentkit.store import SessionSummary

GOAL_CHARS = 200


def list_sessions(
    user: UserOption,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000)] = 50,
    offset: Annotated[
        int, typer.Option("--offset", metavar="N", min=0, help="How many to skip.")
    ] = 0,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """List sessions, the last used first, with the open task or how the last one ended."""
    import asyncio

    from agentkit.cli.output import print_json, print_table
    from agentkit.kit import Kit
    from agentkit.records import Scope

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            zone = kit.settings.zone()
            found = await kit.sessions(scope=scope, limit=limit, offset=offset)
        if as_json:
            print_json({"sessions": [_document(one) for one in found]})
        elif not found:
            typer.echo("no sessions")
        else:
            rows = [
                [
                    one.session_id,
                    _state(one),
                    f"{one.started_at.astimezone(zone):%Y-%m-%d %H:%M}",
                    f"{one.last_at.astimezone(zone):%Y-%m-%d %H:%M}",
                    str(one.steps),
                ]
                for one in found
            ]
            print_table(["id", "task", "begun", "last", "steps"], rows)

    asyncio.run(run())


def _state(one: "SessionSummary") -> str:
    """Return the task that is open, or the last one and the boundary that ended it."""
    from agentkit.text import one_line

    goal = one_line(one.goal, limit_chars=GOAL_CHARS)
    return f"{'open' if one.open else one.last_boundary}: {goal}"


def _document(one: "SessionSummary") -> dict[str, object]:
    return {
        "session_id": one.session_id,
        "agent_id": one.scope.agent_id,
        "open": one.open,
        "goal": one.goal,
        "last_boundary": one.last_boundary,
        "started_at": one.started_at.isoformat(),
        "last_at": one.last_at.isoformat(),
        "tasks": one.tasks,
        "steps": one.steps,
    }
