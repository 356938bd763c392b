"""How recalls and memories are shown to a person."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentkit.records import Memory, RecallResult

QUOTE_CHARS = 100


def cited(memory: "Memory") -> str:
    """Return the first step that a memory cites, with the head of its quote.

    Args:
        memory: The memory.
    """
    from agentkit.text import one_line

    if not memory.evidence:
        return "no step is cited"
    first = memory.evidence[0]
    return f"step {first.step_id}: “{one_line(first.quote, limit_chars=QUOTE_CHARS)}”"


def show_hits(result: "RecallResult", *, warnings: "Sequence[str]", explain: bool) -> None:
    """Print the hits of a recall as a table, and the warnings on stderr.

    Args:
        result: What recall found.
        warnings: What else is to be said of the question.
        explain: Whether to say how each score came about.
    """
    from agentkit.cli.output import memory_cell, print_table, print_wrapped

    for warning in (*warnings, *_warnings(result)):
        typer.echo(warning, err=True)
    if not result.hits:
        if not result.timed_out:
            nearest = f": the best is {result.pool[0].why_not}" if result.pool else ""
            typer.echo(f"nothing found{nearest}")
        return
    rows = [
        [f"{hit.score:.3f}", memory_cell(hit.memory, note=hit.note), hit.memory.memory_id]
        for hit in result.hits
    ]
    print_table(["score", "memory", "id"], rows)
    if explain:
        for hit in result.hits:
            typer.echo(hit.memory.memory_id)
            print_wrapped(hit.explanation, lead="   ")
    typer.echo(f"retrieval {result.retrieval_id}")


def _warnings(result: "RecallResult") -> list[str]:
    found: list[str] = []
    if result.timed_out:
        found.append("the time limit was reached; nothing is shown (memory/recall.yaml sets it)")
    if result.degraded:
        found.append(f"degraded: {result.degraded}")
    found.extend(f"relaxed: {step}" for step in result.relaxations)
    if result.approximate is not None:
        found.append(f"approximate: {result.approximate}")
    return found
