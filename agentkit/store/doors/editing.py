"""Memories: change what they say, and find what an operation wrote."""

from sqlmodel import Session, select

from agentkit.errors import EmbedderError
from agentkit.ports import EmbedderIdentity
from agentkit.records import Memory, Relation, Scope
from agentkit.store.doors.room import Room
from agentkit.store.edits import MemoryEdit, prepared
from agentkit.store.rows.editing import edit_memory
from agentkit.store.rows.memories import find_row, load
from agentkit.store.rows.resolving import resolve_link
from agentkit.store.tables import MemoryRow
from agentkit.text import normalise


class EditDoor(Room):
    """What a person changes of the memories of one scope."""

    async def edit(
        self, scope: Scope, memory_id: str, edit: MemoryEdit, *, actor: str, reason: str = ""
    ) -> Memory:
        """Change a memory and return it; what the edit does not name stays as it is.

        The time of the last edit moves only with the content. Keys, vectors, the event with old
        and new values, and the work for the index are written in one transaction.

        Args:
            scope: Whose it is.
            memory_id: The memory.
            edit: What is to be changed.
            actor: Who does it.
            reason: Why, in words, or "".

        Raises:
            NotFoundError: If this scope has no such memory, or it has expired and stays so.
            InputError: If it cannot be changed so; then nothing is.
            EmbedderError: If a vector has another length than its embedder's.
        """
        ready = prepared(edit)
        identity = await self._maker(needed=bool(ready.vectors))
        if identity is not None:
            _check_dimensions(ready, identity)

        def work(session: Session) -> Memory:
            usable = self._usable(session, identity)
            change = self._change(session, scope)
            row = edit_memory(
                change, scope, memory_id, ready, actor=actor, reason=reason, embedder=usable
            )
            session.flush()
            return load(session, [row])[0]

        return await self._database.write(work)

    async def resolve_link(
        self,
        scope: Scope,
        from_id: str,
        to_id: str,
        *,
        relation: Relation = "contradicts",
        actor: str,
        reason: str,
    ) -> bool:
        """Mark how two memories stand to each other as resolved; their statuses stay.

        Args:
            scope: Whose they are.
            from_id: One of the two.
            to_id: The other; it does not matter which of them the link begins at.
            relation: Which link of the two is meant.
            actor: Who does it.
            reason: Why, in words.

        Returns:
            False when it was resolved already; then nothing is changed.

        Raises:
            NotFoundError: If one of them is not in this scope, or they are not linked so.
        """
        return await self._database.write(
            lambda session: resolve_link(
                self._change(session, scope),
                scope,
                from_id,
                to_id,
                relation=relation,
                actor=actor,
                reason=reason,
            )
        )

    async def kept(self, scope: Scope, memory_id: str) -> Memory:
        """Return a memory even if it has expired, for the one who wants to change that.

        Raises:
            NotFoundError: If this scope has no such memory.
        """
        return await self._database.read(
            lambda session: load(session, [find_row(session, scope, memory_id)])[0]
        )

    async def written_by(self, scope: Scope, operation_id: str) -> Memory | None:
        """Return the memory that an operation wrote, whatever became of it, or None.

        Args:
            scope: Whose it is; with an agent, that agent's own.
            operation_id: The operation.
        """

        def work(session: Session) -> Memory | None:
            row = session.exec(
                select(MemoryRow).where(
                    MemoryRow.user_id == scope.user_id,
                    MemoryRow.agent_id == scope.agent_id,
                    MemoryRow.operation_id == normalise(operation_id),
                )
            ).first()
            return None if row is None else load(session, [row])[0]

        return await self._database.read(work)


def _check_dimensions(edit: MemoryEdit, identity: EmbedderIdentity) -> None:
    for vector in edit.vectors.values():
        if vector.shape != (identity.dim,):
            raise EmbedderError(
                f"a vector has shape {vector.shape}; {(identity.dim,)} is wanted of {identity.name}"
            )
