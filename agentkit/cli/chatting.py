"""`agentkit run` and `agentkit chat`: the project's agent at work."""

from typing import TYPE_CHECKING, Annotated, Any

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
    from pathlib import Path

    from agentkit.chat import Conversation, Done
    from agentkit.cli.lines import Lines
    from agentkit.cli.terminal import Terminal

PROMPT = "> "
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it


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


def chat(
    user: UserOption,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="Go on with this session, or begin it."),
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    project: ProjectOption = None,
) -> None:
    """Talk with the project's agent, which learns from each task.

    Ctrl-C stops the answer, a second one leaves; /help lists the commands.
    """
    import asyncio
    import sys

    from agentkit.records import Scope

    Scope(user)
    overrides = overrides_given(model=model, base_url=base_url)
    try:
        failures = asyncio.run(
            _chat(project, overrides=overrides, user_id=user, session_id=session)
        )
    except asyncio.CancelledError:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if failures and not sys.stdin.isatty():
        raise typer.Exit(1)


async def _chat(
    project: "Path | None", *, overrides: dict[str, Any], user_id: str, session_id: str | None
) -> int:
    """Talk until the user leaves; return how many answers failed."""
    import sys

    from agentkit.chat import Conversation, Note, make_agent
    from agentkit.cli.lines import Lines
    from agentkit.cli.terminal import Terminal
    from agentkit.kit import Kit

    terminal = Terminal(out=sys.stdout, aside=sys.stderr)
    async with Kit.open(project, **overrides) as kit:
        conversation = Conversation(
            kit, make_agent(kit), user_id=user_id, session_id=session_id, tell=terminal.tell
        )
        name = conversation.session_id
        terminal.tell(Note(f"session {name} of {user_id}; /help lists the commands"))
        lines = Lines(sys.stdin.fileno())
        _stop_on_interrupt(conversation, lines)
        async with conversation:
            await _converse(conversation, lines, terminal)
    return conversation.failures


async def _converse(conversation: "Conversation", lines: "Lines", terminal: "Terminal") -> None:
    """Hand on line after line until there are no more, or the user leaves."""
    import sys

    going_on = True
    while going_on:
        terminal.end_line()
        if sys.stdin.isatty():
            typer.echo(PROMPT, nl=False)
        line = await lines.next()
        going_on = line is not None and await conversation.hear(line)
    lines.close()


def _stop_on_interrupt(conversation: "Conversation", lines: "Lines") -> None:
    """Let Ctrl-C stop the answer, then end the conversation, then its end."""
    import asyncio
    import signal

    main = asyncio.current_task()
    assert main is not None, "called within a coroutine"

    def interrupted() -> None:
        if conversation.interrupt():
            return
        if lines.closed or conversation.busy:
            main.cancel()
        lines.close()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)


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
