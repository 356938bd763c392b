"""What came of the tasks that ended."""

import asyncio
from typing import TYPE_CHECKING

from agentkit.chat.events import Learnt
from agentkit.records import Episode

if TYPE_CHECKING:
    from agentkit.kit import Kit

# Lessons of one episode are bounded by the policy; they are the newest of their user.
LOOKED_THROUGH = 200


async def what_was_learnt(kit: "Kit", episode: Episode, *, limit_s: float) -> Learnt:
    """Wait until a task was looked back on, and return what was kept of it.

    Args:
        kit: The open project.
        episode: The task that ended.
        limit_s: Longest wait in seconds.

    Raises:
        StoreError: If the database cannot be read.
    """
    if kit.settings.worker == "inline":
        try:
            async with asyncio.timeout(limit_s):
                await kit.background.join(lane="work")
        except TimeoutError:
            pass
    scope = episode.scope
    now = await kit.episode(episode.episode_id, scope=scope)
    found = await kit.memories(scope=scope, limit=LOOKED_THROUGH)
    lessons = tuple(
        memory
        for memory in found
        if memory.episode_id == now.episode_id and memory.memory_type != "episodic"
    )
    return Learnt(episode=now, memories=lessons, problem=_problem(kit, now))


def _problem(kit: "Kit", episode: Episode) -> str:
    if episode.reflected_at is not None:
        return ""
    if kit.settings.worker == "external":
        return "`agentkit worker` looks back on it"
    return "it is looked back on later, at the latest when the project is next opened"
