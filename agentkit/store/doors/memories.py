"""Memories: write, read, change, forget."""

from collections.abc import Mapping, Sequence

from sqlmodel import Session

from agentkit.records import (
    Memory,
    MemoryEvent,
    MemoryLink,
    MemoryStatus,
    MemoryType,
    Scope,
    Tag,
)
from agentkit.store.doors.room import Room
from agentkit.store.rows import lifecycle, memories
from agentkit.store.rows.memories import load
from agentkit.store.rows.writing import add_memories
from agentkit.store.values import VISIBLE, ForgetResult, NewMemory, WriteResult


class MemoryDoor(Room):
    """What can be done with the memories of one scope."""

    async def add(
        self, scope: Scope, new: Sequence[NewMemory], *, actor: str
    ) -> tuple[WriteResult, ...]:
        """Write memories in one transaction and return what became of each, in order.

        Vectors of another embedder than the one in use are left out, and made anew later.
        The same operation id, or the same content and type in the same scope, is one memory: the
        old one comes back as a duplicate, with the tags it lacked.

        Args:
            scope: Whose they are; with an agent, that agent's own.
            new: What is to be written.
            actor: Who writes.

        Raises:
            InputError: If one of them cannot be stored; then none is.
            EmbedderError: If vectors come along and the embedder cannot say what it is.
        """
        drafts, identity = await self._drafts(new)

        def work(session: Session) -> tuple[WriteResult, ...]:
            usable = self._usable(session, identity)
            change = self._change(session, scope)
            return add_memories(change, scope, drafts, actor=actor, embedder=usable)

        return await self._database.write(work) if drafts else ()

    async def memory(self, scope: Scope, memory_id: str) -> Memory:
        """Return a memory, whatever its status, unless it has expired.

        Raises:
            NotFoundError: If this scope has no such memory.
        """
        return await self._database.read(
            lambda session: memories.get_memory(session, scope, memory_id, now=self._clock())
        )

    async def memories(
        self,
        scope: Scope,
        *,
        ids: Sequence[str] | None = None,
        statuses: Sequence[MemoryStatus] | None = None,
        memory_type: MemoryType | None = None,
        tag: Tag | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[Memory, ...]:
        """Return memories, newest first, ties by id; expired ones are left out.

        Args:
            scope: Whose memories.
            ids: Ids wanted: all of them that are found come back. None for a page of all.
            statuses: Statuses wanted, or None for those that recall may return.
            memory_type: Type wanted, or None for all.
            tag: Tag wanted, or None.
            limit: Size of the page, at least 1; of no effect with `ids`.
            offset: Memories to skip, at least 0; of no effect with `ids`.

        Raises:
            InputError: If limit or offset is out of range.
        """
        return await self._database.read(
            lambda session: memories.list_memories(
                session,
                scope,
                now=self._clock(),
                statuses=VISIBLE if statuses is None else statuses,
                ids=ids,
                memory_type=memory_type,
                tag=tag,
                limit=limit,
                offset=offset,
            )
        )

    async def count(
        self, scope: Scope, *, memory_type: MemoryType | None = None, tag: Tag | None = None
    ) -> Mapping[MemoryStatus, int]:
        """Return how many memories have each status; expired ones are not counted.

        Args:
            scope: Whose memories.
            memory_type: Type wanted, or None for all.
            tag: Tag wanted, or None.
        """
        return await self._database.read(
            lambda session: memories.count_memories(
                session, scope, now=self._clock(), memory_type=memory_type, tag=tag
            )
        )

    async def history(self, scope: Scope, memory_id: str) -> tuple[MemoryEvent, ...]:
        """Return every change of a memory, oldest first; forgotten ones have a history too.

        Raises:
            NotFoundError: If this scope has no such memory.
        """
        return await self._database.read(
            lambda session: memories.get_history(session, scope, memory_id)
        )

    async def change_status(
        self,
        scope: Scope,
        memory_id: str,
        status: MemoryStatus,
        *,
        actor: str,
        reason: str,
        superseded_by: str | None = None,
    ) -> Memory:
        """Move a memory to another status and return it; the status it has already changes nothing.

        Args:
            scope: Whose it is.
            memory_id: The memory.
            status: `active`, `disputed`, `superseded`, `archived` or `quarantined`.
            actor: Who does it.
            reason: Why, in words.
            superseded_by: The memory that takes its place, or None.

        Raises:
            NotFoundError: If this scope has no such memory.
            InputError: If it cannot go there from where it is.
        """

        def work(session: Session) -> Memory:
            change = self._change(session, scope)
            row = lifecycle.change_status(
                change,
                scope,
                memory_id,
                status,
                actor=actor,
                reason=reason,
                superseded_by=superseded_by,
            )
            session.flush()
            return load(session, [row])[0]

        return await self._database.write(work)

    async def forget(
        self, scope: Scope, memory_ids: Sequence[str], *, actor: str, reason: str
    ) -> ForgetResult:
        """Mark memories as forgotten: no recall returns them any more; `restore` undoes it.

        Args:
            scope: Whose they are.
            memory_ids: At least one.
            actor: Who does it.
            reason: Why, in words; not blank.

        Raises:
            InputError: If no id or no reason is given.
        """
        return await self._database.write(
            lambda session: lifecycle.forget(
                self._change(session, scope), scope, memory_ids, actor=actor, reason=reason
            )
        )

    async def restore(self, scope: Scope, memory_id: str, *, actor: str, reason: str) -> Memory:
        """Give a forgotten, superseded or archived memory back the status it had; return it.

        Args:
            scope: Whose it is.
            memory_id: The memory.
            actor: Who does it.
            reason: Why, in words.

        Raises:
            NotFoundError: If this scope has no such memory.
            InputError: If it is none of these, or was written again meanwhile.
        """

        def work(session: Session) -> Memory:
            change = self._change(session, scope)
            row = lifecycle.restore(change, scope, memory_id, actor=actor, reason=reason)
            session.flush()
            return load(session, [row])[0]

        return await self._database.write(work)

    async def verify(
        self,
        scope: Scope,
        memory_id: str,
        *,
        actor: str,
        reason: str,
        operation_id: str | None = None,
    ) -> Memory:
        """Count a memory as learnt again, and return it.

        Args:
            scope: Whose it is.
            memory_id: The memory.
            actor: Who does it.
            reason: Why, in words.
            operation_id: The same operation counts once; None for no such check.

        Raises:
            NotFoundError: If this scope has no such memory.
            InputError: If recall may not return it.
        """

        def work(session: Session) -> Memory:
            change = self._change(session, scope)
            row = memories.find_row(session, scope, memory_id)
            lifecycle.verify(change, row, actor=actor, reason=reason, operation_id=operation_id)
            session.flush()
            return load(session, [row])[0]

        return await self._database.write(work)

    async def link(self, scope: Scope, link: MemoryLink) -> bool:
        """Write how two memories stand to each other.

        Args:
            scope: Whose they are.
            link: The link; `related` and `contradicts` mean the same in both directions.

        Returns:
            False when the pair is linked by that relation already.

        Raises:
            NotFoundError: If one of them is not in this scope.
            InputError: If both are the same memory.
        """
        return await self._database.write(
            lambda session: lifecycle.add_link(self._change(session, scope), scope, link)
        )

    async def links(self, scope: Scope, memory_id: str) -> tuple[MemoryLink, ...]:
        """Return the links from and to a memory, oldest first.

        Raises:
            NotFoundError: If this scope has no such memory.
        """
        return await self._database.read(
            lambda session: lifecycle.get_links(session, scope, memory_id)
        )
