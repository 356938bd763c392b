"""`agentkit demo`: the main job end to end, with no key and no network."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentkit.kit import Kit
    from agentkit.records import ReflectionReport, Scope

FOLDER = Path("agentkit-demo")
REPORT = "report.json"
USER = "demo"
SESSIONS = ("office.openai.jsonl", "analyst.pydantic-ai.json")
QUESTIONS = (
    "Averaging the amounts breaks because a few cells hold a word. What then?",
    "打开客户的表格，全是看不懂的字符，怎么办？",
    "Which units should the figures in my write-up have?",
)
SECOND_TASK = "The amount column of invoices.csv has gaps and some text in it. Fill the gaps."
SECOND_ANSWER = "Declared 'N/A' as a missing mark, then filled the gaps with the median."
# State that carries it may be cleared by the next demo; a project's own memories never are.
MARK = ".agentkit/made-by-demo"
SHOWN_LESSONS = 6
SHOWN_HITS = 2
SHOWN_REQUEST_LINES = 7
LESSON_CHARS = 240


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Project folder of the demo; made if missing.")
    ] = FOLDER,
) -> None:
    """Show the whole loop on recorded sessions: no key, no network."""
    import asyncio

    _prepare(folder)
    asyncio.run(_run(folder))


def _prepare(folder: Path) -> None:
    """Make the project, or clear what an earlier demo computed in it; its files stay."""
    import shutil

    from agentkit.errors import InputError
    from agentkit.project import init_project

    state, mark = folder / ".agentkit", folder / MARK
    if state.exists() and not mark.is_file():
        raise InputError(
            f"{state} holds memories that no demo made, and a demo starts from none; "
            "name another folder"
        )
    if not (folder / "agentkit.yaml").is_file():
        init_project(folder)
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    mark.touch()


async def _run(folder: Path) -> None:
    from agentkit.kit import Kit

    async with Kit.open(folder, worker="external", model=None) as kit:
        scope = kit.scope(USER)
        await _import(kit, scope, folder)
        reports = await _reflect(kit, scope)
        await _show_lessons(kit, scope, reports)
        await _ask(kit, scope)
        await _second_task(kit)
    _head("5. How good is that", "computed now: a fresh copy of the sessions, other questions")
    await _evaluate(folder)
    _next_steps(folder)


def _head(title: str, what: str) -> None:
    typer.secho(f"\n{title}", bold=True)
    typer.secho(f"   ({what})", dim=True)


async def _import(kit: "Kit", scope: "Scope", folder: Path) -> None:
    from agentkit.evaluation.importers import read_recordings

    _head(
        "1. Recorded sessions become episodes",
        "recorded: the sessions were written by us; nothing is sent to any model",
    )
    for name in SESSIONS:
        path = folder / "evals" / "sessions" / name
        report = read_recordings(path)
        counts = await kit.import_recordings(report.recordings, scope=scope)
        typer.echo(f"   {path}: {counts.added} tasks ({report.format})")


async def _reflect(kit: "Kit", scope: "Scope") -> "Sequence[ReflectionReport]":
    from agentkit.cli.output import progress_bar

    _head(
        "2. Each episode is looked back on",
        "computed now: by the rule critic, since no model is set",
    )
    with progress_bar("reflecting", shown=True) as advance:
        reports = await kit.reflect(
            scope=scope, progress=lambda done, left: advance(done, done + left)
        )
    added = sum(len(report.admitted) for report in reports)
    refused = sum(len(report.refused) for report in reports)
    typer.echo(f"   {len(reports)} episodes: {added} lessons admitted, {refused} refused")
    return reports


async def _show_lessons(kit: "Kit", scope: "Scope", reports: "Sequence[ReflectionReport]") -> None:
    """Show the first lesson of each episode, so that they are of several kinds."""
    from agentkit.cli.output import print_wrapped
    from agentkit.cli.showing import cited
    from agentkit.text import one_line

    ids = [report.admitted[0] for report in reports if report.admitted]
    typer.echo("   The first lesson of some, with the step it cites:")
    for memory_id in ids[:SHOWN_LESSONS]:
        memory = await kit.memory(memory_id, scope=scope)
        print_wrapped(one_line(memory.content, limit_chars=LESSON_CHARS), lead="   * ")
        print_wrapped(cited(memory), lead="     ", dim=True)


async def _ask(kit: "Kit", scope: "Scope") -> None:
    from agentkit.cli.output import print_wrapped
    from agentkit.text import one_line

    _head(
        "3. Questions worded otherwise find them",
        "computed now: by meaning and words, with the bundled embedder",
    )
    for question in QUESTIONS:
        result = await kit.recall(kit.query(question, top_k=SHOWN_HITS), scope=scope)
        print_wrapped(question, lead="   ? ")
        for hit in result.hits:
            said = one_line(hit.memory.content, limit_chars=LESSON_CHARS)
            print_wrapped(said, lead="     - ")
            print_wrapped(hit.explanation, lead="       ", dim=True)
    stranger = await kit.recall(QUESTIONS[0], scope=kit.scope("somebody-else"))
    print_wrapped(
        f"The first question, asked by another user, finds {len(stranger.hits)} memories.",
        lead="   ",
    )


async def _second_task(kit: "Kit") -> None:
    from agentkit.capability import Hindsight
    from agentkit.cli.output import print_wrapped
    from agentkit.testing import Script, scripted_agent

    _head(
        "4. A second, similar task begins",
        "the model is scripted; what it is sent is computed now",
    )
    script = Script([SECOND_ANSWER])
    agent = scripted_agent(
        script,
        instructions="You keep tables in order.",
        capabilities=[Hindsight(kit, user_id=USER)],
    )
    await agent.run(SECOND_TASK)
    typer.echo("   The request that the model is sent: the task, then what was learnt before.")
    lines = script.sent(0).splitlines()
    for line in lines[:SHOWN_REQUEST_LINES]:
        print_wrapped(line, lead="   | ")
    more = len(lines) - SHOWN_REQUEST_LINES
    if more > 0:
        print_wrapped(f"({more} more lines like these)", lead="   | ", dim=True)


async def _evaluate(folder: Path) -> None:
    import json

    from agentkit.cli.output import console, print_wrapped
    from agentkit.cli.replaying import replay
    from agentkit.evaluation import SessionsSuite, caption, load_suite, table

    path = folder / "evals" / "suites" / "demo.yaml"
    suite = load_suite(path)
    assert isinstance(suite, SessionsSuite), "the shipped demo suite replays sessions"
    report = await replay(suite, folder=path.parent, root=folder, progress=lambda _, __: None)
    console().print(table(report))
    print_wrapped(caption(report))
    print_wrapped(
        "any-hit@3: the share of questions with a right memory among the first three; "
        "MRR: the mean of 1 / rank of the first right one."
    )
    text = json.dumps(report.to_json(), ensure_ascii=False, indent=2)
    (folder / REPORT).write_text(text + "\n", encoding="utf-8")


def _next_steps(folder: Path) -> None:
    from agentkit.cli.output import print_wrapped

    typer.secho("\nWhat to do next", bold=True)
    for step in (
        f"cd {folder}; put a model into agentkit.yaml, and its key into your environment",
        'edit memory/decay.yaml, then run `agentkit recall "..." --user demo --explain`',
        f"read {REPORT}, then run `agentkit eval evals/suites/demo.yaml` for yourself",
    ):
        print_wrapped(step, lead="   * ")
