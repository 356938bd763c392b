"""Jobs as they are done: an episode is reflected on, a new memory is held against old ones."""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from agentkit.errors import NotFoundError
from agentkit.kit.admitting import Admitted, Admitter, Ground
from agentkit.kit.critics import Critics
from agentkit.kit.lessons import proposed
from agentkit.kit.parts import Parts
from agentkit.kit.recalling import Recaller
from agentkit.kit.tasks import Tasks
from agentkit.records import (
    Episode,
    Job,
    Judgement,
    Memory,
    MemoryLink,
    Reflection,
    ReflectionCase,
    ReflectionReport,
    Relation,
    Relationship,
    Scope,
)
from agentkit.reflection import decide
from agentkit.store import NewMemory, Verification
from agentkit.text import language_of

logger = logging.getLogger("agentkit")

# Episodes stand near to the lessons drawn from them and are no rivals.
WIDER_THAN_CANDIDATES = 4

_LINKS: dict[Relationship, Relation] = {
    "contradicts": "contradicts",
    "consistent": "related",
    "refines": "related",
    "duplicate": "related",
}


class Reflector:
    """Does the two kinds of job."""

    def __init__(
        self,
        parts: Parts,
        *,
        recaller: Recaller,
        admitter: Admitter,
        tasks: Tasks,
        critics: Critics,
    ) -> None:
        """Bind the rooms."""
        self._parts = parts
        self._recaller = recaller
        self._admitter = admitter
        self._tasks = tasks
        self._critics = critics

    async def reflect(self, job: Job) -> ReflectionReport:
        """Look back on an episode and commit what comes of it, all in one transaction.

        Args:
            job: A claimed job whose subject is an episode.

        Raises:
            ReflectionError: If every critic failed; nothing was written.
            StoreError: If the database cannot be read or written.
        """
        case = await self._case(job)
        reflection = await self._critics.review(
            case, live=self._tasks.live(job.subject_id), attempt=job.attempts
        )
        lessons = (
            *reflection.lessons,
            *proposed(case.trajectory, taxonomy=self._parts.policy.taxonomy),
        )
        admitted = await self._admitter.admit(
            lessons,
            scope=job.scope,
            ground=Ground(
                trajectory=case.trajectory,
                briefed=case.recalled,
                forbidden=self._critics.prompt_texts(case.trajectory),
            ),
        )
        return await self._commit(job, case, reflection, admitted)

    async def check_conflicts(self, job: Job) -> None:
        """Hold a new memory against near ones of the same scope; contradictions are flagged.

        Args:
            job: A claimed job whose subject is a memory.

        Raises:
            ReflectionError: If the judge gave nothing usable.
            StoreError: If the database cannot be read or written.
        """
        store = await self._parts.store(job.scope)
        try:
            new = await store.memory(job.scope, job.subject_id)
        except NotFoundError:
            await store.finish_job(job)
            return
        if new.status == "pending":
            own = replace(job.scope, agent_id=new.scope.agent_id)
            for old in await self._rivals(new, scope=own):
                judgement = await self._critics.judge(new, old)
                await self._settle_pair(new, old, judgement, scope=own)
            new = await store.memory(job.scope, job.subject_id)
            if new.status == "pending":
                await store.change_status(
                    job.scope,
                    new.memory_id,
                    "active",
                    actor="reflection",
                    reason="no contradiction found",
                )
        await store.finish_job(job)

    async def _case(self, job: Job) -> ReflectionCase:
        store = await self._parts.store(job.scope)
        episode = await store.episode(job.scope, job.subject_id)
        trajectory = await store.trajectory(job.scope, job.subject_id)
        recalled_ids = await store.recalled(job.scope, job.subject_id)
        recalled: tuple[Memory, ...] = ()
        if recalled_ids:
            recalled = await store.memories(job.scope, ids=recalled_ids, limit=len(recalled_ids))
        wanted = self._parts.settings.language
        said = "\n".join(step.text for step in trajectory.steps if step.kind == "user")
        return ReflectionCase(
            episode=episode,
            trajectory=trajectory,
            recalled=recalled,
            lesson_limit=self._parts.policy.reflection.lesson_limit,
            language=language_of(said) if wanted == "auto" else wanted,
        )

    async def _commit(
        self,
        job: Job,
        case: ReflectionCase,
        reflection: Reflection,
        admitted: Sequence[Admitted],
    ) -> ReflectionReport:
        """Write memories, verifications, verdicts and the job's end in one transaction."""
        new = [one.new_memory(episode_id=job.subject_id) for one in admitted]
        verified = [
            Verification(memory_id=one.admission.target_id, reason=one.admission.reason)
            for one in admitted
            if one.admission.action == "verify" and one.admission.target_id is not None
        ]
        held_back = [
            one.admission for one in admitted if one.admission.action in ("refuse", "quarantine")
        ]
        refused = json.dumps(
            [
                {
                    "content": one.lesson.content,
                    "action": one.action,
                    "reason": one.reason,
                    "target_id": one.target_id,
                }
                for one in held_back
            ],
            ensure_ascii=False,
        )
        store = await self._parts.store(job.scope)
        memories = await store.finish_reflection(
            job,
            reflection=reflection,
            new=[self._dated(one, case.episode) for one in new if one is not None],
            verified=verified,
            verdicts=reflection.verdicts,
            refused=refused,
        )
        return ReflectionReport(
            episode_id=job.subject_id,
            reflection=reflection,
            admitted=tuple(memory.memory_id for memory in memories),
            verified=tuple(one.memory_id for one in verified),
            refused=tuple(held_back),
            counts=dict(Counter(one.admission.action for one in admitted)),
        )

    def _dated(self, new: NewMemory, episode: Episode) -> NewMemory:
        """A lesson is as old as the episode it was drawn from."""
        lesson = new.lesson if new.lesson.intent else replace(new.lesson, intent=episode.goal)
        return replace(new, lesson=lesson, created_at=episode.ended_at)

    async def _rivals(self, new: Memory, *, scope: Scope) -> tuple[Memory, ...]:
        """Stored memories near enough that they could say otherwise."""
        policy = self._parts.policy.reflection.conflict
        near = await self._recaller.rivals(
            new, scope=scope, limit=policy.candidate_limit * WIDER_THAN_CANDIDATES
        )
        rivals = (
            one.memory
            for one in near
            if one.cosine >= policy.candidate_cosine
            and one.memory.memory_type != "episodic"
            and one.memory.status in ("pending", "active", "disputed")
        )
        return tuple(islice(rivals, policy.candidate_limit))

    async def _settle_pair(
        self, new: Memory, old: Memory, judgement: Judgement, *, scope: Scope
    ) -> None:
        """Link the two, and flag the side that has less behind it. Nothing is deleted."""
        relation = _LINKS.get(judgement.relationship)
        if relation is None:
            return
        side = decide(new, old, judgement, policy=self._parts.policy.reflection)
        if relation == "contradicts" and side is None:
            return
        store = await self._parts.store(scope)
        fresh = await store.link(
            scope,
            MemoryLink(
                from_id=new.memory_id,
                to_id=old.memory_id,
                relation=relation,
                status="open" if relation == "contradicts" else "resolved",
                rationale=judgement.rationale,
                confidence=judgement.confidence,
            ),
        )
        loser = {"new": new, "old": old}.get(side or "")
        if fresh and loser is not None and loser.status != "disputed":
            await store.change_status(
                scope,
                loser.memory_id,
                "disputed",
                actor="reflection",
                reason=judgement.rationale,
            )
