"""`agentkit recall`, `remember`, `forget` and `feedback`: one user's memory, by hand."""

from typing import TYPE_CHECKING, Annotated

import typer

from agentkit.cli.options import (
    AsOfOption,
    JsonOption,
    ProjectOption,
    SimilarityOption,
    TagOption,
    TypeOption,
    UserOption,
    WithinOption,
    tags_given,
)

if TYPE_CHECKING:
    from agentkit.records import WriteReport


def recall(
    text: Annotated[str, typer.Argument(metavar="QUERY", help="What you want to know, in words.")],
    user: UserOption,
    k: Annotated[int, typer.Option("--k", metavar="N", help="Number of results, 1 to 100.")] = 5,
    memory_type: TypeOption = None,
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", metavar="C", help="Leave out less certain ones.")
    ] = 0.0,
    least_similarity: SimilarityOption = None,
    tag: TagOption = None,
    match: Annotated[
        str, typer.Option("--match", metavar="all|any", help="Must carry all tags, or any.")
    ] = "all",
    include_archived: Annotated[
        bool, typer.Option("--include-archived", help="Archived memories too.")
    ] = False,
    within: WithinOption = None,
    as_of: AsOfOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say how each score came about.")
    ] = False,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what was learnt in earlier tasks."""
    import asyncio

    from agentkit.cli.output import print_json
    from agentkit.cli.showing import show_hits
    from agentkit.kit import Kit
    from agentkit.policy.tags import unknown_tags
    from agentkit.records import Scope
    from agentkit.serve.documents import recall_document

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            query = kit.query(
                text,
                top_k=k,
                memory_type=memory_type,
                min_confidence=min_confidence,
                least_similarity=least_similarity,
                tags=tags_given(tag),
                match=match,
                include_archived=include_archived,
                within=within,
                as_of=as_of,
            )
            result = await kit.recall(query, scope=scope)
            unknown = unknown_tags(query.tags, kit.policy.taxonomy)
        if as_json:
            print_json(recall_document(result, query))
        else:
            show_hits(result, warnings=unknown, explain=explain)

    asyncio.run(run())


def remember(
    text: Annotated[str, typer.Argument(help="What is to be remembered, one topic.")],
    user: UserOption,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remember something for good.

    It comes from you, so it counts as nearly certain and does not fade.
    """
    import asyncio

    from agentkit.cli.output import print_json
    from agentkit.errors import InputError
    from agentkit.kit import Kit
    from agentkit.records import Scope
    from agentkit.serve.documents import write_document

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            report = await kit.remember(text, scope=scope)
        if report.memory is None:
            raise InputError(f"not remembered: {report.admission.reason}")
        if as_json:
            print_json(write_document(report))
        else:
            typer.echo(_written(report))

    asyncio.run(run())


def forget(
    memory_ids: Annotated[list[str], typer.Argument(metavar="MEMORY_ID...", help="Full ids.")],
    user: UserOption,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept.")],
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop using memories.

    Nothing is erased: each stays on record, marked as forgotten with the reason.
    """
    import asyncio

    from agentkit.cli.output import print_json
    from agentkit.kit import Kit
    from agentkit.records import Scope

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            done = await kit.forget(memory_ids, scope=scope, reason=reason)
        if as_json:
            print_json({"forgotten": list(done.forgotten), "not_found": list(done.not_found)})
        else:
            for memory_id in done.forgotten:
                typer.echo(f"forgotten: {memory_id}")
            for memory_id in done.not_found:
                typer.echo(f"not found: {memory_id} (check the id and the user)", err=True)
        if done.not_found:
            raise typer.Exit(1)

    asyncio.run(run())


def feedback(
    retrieval_id: Annotated[str, typer.Argument(help="Id of the recall, as recall --json gives.")],
    memory_id: Annotated[str, typer.Argument(help="The memory that came back.")],
    verdict: Annotated[
        str, typer.Argument(metavar="VERDICT", help="helpful, unused, misleading or outdated.")
    ],
    user: UserOption,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept.")] = "",
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether a memory was of use.

    Later recalls take it into account, and evaluations count it.
    """
    import asyncio

    from agentkit.cli.output import print_json
    from agentkit.cli.words import verdict_kind
    from agentkit.kit import Kit
    from agentkit.records import Scope, Verdict

    said = Verdict(memory_id=memory_id, kind=verdict_kind(verdict), source="person", reason=reason)

    scope = Scope(user)

    async def run() -> None:
        async with Kit.open(project, worker="external") as kit:
            await kit.feedback(retrieval_id, [said], scope=scope)
        if as_json:
            print_json({"retrieval_id": retrieval_id, "memory_id": memory_id, "verdict": said.kind})
        else:
            typer.echo(f"noted: {memory_id} was {said.kind}")

    asyncio.run(run())


def _written(report: "WriteReport") -> str:
    memory = report.memory
    assert memory is not None
    if report.duplicate:
        return f"known already, now surer of it: {memory.memory_id}"
    return f"remembered: {memory.memory_id}"
