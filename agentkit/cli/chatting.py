"""`agentkit run` and `agentkit chat`: the project's agent at work."""

from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import (
    BaseUrlOption,
    JsonOption,
    ModelOption,
    ProjectOption,
    UserOption,
    overrides_given,
)

if TYPE_CHECKING:
    from agentkit.chat import Done


def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What is to be done, in words.")],
    user: UserOption,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have the project's agent do one task, and learn from it.

    The answer goes to stdout; what was recalled and what was learnt to stderr.
    """
    import asyncio
    import sys

    from agentkit.chat import make_agent, run_task
    from agentkit.cli.output import print_json
    from agentkit.cli.terminal import Terminal
    from agentkit.errors import InputError
    from agentkit.kit import Kit
    from agentkit.records import Scope

    Scope(user)
    if not task.strip():
        raise InputError("the task is blank; say in words what is to be done")
    overrides = overrides_given(model=model, base_url=base_url)

    async def work() -> None:
        async with Kit.open(project, **overrides) as kit:
            agent = make_agent(kit)
            terminal = Terminal(out=sys.stdout, aside=sys.stderr)
            try:
                done = await run_task(
                    kit,
                    agent,
                    task,
                    user_id=user,
                    tell=terminal.tell_nothing if as_json else terminal.tell,
                    stream=sys.stdout.isatty() and not as_json,
                )
            finally:
                terminal.end_line()
        if as_json:
            print_json(_document(done))

    asyncio.run(work())


def _document(done: "Done") -> dict[str, object]:
    """Return a task that is over as a document."""
    from agentkit.serve.documents import memory_document

    answer, learnt = done.answer, done.learnt
    recalled = answer.recalled
    return {
        "answer": answer.text,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "retrieval_id": None if recalled is None else recalled.retrieval_id,
        "recalled": [
            {**memory_document(one.memory), "explanation": one.explanation}
            for one in (() if recalled is None else recalled.memories)
        ],
        "episode_id": None if learnt is None else learnt.episode.episode_id,
        "outcome": None if learnt is None else learnt.episode.outcome,
        "reflected": learnt is not None and learnt.episode.reflected_at is not None,
        "learnt": [
            memory_document(memory) for memory in (() if learnt is None else learnt.memories)
        ],
    }
