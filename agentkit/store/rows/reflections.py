"""Committing a reflection: all of it, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import col, select

from agentkit.ports import EmbedderIdentity
from agentkit.records import Job, Memory, Reflection, Verdict
from agentkit.store.drafts import Draft
from agentkit.store.rows.change import Change
from agentkit.store.rows.episodes import dump_reflection, find_episode
from agentkit.store.rows.jobs import add_job, release_job
from agentkit.store.rows.lifecycle import demote, verify
from agentkit.store.rows.memories import get_memories, load
from agentkit.store.rows.retrievals import label, rows_of_episode
from agentkit.store.rows.writing import add_memories
from agentkit.store.tables import EpisodeRow, MemoryRow
from agentkit.store.values import VISIBLE, Verification, WriteResult
from agentkit.text import normalise

ACTOR = "reflection"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionWrite:
    """What a finished reflection brings.

    Attributes:
        reflection: The critique.
        drafts: Memories to write.
        verified: Memories that were learnt again.
        verdicts: Verdicts on recalled memories.
        refused: JSON text of what admission refused.
        embedder: Who made the drafts' vectors, or None when there are none.
    """

    reflection: Reflection
    drafts: tuple[Draft, ...]
    verified: tuple[Verification, ...]
    verdicts: tuple[Verdict, ...]
    refused: str
    embedder: EmbedderIdentity | None


def commit_reflection(change: Change, job: Job, write: ReflectionWrite) -> tuple[Memory, ...]:
    """Write what a reflection found and return the memories that are new, in lesson order.

    The job is the guard: when it is no longer the caller's, nothing is written.

    Args:
        change: The transaction.
        job: The job as it was claimed.
        write: What it found.

    Raises:
        NotFoundError: If the episode is gone.
    """
    if not release_job(change.session, job, state="done"):
        return ()
    episode = find_episode(change.session, job.scope, job.subject_id)
    results = add_memories(change, job.scope, write.drafts, actor=ACTOR, embedder=write.embedder)
    new = tuple(result.memory for result in results if not result.duplicate)
    _verify_all(change, job, [*write.verified, *_learnt_again(results, episode)])
    rows = rows_of_episode(change.session, job.scope, episode.id)
    label(change, job.scope, rows, write.verdicts, actor=ACTOR)
    lessons = [memory for memory in new if memory.status != "quarantined"]
    if lessons:
        _demote_episodic(change, job, episode, new)
    for memory in lessons:
        add_job(
            change.session,
            job.scope,
            kind="conflict",
            subject_id=memory.memory_id,
            payload="{}",
            now=change.now,
        )
    episode.reflection = dump_reflection(write.reflection)
    episode.refused = normalise(write.refused)
    episode.reflected_at = change.now
    change.session.flush()
    return _reloaded(change, job, new)


def _learnt_again(results: Sequence[WriteResult], episode: EpisodeRow) -> list[Verification]:
    """Return the lessons that turned out to be memories of other episodes, word for word."""
    return [
        Verification(memory_id=result.memory.memory_id, reason="the same words were learnt again")
        for result in results
        if result.duplicate and result.memory.episode_id != episode.id
    ]


def _verify_all(change: Change, job: Job, verified: Sequence[Verification]) -> None:
    """Confirm memories; one that was forgotten meanwhile stays as it is."""
    rows = get_memories(change.session, job.scope, [item.memory_id for item in verified])
    reasons = {normalise(item.memory_id): item.reason for item in verified}
    for memory_id, reason in reasons.items():
        row = rows.get(memory_id)
        if row is not None and row.status in VISIBLE:
            verify(change, row, actor=ACTOR, reason=reason)


def _demote_episodic(change: Change, job: Job, episode: EpisodeRow, new: Sequence[Memory]) -> None:
    fresh = {memory.memory_id for memory in new}
    episodic = change.session.exec(
        select(MemoryRow).where(
            MemoryRow.user_id == job.scope.user_id,
            MemoryRow.episode_id == episode.id,
            MemoryRow.type == "episodic",
            col(MemoryRow.id).not_in(fresh),
        )
    )
    for row in episodic.all():
        demote(change, row, actor=ACTOR, reason="its lessons were extracted")


def _reloaded(change: Change, job: Job, new: Sequence[Memory]) -> tuple[Memory, ...]:
    rows = get_memories(change.session, job.scope, [memory.memory_id for memory in new])
    return load(change.session, [rows[memory.memory_id] for memory in new])
