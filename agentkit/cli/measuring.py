"""`agentkit eval`: score recall on a corpus, lessons on sessions, or rules on boundaries."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import JsonOption, ProjectOption, project_root

if TYPE_CHECKING:
    from rich.table import Table

    from agentkit.evaluation.boundaries import BoundariesReport
    from agentkit.evaluation.report import EvalReport
    from agentkit.evaluation.retrieval import Progress
    from agentkit.evaluation.suites import BoundariesSuite, RetrievalSuite
    from agentkit.project import Project

Advance = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choices:
    """What the caller chose besides the suite."""

    root: Path
    data: Path | None
    limit: int | None
    cache: Path | None
    half: str | None


def evaluate(
    suite: Annotated[
        Path, typer.Argument(metavar="SUITE", help="Suite file, or name of one that ships.")
    ],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Folder or file of the corpus.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Ask at most N questions.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="DIR", help="Keep embeddings there between runs."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the JSON there as well.")
    ] = None,
    half: Annotated[
        str | None, typer.Option("--half", help="Boundary suites: report or fit.")
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure recall with a suite.

    A retrieval suite compares our recall with words alone, meaning alone, and an even mix of
    both, on a corpus given by --data; that of `pairs` ships. A session suite replays recorded
    sessions and asks what was learnt. A boundary suite asks the rules where a task ends; with
    `--half fit` it lists the cases they got wrong. None touches what the project remembers.
    """
    import asyncio
    import json

    from agentkit.cli.output import console, print_json, progress_bar

    choices = _Choices(root=project_root(project), data=data, limit=limit, cache=cache, half=half)
    with progress_bar("measuring", shown=not as_json) as advance:
        report = asyncio.run(_run(suite, choices=choices, advance=advance))
    document = report.to_json()
    if out is not None:
        _write(out, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    if as_json:
        print_json(document)
    else:
        shown, said = _shown(report)
        console().print(shown)
        typer.echo(said)


def _shown(report: "EvalReport | BoundariesReport") -> "tuple[Table, str]":
    """Return the table, and the lines under it."""
    from agentkit.evaluation import boundaries
    from agentkit.evaluation import report as recall

    if isinstance(report, boundaries.BoundariesReport):
        return boundaries.table(report), boundaries.caption(report)
    return recall.table(report), recall.caption(report)


async def _run(
    suite: Path, *, choices: _Choices, advance: Advance
) -> "EvalReport | BoundariesReport":
    from agentkit.cli.replaying import replay
    from agentkit.errors import InputError
    from agentkit.evaluation.suites import BoundariesSuite, SessionsSuite, load_suite
    from agentkit.project import Project

    file = _find_suite(suite, Project(choices.root))
    loaded = load_suite(file)
    if isinstance(loaded, BoundariesSuite):
        return await _ask_rules(loaded, folder=file.parent, choices=choices)
    if choices.half is not None:
        raise InputError("--half is for boundary suites; other suites name their half in the file")
    if isinstance(loaded, SessionsSuite):
        return await replay(
            loaded, folder=choices.data or file.parent, root=choices.root, progress=advance
        )
    data = loaded.data(choices.data, folder=file.parent)
    return await _measure(loaded, data, choices=choices, advance=advance)


async def _measure(
    suite: "RetrievalSuite", data: Path, *, choices: _Choices, advance: Advance
) -> "EvalReport":
    from agentkit.evaluation.retrieval import evaluate as measure
    from agentkit.policy.policy import load_policy
    from agentkit.project import Project
    from agentkit.settings import load_settings
    from agentkit.store.embedders import open_embedder

    def tell(progress: "Progress") -> None:
        advance(progress.done, progress.total)

    return await measure(
        suite,
        data,
        embedder=open_embedder(load_settings(choices.root).embedder),
        policy=load_policy(Project(choices.root).find),
        limit=choices.limit,
        cache=choices.cache,
        progress=tell,
    )


async def _ask_rules(
    suite: "BoundariesSuite", *, folder: Path, choices: _Choices
) -> "BoundariesReport":
    from agentkit.errors import InputError
    from agentkit.evaluation.boundaries import evaluate_boundaries
    from agentkit.policy.policy import load_policy
    from agentkit.project import Project
    from agentkit.settings import load_settings
    from agentkit.store.embedders import open_embedder

    half = choices.half or suite.half
    if half not in ("fit", "report"):
        raise InputError(f"--half {half!r} is none; give report or fit")
    if choices.limit is not None or choices.cache is not None:
        raise InputError("a boundary suite takes neither --limit nor --cache; leave them out")
    return await evaluate_boundaries(
        suite.model_copy(update={"half": half}),
        suite.data(choices.data, folder=folder),
        embedder=open_embedder(load_settings(choices.root).embedder),
        policy=load_policy(Project(choices.root).find),
    )


def _find_suite(given: Path, project: "Project") -> Path:
    if given.is_file():
        return given
    named = project.find(f"evals/suites/{given.name.removesuffix('.yaml')}.yaml")
    ships = given.parent in (Path(), Path("evals/suites"))
    return named if ships and named is not None else given


def _write(file: Path, text: str) -> None:
    from agentkit.errors import InputError

    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from error
