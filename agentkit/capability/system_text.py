"""The system text of a request: the agent's own and current one, once, whatever a history holds."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, SystemPromptPart
from pydantic_ai.models import Model


async def own_system_parts(ctx: RunContext[Any]) -> tuple[SystemPromptPart, ...] | None:
    """Return the system prompts of the agent that runs, or None where its run began with none.

    pydantic-ai puts them in front of a fresh conversation by itself, and leaves them out as soon
    as any history is passed.

    Args:
        ctx: The run.
    """
    came_before = any(message.run_id != ctx.run_id for message in ctx.messages)
    if ctx.agent is None or not came_before:
        return None
    model = cast("Model[Any]", ctx.model) if isinstance(ctx.model, Model) else None
    return tuple(
        await ctx.agent.system_prompt_parts(
            deps=ctx.deps,
            model=model,
            message_history=list(ctx.messages),
            prompt=ctx.prompt,
            usage=ctx.usage,
        )
    )


def with_own_system(
    messages: Sequence[ModelMessage], *, own: Sequence[SystemPromptPart] | None, run_id: str | None
) -> list[ModelMessage]:
    """Return messages that carry one system text: the agent's own, and no earlier one.

    What this run itself added stays. An agent that has no text of its own keeps that of the
    history, each text once.

    Args:
        messages: The whole history with the current prompt.
        own: The agent's system prompts, or None to leave everything as it is.
        run_id: Run that is going on.
    """
    if own is None:
        return list(messages)
    if not own and not _instructed(messages):
        return _each_once(messages)
    texts = {part.content for part in own}
    refs = {part.dynamic_ref for part in own if part.dynamic_ref is not None}

    def goes(part: ModelRequestPart, *, mine: bool) -> bool:
        if not isinstance(part, SystemPromptPart):
            return False
        return not mine or part.content in texts or part.dynamic_ref in refs

    kept: list[ModelMessage] = []
    for place, message in enumerate(messages):
        if not isinstance(message, ModelRequest):
            kept.append(message)
            continue
        mine = message.run_id == run_id
        parts = [part for part in message.parts if not goes(part, mine=mine)]
        # Only the last request's instructions are sent; older ones are another agent's words.
        stale = not mine and place < len(messages) - 1 and message.instructions is not None
        if parts and (stale or len(parts) < len(message.parts)):
            instructions = None if stale else message.instructions
            kept.append(replace(message, parts=parts, instructions=instructions))
        elif parts:
            kept.append(message)
    return put_first(kept, own)


def put_first(
    messages: Sequence[ModelMessage], parts: Sequence[ModelRequestPart]
) -> list[ModelMessage]:
    """Return messages with parts in the first request, behind its system text.

    Args:
        messages: Messages; those that are changed are copied.
        parts: What is put in; none changes nothing.
    """
    if not parts:
        return list(messages)
    placed = list(messages)
    if not placed or not isinstance(placed[0], ModelRequest):
        return [ModelRequest(list(parts)), *placed]
    first = placed[0]
    behind = next(
        (n for n, part in enumerate(first.parts) if not isinstance(part, SystemPromptPart)),
        len(first.parts),
    )
    placed[0] = replace(first, parts=[*first.parts[:behind], *parts, *first.parts[behind:]])
    return placed


def _instructed(messages: Sequence[ModelMessage]) -> bool:
    last = messages[-1] if messages else None
    return isinstance(last, ModelRequest) and bool(last.instructions)


def _each_once(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Drop a system text that came before already."""
    seen: set[str] = set()
    kept: list[ModelMessage] = []
    for message in messages:
        if not isinstance(message, ModelRequest):
            kept.append(message)
            continue
        parts: list[ModelRequestPart] = []
        for part in message.parts:
            if isinstance(part, SystemPromptPart):
                if part.content in seen:
                    continue
                seen.add(part.content)
            parts.append(part)
        if len(parts) == len(message.parts):
            kept.append(message)
        elif parts:
            kept.append(replace(message, parts=parts))
    return kept
