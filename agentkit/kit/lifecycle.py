"""The later life of a memory: edited, restored, erased for good."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from agentkit.errors import InputError
from agentkit.kit.asking import build_lesson
from agentkit.kit.embedding import try_embed
from agentkit.kit.running import LEFT_OPEN, Running
from agentkit.policy import parse_tags
from agentkit.records import Float32Array, Lesson, Memory, Scope, Tag
from agentkit.reflection import admit, redact
from agentkit.store import KEEP, Keep, MemoryEdit, PurgeReport, unused_index_folders


class Lifecycle(Running):
    """What a person does with memories that are there already."""

    async def edit(
        self,
        memory_id: str,
        *,
        scope: Scope,
        content: object = None,
        cues: object = None,
        tags: object = None,
        valid_from: datetime | Keep | None = KEEP,
        valid_to: datetime | Keep | None = KEEP,
        reason: str = "",
        actor: str = "person",
    ) -> Memory:
        """Change a memory and return it; what is not named stays as it is.

        Secrets are masked and limits kept as for a new memory. The memory keeps its id, its age,
        its confidence and its history; it is found by the new words at once.

        Args:
            memory_id: The memory, whole id.
            scope: Whose it is.
            content: What it is to say, or None to leave it.
            cues: All cues from now on, or None to leave them.
            tags: All tags from now on, in any of the shapes in which clients send them; an empty
                list for none, or None to leave them.
            valid_from: Not true before, aware; None for no such bound.
            valid_to: Not visible after, aware; None for no such bound.
            reason: Why, in words, or "".
            actor: `person`, or `agent`, which cannot change what the user asked to remember.

        Raises:
            NotFoundError: If this scope has no such memory, or it has expired and stays so.
            InputError: If nothing is named, something cannot be kept, or another memory says the
                same already; then nothing is changed.
            StoreError: If the database cannot be written; nothing was changed then.
        """
        if actor == "agent":
            await self._refuse_users_own([memory_id], scope=scope)
        # What has expired can be changed together with its end; the store looks after that.
        store = await self._parts.store(scope)
        memory = await store.kept(scope, memory_id)
        said = self._reworded(memory, content=content, cues=cues, by_person=actor == "person")
        new_content = None if content is None else said.content
        new_cues = None if cues is None else said.cues
        edit = MemoryEdit(
            content=new_content,
            cues=new_cues,
            tags=None if tags is None else self._known_tags(tags, held=memory.tags),
            valid_from=valid_from,
            valid_to=valid_to,
            vectors=await self._embedded([new_content or "", *(new_cues or ())]),
        )
        store = await self._parts.store(scope)
        edited = await store.edit(scope, memory_id, edit, actor=actor, reason=redact(reason).text)
        self._worker.wake()
        return edited

    async def restore(
        self, memory_id: str, *, scope: Scope, reason: str = "", actor: str = "person"
    ) -> Memory:
        """Undo that a memory was forgotten, superseded or archived, and return it.

        Args:
            memory_id: The memory, whole id.
            scope: Whose it is.
            reason: Why, in words, or "".
            actor: Who does it, for the history.

        Raises:
            NotFoundError: If this scope has no such memory; a purged one does not come back.
            InputError: If there is nothing to undo, or it was written again meanwhile.
        """
        store = await self._parts.store(scope)
        memory = await store.restore(scope, memory_id, actor=actor, reason=redact(reason).text)
        self._worker.wake()
        return memory

    async def purge_memory(
        self,
        memory_id: str,
        *,
        scope: Scope,
        with_episode: bool = True,
        rehearse: bool = False,
    ) -> PurgeReport:
        """Erase a memory for good, with every trace of what it says or ever said.

        The episode that it came out of goes too, for its trajectory holds the words, and with it
        the memories that rest on nothing else. There is no way back.

        Args:
            memory_id: The memory, whole id, whatever its status.
            scope: Whose; without an agent, for it is the user who owns all of it.
            with_episode: Whether its episode goes; else the words that it was drawn from stay.
            rehearse: Whether to erase nothing and only say what would be.

        Raises:
            NotFoundError: If this scope has no such memory; then nothing was erased.
            StoreError: If something refuses; the same call again goes on from there.
        """
        await self._settle_logs()
        store = await self._parts.store(scope)
        report = await store.purge_memories(
            scope, [memory_id], with_episodes=with_episode, rehearse=rehearse
        )
        return self._purged(report, scope=scope, rehearse=rehearse)

    async def purge_episode(
        self, episode_id: str, *, scope: Scope, rehearse: bool = False
    ) -> PurgeReport:
        """Erase an episode for good, and the memories that rest on it alone. There is no way back.

        Args:
            episode_id: The episode.
            scope: Whose; without an agent.
            rehearse: Whether to erase nothing and only say what would be.

        Raises:
            NotFoundError: If this scope has no such episode; then nothing was erased.
            StoreError: If something refuses; the same call again goes on from there.
        """
        await self._settle_logs()
        store = await self._parts.store(scope)
        report = await store.purge_episode(scope, episode_id, rehearse=rehearse)
        return self._purged(report, scope=scope, rehearse=rehearse)

    async def purge_user(self, *, scope: Scope, rehearse: bool = False) -> PurgeReport:
        """Erase everything of a user for good, the name included. There is no way back.

        Args:
            scope: Whose; without an agent.
            rehearse: Whether to erase nothing and only say what would be.

        Raises:
            InputError: If the scope is an agent's.
            StoreError: If something refuses; the same call again goes on from there.
        """
        await self._settle_logs()
        store = await self._parts.store(scope)
        report = await store.purge_user(scope, rehearse=rehearse)
        return self._purged(report, scope=scope, rehearse=rehearse)

    async def _settle_logs(self) -> None:
        """Wait for what is still being written: it must not come after the purge."""
        await self.background.join(lane="log")
        await self.background.join(lane="record")
        await self.background.join(subject=LEFT_OPEN)

    def _purged(self, report: PurgeReport, *, scope: Scope, rehearse: bool) -> PurgeReport:
        """Let go of what this process holds, and name the copies that purging does not reach."""
        if rehearse:
            return report
        self._recaller.drop(scope.user_id)
        self.workbench.clear_user(scope.user_id)
        self.tasks.drop_live(report.target.episode_ids)
        left = (*report.left, *map(_untouched, self._copies()))
        return PurgeReport(
            target=report.target, erased=report.erased, rewritten=report.rewritten, left=left
        )

    def _copies(self) -> list[Path]:
        """Copies from before an upgrade, and indexes that the settings no longer name."""
        state, settings = self._parts.state_path, self.settings
        unused = unused_index_folders(settings.index, state=state, url=settings.index_url)
        return [*sorted(state.glob("*.backup")), *unused]

    async def _embedded(self, texts: Sequence[str]) -> dict[str, Float32Array]:
        """Vectors by text; none where nothing can be embedded now."""
        wanted = [text for text in texts if text]
        if not wanted:
            return {}
        vectors, _ = await try_embed(self._parts.embedder, wanted, kind="document")
        return {} if vectors is None else dict(zip(wanted, vectors, strict=True))

    def _reworded(
        self, memory: Memory, *, content: object, cues: object, by_person: bool
    ) -> Lesson:
        """The new words as admission lets them pass."""
        lesson = build_lesson(
            memory.content if content is None else content,
            memory_type=memory.memory_type,
            tags=None,
            confidence=0.5,
            cues=memory.cues if cues is None else cues,
            taxonomy=self.policy.taxonomy,
        )
        said = replace(lesson, source="user" if by_person else memory.source)
        admission = admit(said, policy=self.policy.reflection)
        if content is not None and admission.action in ("refuse", "quarantine"):
            raise InputError(f"not changed: {admission.reason}")
        return admission.lesson

    def _known_tags(self, tags: object, *, held: Sequence[Tag]) -> tuple[Tag, ...]:
        wanted = parse_tags(tags, self.policy.taxonomy)
        known = frozenset((*self.policy.taxonomy.tags(), *held))
        unknown = [str(tag) for tag in wanted if tag not in known]
        if unknown:
            raise InputError(f"unknown tags: {', '.join(unknown)}; see memory/taxonomy.yaml")
        return wanted

    async def _refuse_users_own(self, memory_ids: Sequence[str], *, scope: Scope) -> None:
        """What the user asked to remember is forgotten or changed by the user alone."""
        store = await self._parts.store(scope)
        found = await store.memories(scope, ids=memory_ids, limit=len(memory_ids) or 1)
        for memory in found:
            if memory.source == "user":
                raise InputError(
                    f"memory {memory.memory_id!r} came from the user; ask the user to forget it "
                    f"(agentkit forget {memory.memory_id})"
                )


def _untouched(copy: Path) -> str:
    return f"{copy} is a copy from before that may hold what was erased; delete it yourself"
