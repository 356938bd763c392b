"""The carry-over as a part of the first request after a boundary."""

import asyncio
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import TextContent, UserPromptPart

from agentkit.capability.boundary import boundary
from agentkit.capability.workbench import model_string
from agentkit.kit import Kit
from agentkit.kit.running import LEFT_OPEN
from agentkit.records import Scope
from agentkit.steps import CARRY_OVER_MARK

# One query and one trajectory take milliseconds; a run does not wait for a slow bucket.
CARRY_LIMIT_S = 2.0


async def ready_to_carry(kit: Kit) -> None:
    """Wait until what dead processes left open is sealed, for a while.

    A session that goes on after a crash begins behind its sealed task, not within it.

    Args:
        kit: The open kit.
    """
    with boundary("waiting for what was left open"):
        async with asyncio.timeout(CARRY_LIMIT_S):
            await kit.background.join(subject=LEFT_OPEN)


async def carry_over(ctx: RunContext[Any], kit: Kit, *, scope: Scope, session_id: str) -> None:
    """Put what the session's last task came to into the request that is about to be sent.

    Args:
        ctx: The run, before its first request.
        kit: The open kit.
        scope: Whose session.
        session_id: The session.
    """
    with boundary("carrying over the last task"):
        async with asyncio.timeout(CARRY_LIMIT_S):
            text = await kit.carrier.text_of(scope, session_id, model=model_string(ctx.model))
        if text:
            mark = {CARRY_OVER_MARK: session_id}
            ctx.enqueue(UserPromptPart([TextContent(text, metadata=mark)]))
