"""`Kit`: an open project, and the doors to its memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit.errors import InputError
from agentkit.kit.asking import build_lesson, build_query
from agentkit.kit.forking import reopen_in_children
from agentkit.kit.lifecycle import Lifecycle
from agentkit.kit.opening import open_parts
from agentkit.kit.overlapping import Overlapping
from agentkit.kit.succession import Succession
from agentkit.kit.transferring import Transferring
from agentkit.kit.upkeep import Upkeep
from agentkit.kit.within import read_instant
from agentkit.ports import Clock, Embedder
from agentkit.records import (
    Briefing,
    Lesson,
    Query,
    RecallResult,
    Recording,
    ReflectionReport,
    Scope,
    Verdict,
    WriteReport,
)
from agentkit.store import ForgetResult, Progress, SettleReport, merge_settled, new_id
from agentkit.text import language_of
from agentkit.working import to_remember

if TYPE_CHECKING:
    from pydantic_ai.agent import AbstractAgent

    from agentkit.session import Session

BRIEFED = 12


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """What an import did.

    Attributes:
        added: Tasks that are new here.
        known: Tasks that were here already.
    """

    added: int
    known: int


class Kit(Lifecycle, Transferring, Upkeep, Succession, Overlapping):
    """An open project: its settings and policy, its store, and the doors to its memory.

    Every door takes a `Scope` (or a user): there is no way to see another user's memory, and a
    foreign id looks like a missing one.
    """

    @classmethod
    def open(
        cls,
        path: Path | str | None = None,
        *,
        clock: Clock | None = None,
        embedder: Embedder | str | None = None,
        **overrides: object,
    ) -> "Kit":
        """Open a project, making its state folder where there is none.

        Args:
            path: Project folder, made if missing; None for the nearest folder upward that holds
                `agentkit.yaml`, else the current one.
            clock: Where the time comes from; None for the system's.
            embedder: An embedder object, or a name, in place of the one that the settings name.
            **overrides: Settings that beat the project's, such as `model="openai:gpt-5"`.

        Raises:
            ConfigError: If settings or policy hold something that cannot be used.
            StoreError: If the database cannot be opened, or is newer than this release.
        """
        kit = cls(open_parts(path, clock=clock, embedder=embedder, overrides=overrides))
        root = kit.project.root
        reopen_in_children(
            kit, lambda: open_parts(root, clock=clock, embedder=embedder, overrides=overrides)
        )
        return kit

    def query(
        self,
        text: object,
        *,
        top_k: object = 5,
        memory_type: object = None,
        min_confidence: object = 0.0,
        least_similarity: object = None,
        tags: object = None,
        match: object = "all",
        include_archived: bool = False,
        within: object = None,
        as_of: object = None,
    ) -> Query:
        """Return a query out of what any door was given; every door refuses the same things.

        Args:
            text: The question, not blank.
            top_k: Number of hits wanted, 1 to 100.
            memory_type: `episodic`, `semantic`, `procedural`, or None for all.
            min_confidence: Memories below are left out, 0 to 1.
            least_similarity: Memories whose cosine to the question is below are not returned, -1
                to 1; None leaves it to the policy's floor.
            tags: Tags in any of the shapes in which clients send them, or None.
            match: Whether `all` or `any` of the tags must be carried.
            include_archived: Whether archived memories may come back.
            within: Only memories of this time: a phrase ("last week", "上周"), `FROM/TO` in ISO
                8601 with `..` for an open end, a pair of ends, or a `TimeRange`; None for any.
            as_of: Ask the memories as they stood then, as in `recall`; phrases count from it.

        Raises:
            InputError: If something is out of range or of the wrong form; says what and how.
        """
        return build_query(
            text,
            top_k=top_k,
            memory_type=memory_type,
            min_confidence=min_confidence,
            least_similarity=least_similarity,
            tags=tags,
            match=match,
            include_archived=include_archived,
            within=within,
            as_of=None if as_of is None else self._instant(as_of),
            now=self._parts.clock(),
            zone=self._parts.settings.zone(),
            taxonomy=self.policy.taxonomy,
        )

    def lesson(
        self,
        content: object,
        *,
        memory_type: object,
        tags: object = None,
        confidence: object = 0.8,
        cues: object = None,
    ) -> Lesson:
        """Return a lesson of an agent out of what any door was given.

        Args:
            content: What is to be remembered, not blank.
            memory_type: `episodic`, `semantic` or `procedural`.
            tags: Tags in any of the shapes in which clients send them, or None.
            confidence: How sure the agent is, 0.05 to 0.95.
            cues: Short phrases saying when it is useful, or None.

        Raises:
            InputError: If something is out of range or of the wrong form.
        """
        return build_lesson(
            content,
            memory_type=memory_type,
            tags=tags,
            confidence=confidence,
            cues=cues,
            taxonomy=self.policy.taxonomy,
        )

    async def recall(
        self,
        query: Query | str,
        *,
        scope: Scope,
        session_id: str | None = None,
        as_of: object = None,
    ) -> RecallResult:
        """Return the memories that answer a query, best first, each with its reasons.

        Args:
            query: What is asked.
            scope: Whose memory.
            session_id: Session it serves, for the log.
            as_of: Ask the memories as they stood then: a datetime, ISO 8601 text (a date is its
                first instant), or seconds or milliseconds since 1970; None for now. Belief and
                counts are those of now, and no memory counts as recalled.

        Raises:
            InputError: If the query is blank, or `as_of` is no time or lies ahead.
            StoreError: If the database cannot be read.
        """
        asked = self.query(query) if isinstance(query, str) else query
        if as_of is not None:
            asked = replace(asked, as_of=self._instant(as_of))
        return await self._recaller.recall(asked, scope=scope, session_id=session_id)

    def _instant(self, value: object) -> datetime:
        zone, now = self._parts.settings.zone(), self._parts.clock()
        return read_instant(value, now=now, zone=zone)

    async def brief(
        self,
        query: Query | str,
        *,
        scope: Scope,
        session_id: str | None = None,
        budget_tokens: int | None = None,
    ) -> Briefing:
        """Recall, and render what fits a token budget for the model, as delimited data.

        Args:
            query: What the task is about.
            scope: Whose memory.
            session_id: Session it serves, for the log.
            budget_tokens: Most tokens, wrapper included; None for the policy's.

        Raises:
            InputError: If the query is blank.
            StoreError: If the database cannot be read.
            TemplateError: If the briefing's template is broken.
        """
        asked = query
        if isinstance(asked, str):
            # "Sum up yesterday's sales" is about sales of yesterday, not lessons of yesterday.
            asked = replace(self.query(asked, top_k=BRIEFED), infer_time=False)
        return await self._briefer.brief(
            asked, scope=scope, session_id=session_id, budget_tokens=budget_tokens
        )

    async def remember(self, text: str, *, scope: Scope) -> WriteReport:
        """Write what the user asked to remember: at once, permanent, with high confidence.

        Raises:
            InputError: If the text is blank.
            StoreError: If the database cannot be written.
        """
        checked = self.lesson(text, memory_type="semantic")
        confidence = self.policy.reflection.confidence.user
        lesson = Lesson(
            content=checked.content,
            memory_type="semantic",
            confidence=confidence,
            source="user",
            permanent=True,
            tags=self._parts.find_tags(checked.content),
            language=language_of(checked.content),
        )
        return await self._admitter.write(lesson, scope=scope, actor="person")

    async def remember_if_asked(self, prompt: str, *, scope: Scope) -> WriteReport | None:
        """Write what a prompt asks to remember ("remember that ...", "记住..."), if it does.

        Args:
            prompt: What the user said.
            scope: Whose memory.
        """
        wanted = to_remember(prompt, policy=self.policy.working.remember)
        return None if wanted is None else await self.remember(wanted, scope=scope)

    async def write(self, lesson: Lesson, *, scope: Scope, actor: str = "agent") -> WriteReport:
        """Admit a lesson and store it at once.

        Args:
            lesson: The candidate.
            scope: Whose memory.
            actor: Who writes, for the history.

        Raises:
            StoreError: If the database cannot be written; nothing was stored then.
        """
        return await self._admitter.write(lesson, scope=scope, actor=actor)

    async def forget(
        self, memory_ids: Sequence[str], *, scope: Scope, reason: str, actor: str = "person"
    ) -> ForgetResult:
        """Stop using memories; nothing is erased, and it can be undone.

        Args:
            memory_ids: At least one id, whole.
            scope: Whose memories.
            reason: Why, not blank.
            actor: `person`, or `agent`, which cannot forget what the user asked to remember.

        Returns:
            Ids forgotten now, and ids with nothing to forget.

        Raises:
            InputError: If no id or no reason is given, or an agent asks for a user's memory.
        """
        if not reason.strip():
            raise InputError("a reason is needed to forget; say why it is wrong or not wanted")
        if actor == "agent":
            await self._refuse_users_own(memory_ids, scope=scope)
        store = await self._parts.store(scope)
        return await store.forget(scope, memory_ids, actor=actor, reason=reason)

    async def feedback(
        self, retrieval_id: str, verdicts: Sequence[Verdict], *, scope: Scope
    ) -> None:
        """Say of recalled memories whether they helped; labels the log and moves confidence.

        Args:
            retrieval_id: The recall, as its answer named it.
            verdicts: One for each memory.
            scope: Whose recall it was.

        Raises:
            NotFoundError: If there is no such recall, or it did not return that memory.
        """
        await self.background.join(lane="log")
        store = await self._parts.store(scope)
        await store.label(scope, retrieval_id, verdicts)

    async def import_recordings(
        self,
        recordings: Iterable[Recording],
        *,
        scope: Scope,
        progress: Callable[[int], None] | None = None,
    ) -> ImportCounts:
        """Seal recorded tasks as episodes; what is here already is left as it is.

        Args:
            recordings: Tasks, as an importer found them.
            scope: Whose they become.
            progress: Told the number of tasks looked at so far.

        Raises:
            StoreError: If the database or the trajectories' folder cannot be written.
        """
        added = known = 0
        for recording in recordings:
            if await self.tasks.take_in(recording, scope=scope):
                added += 1
            else:
                known += 1
            if progress is not None:
                progress(added + known)
        return ImportCounts(added=added, known=known)

    async def reflect(
        self, *, scope: Scope | None = None, progress: Progress | None = None
    ) -> tuple[ReflectionReport, ...]:
        """Work off every due job now: reflections, then conflict checks, then the index.

        Args:
            scope: Only this user's jobs, or None for everybody's.
            progress: Told the number of jobs done and the number still waiting.

        Raises:
            StoreError: If the database cannot be read or written.
        """
        await self.background.join(lane="log")
        await self.background.join(lane="record")
        reports = await self._worker.work_off(scope=scope, progress=progress)
        await self._recaller.intent.prepare()
        return reports

    async def settle(self) -> SettleReport:
        """Bring embeddings and the vector index level with the database."""
        return merge_settled([await one.settle() for one in await self._parts.stores.all()])

    def session(
        self,
        agent: "AbstractAgent[Any, Any]",
        *,
        user_id: str,
        session_id: str | None = None,
        agent_id: str | None = None,
        deps: Any = None,
    ) -> "Session":
        """Return a conversation of an agent with a user, for `async with`.

        Args:
            agent: Any pydantic-ai agent.
            user_id: Whose memory it uses.
            session_id: Name of the session, or None for a new one.
            agent_id: Name of the agent for memories of its own, or None to share.
            deps: Passed to every run.

        Raises:
            InputError: If a name cannot be a scope.
        """
        from agentkit.session import Session

        name = session_id or new_id(self._parts.clock())
        return Session(self, agent, scope=Scope(user_id, agent_id), session_id=name, deps=deps)
