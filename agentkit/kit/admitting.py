"""The one way in: every lesson, from whatever door, is admitted here before it is stored."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agentkit.kit.embedding import try_embed
from agentkit.kit.parts import Parts
from agentkit.kit.recalling import Recaller
from agentkit.records import (
    Admission,
    Float32Array,
    Lesson,
    Memory,
    Scope,
    Tag,
    Trajectory,
    WriteReport,
)
from agentkit.reflection import admit, redact
from agentkit.store import NewMemory

NEIGHBOURS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What a lesson is held against besides what is stored.

    Attributes:
        trajectory: Steps it must cite, or None where there is no episode.
        briefed: Memories that its own episode was briefed with.
        forbidden: System text and prompts, which are never learnt.
    """

    trajectory: Trajectory | None = None
    briefed: tuple[Memory, ...] = ()
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """An admission, with the vectors that were made on the way.

    Attributes:
        admission: What was decided.
        vectors: shape (1 + number of cues, dim), float32, or None.
    """

    admission: Admission
    vectors: Float32Array | None

    def new_memory(self, *, episode_id: str | None = None) -> NewMemory | None:
        """Return what is to be stored, or None for a lesson that adds nothing.

        Args:
            episode_id: Episode it came out of, or None.
        """
        action = self.admission.action
        if action not in ("add", "judge", "quarantine"):
            return None
        return NewMemory(
            lesson=self.admission.lesson,
            trust=self.admission.trust,
            status="quarantined" if action == "quarantine" else "pending",
            episode_id=episode_id,
            vectors=self.vectors,
        )


class Admitter:
    """Admits lessons and writes those that come in by a door of their own."""

    def __init__(self, parts: Parts, recaller: Recaller) -> None:
        """Bind the rooms."""
        self._parts = parts
        self._recaller = recaller
        self._known: Collection[Tag] = frozenset(parts.policy.taxonomy.tags())

    async def admit(
        self, lessons: Sequence[Lesson], *, scope: Scope, ground: Ground
    ) -> tuple[Admitted, ...]:
        """Return a decision for each lesson, in order.

        Lessons of one call are held against each other too: the second of two that say the same
        is refused.

        Args:
            lessons: Candidates.
            scope: Whose memory.
            ground: What they are held against besides what is stored.
        """
        decided: list[Admitted] = []
        accepted: set[str] = set()
        for raw in lessons:
            one = await self._decide(raw, scope=scope, ground=ground)
            said = " ".join(one.admission.lesson.content.casefold().split())
            if one.admission.action in ("add", "judge") and said in accepted:
                again = replace(
                    one.admission, action="refuse", reason="said twice in the same reflection"
                )
                one = replace(one, admission=again)
            accepted.add(said)
            decided.append(one)
        return tuple(decided)

    async def write(self, lesson: Lesson, *, scope: Scope, actor: str) -> WriteReport:
        """Admit one lesson and store it at once.

        Args:
            lesson: The candidate.
            scope: Whose memory.
            actor: Who writes, for the history: `person`, `agent` ...

        Returns:
            What became of it; a refusal is an answer, not an error.

        Raises:
            StoreError: If the database cannot be written; nothing was stored then.
        """
        known = await self._written_before(lesson, scope=scope)
        if known is not None:
            return known
        (one,) = await self.admit([lesson], scope=scope, ground=Ground())
        admission = one.admission
        if admission.action == "verify" and admission.target_id is not None:
            store = await self._parts.store(scope)
            memory = await store.verify(
                scope,
                admission.target_id,
                actor=actor,
                reason=admission.reason,
                operation_id=lesson.operation_id,
            )
            return WriteReport(admission=admission, memory=memory, duplicate=True)
        new = one.new_memory()
        if new is None:
            return WriteReport(admission=admission, memory=None)
        store = await self._parts.store(scope)
        (written,) = await store.add(scope, [new], actor=actor)
        return WriteReport(admission=admission, memory=written.memory, duplicate=written.duplicate)

    async def _written_before(self, lesson: Lesson, *, scope: Scope) -> WriteReport | None:
        """What an operation wrote the first time: a client that tries again changes nothing."""
        if lesson.operation_id is None:
            return None
        store = await self._parts.store(scope)
        memory = await store.written_by(scope, lesson.operation_id)
        if memory is None:
            return None
        admission = Admission(
            lesson=lesson,
            action="verify",
            reason="this operation was done already",
            trust=memory.trust,
            target_id=memory.memory_id,
        )
        return WriteReport(admission=admission, memory=memory, duplicate=True)

    async def _decide(self, raw: Lesson, *, scope: Scope, ground: Ground) -> Admitted:
        """Mask secrets before anything leaves for an embedder, then decide."""
        lesson = replace(
            raw,
            content=redact(raw.content).text,
            cues=tuple(redact(cue).text for cue in raw.cues),
        )
        vectors, _ = await try_embed(
            self._parts.embedder, [lesson.content, *lesson.cues], kind="document"
        )
        near = await self._recaller.neighbours(
            None if vectors is None else vectors[0], scope=scope, limit=NEIGHBOURS
        )
        admission = admit(
            raw,
            trajectory=ground.trajectory,
            neighbours=near,
            briefed=ground.briefed,
            policy=self._parts.policy.reflection,
            taxonomy_tags=self._known,
            forbidden_texts=ground.forbidden,
        )
        kept = (admission.lesson.content, *admission.lesson.cues)
        same = kept == (lesson.content, *lesson.cues)
        return Admitted(admission=admission, vectors=vectors if same else None)
