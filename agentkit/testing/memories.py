"""Short ways to write down a memory and a task in a test."""

from datetime import datetime

from agentkit.records import Lesson, MemoryStatus, MemoryType, Source, Step, Tag, Trajectory
from agentkit.store import NewEpisode, NewMemory


def new_memory(
    content: str,
    *,
    memory_type: MemoryType = "semantic",
    cues: tuple[str, ...] = (),
    tags: tuple[str, ...] = (),
    confidence: float = 0.75,
    source: Source = "rule_critic",
    status: MemoryStatus = "active",
    permanent: bool = False,
    valid_to: datetime | None = None,
    operation_id: str | None = None,
    created_at: datetime | None = None,
) -> NewMemory:
    """Return a memory ready to be added.

    Args:
        content: What is to be remembered.
        memory_type: Its type.
        cues: Phrases by which it is found too.
        tags: Tags, each written `facet:value`.
        confidence: Initial confidence, in [0.05, 0.95].
        source: Who says so.
        status: `pending`, `active` or `quarantined`.
        permanent: Whether it never decays.
        valid_to: Not visible after, UTC, or None.
        operation_id: Writing the same operation twice is one write; None for no such check.
        created_at: When it was learnt, UTC, or None for now.
    """
    split = (tag.partition(":") for tag in tags)
    lesson = Lesson(
        content=content,
        memory_type=memory_type,
        confidence=confidence,
        source=source,
        cues=cues,
        tags=tuple(Tag(facet, value) for facet, _, value in split),
        permanent=permanent,
        valid_to=valid_to,
        operation_id=operation_id,
    )
    return NewMemory(lesson=lesson, trust=0.8, status=status, created_at=created_at)


def new_episode(
    *said: str, at: datetime, session_id: str = "daily", source_id: str | None = None
) -> NewEpisode:
    """Return a finished task in which the user spoke first and then in turn with the model.

    Args:
        said: The turns, at least one.
        at: When it ended, UTC.
        session_id: Its session.
        source_id: Id in a recording, or None for a live task.
    """
    steps = tuple(
        Step(step_id=f"s{turn:04d}", kind="user" if turn % 2 else "model", text=text, at=at)
        for turn, text in enumerate(said, start=1)
    )
    return NewEpisode(
        trajectory=Trajectory(steps=steps, instructions="Be brief.", model="test"),
        session_id=session_id,
        end_reason="closed" if source_id is None else "imported",
        started_at=at,
        ended_at=at,
        source_id=source_id,
    )
