"""The retrieval log and the labels that come to it later."""

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import bindparam, delete, exists, update
from sqlmodel import Session, col, select

from agentkit.errors import NotFoundError
from agentkit.records import (
    Belief,
    Query,
    RecallResult,
    Retrieval,
    Scope,
    Verdict,
)
from agentkit.store.names import stored_name
from agentkit.store.rows.change import Change, FieldValue
from agentkit.store.rows.lifecycle import set_belief
from agentkit.store.rows.memories import get_memories
from agentkit.store.rows.scoping import check_page, chunks, in_scope, of_ids
from agentkit.store.tables import JobRow, MemoryRow, RetrievalRow, TaskStepRow
from agentkit.store.utc import UtcDateTime
from agentkit.text import normalise


@dataclass(frozen=True, slots=True)
class _Packed:
    """What one row of the log holds in its packed column."""

    query: Query
    result: RecallResult


_PACKED: TypeAdapter[_Packed] = TypeAdapter(_Packed)
_VERDICTS: TypeAdapter[tuple[Verdict, ...]] = TypeAdapter(tuple[Verdict, ...])
# The log is written at every recall: speed counts more than the last percent of size.
LEVEL = 1
_COUNTED = (
    update(MemoryRow)
    .where(
        col(MemoryRow.user_id) == bindparam("user"),
        col(MemoryRow.id) == bindparam("memory"),
    )
    .values(
        recalled_count=col(MemoryRow.recalled_count) + bindparam("more"),
        last_recalled_at=bindparam("at", type_=UtcDateTime()),
    )
)
_OLD_FLAG = b'"approximate":false'


def pack_retrieval(retrieval: Retrieval) -> bytes:
    """Return query, answer and pool as bytes, without hits: the pool says what was returned."""
    query = replace(retrieval.query, text=normalise(retrieval.query.text))
    result = replace(retrieval.result, hits=(), pool=tuple(retrieval.result.pool))
    held = _Packed(query, result)
    return zlib.compress(_PACKED.dump_json(held), LEVEL)


def returned_ids(retrieval: Retrieval) -> tuple[str, ...]:
    """Return the ids of the memories that the caller got, best first."""
    return tuple(member.memory_id for member in retrieval.result.pool if member.returned)


def log_retrievals(
    session: Session, given: Sequence[Retrieval], *, packed: Sequence[bytes]
) -> None:
    """Write records of the log and count the recalls of what was returned.

    Writing one again changes nothing, except that the late result of a recall that timed out takes
    the place of the empty one. Counts are no change of the memories: no event, no revision.

    Args:
        session: Open session.
        given: The records, in the order of asking.
        packed: What `pack_retrieval` makes of each.
    """
    known: dict[str, RetrievalRow] = {}
    for chunk in chunks([one.retrieval_id for one in given]):
        found = session.exec(select(RetrievalRow).where(col(RetrievalRow.id).in_(chunk)))
        known.update((row.id, row) for row in found)
    new: list[Retrieval] = []
    for one, content in zip(given, packed, strict=True):
        row = known.get(one.retrieval_id)
        if row is None:
            new.append(one)
            row = known[one.retrieval_id] = _row(one, packed=content)
            session.add(row)
        elif row.timed_out and row.user_id == one.scope.user_id:
            row.packed = content
    _count(session, new)


def _row(retrieval: Retrieval, *, packed: bytes) -> RetrievalRow:
    return RetrievalRow(
        id=retrieval.retrieval_id,
        user_id=retrieval.scope.user_id,
        agent_id=retrieval.scope.agent_id,
        session_id=retrieval.session_id and stored_name(retrieval.session_id, what="session_id"),
        episode_id=retrieval.episode_id,
        asked_at=retrieval.asked_at,
        policy_fingerprint=retrieval.policy_fingerprint,
        timed_out=retrieval.result.timed_out,
        returned=json.dumps(returned_ids(retrieval)),
        packed=packed,
        verdicts=_VERDICTS.dump_json(retrieval.verdicts).decode("utf-8"),
    )


def _count(session: Session, given: Sequence[Retrieval]) -> None:
    """Count the recalls of what was returned; who looks into the past uses nothing of it now."""
    counted: dict[tuple[str, str], tuple[int, datetime]] = {}
    for one in given:
        for memory_id in returned_ids(one) if one.query.as_of is None else ():
            number, last = counted.get((one.scope.user_id, memory_id), (0, one.asked_at))
            counted[one.scope.user_id, memory_id] = number + 1, max(last, one.asked_at)
    if counted:
        # In one order everywhere, so that two who count the same rows wait and do not deadlock.
        session.connection().execute(
            _COUNTED,
            [
                {"user": user_id, "memory": memory_id, "more": number, "at": at}
                for (user_id, memory_id), (number, at) in sorted(counted.items())
            ],
        )


def find_retrieval(session: Session, scope: Scope, retrieval_id: str) -> RetrievalRow:
    """Return the row of a recall.

    Raises:
        NotFoundError: If this scope has no such recall.
    """
    row = session.exec(
        select(RetrievalRow).where(
            RetrievalRow.id == normalise(retrieval_id),
            in_scope(col(RetrievalRow.user_id), col(RetrievalRow.agent_id), scope=scope),
        )
    ).first()
    if row is None:
        raise NotFoundError("retrieval", retrieval_id)
    return row


def list_retrievals(
    session: Session,
    scope: Scope,
    *,
    limit: int,
    session_id: str | None,
    episode_id: str | None,
) -> tuple[Retrieval, ...]:
    """Return records of the log, the last asked first, ties by id.

    Args:
        session: Open session.
        scope: Whose recalls.
        limit: Most records wanted, at least 1.
        session_id: Session that they served, or None for all.
        episode_id: Episode that they served, or None for all.

    Raises:
        InputError: If the limit is out of range.
    """
    check_page(limit=limit, offset=0)
    query = select(RetrievalRow).where(
        in_scope(col(RetrievalRow.user_id), col(RetrievalRow.agent_id), scope=scope)
    )
    if session_id is not None:
        query = query.where(RetrievalRow.session_id == normalise(session_id))
    if episode_id is not None:
        query = query.where(RetrievalRow.episode_id == normalise(episode_id))
    ordered = query.order_by(col(RetrievalRow.asked_at).desc(), col(RetrievalRow.id))
    return to_retrievals(session.exec(ordered.limit(limit)))


def last_retrievals(session: Session, *, limit: int) -> tuple[Retrieval, ...]:
    """Return the last records of the log, of all users, the last asked first, ties by id.

    Args:
        session: Open session.
        limit: Most records wanted, at least 1.

    Raises:
        InputError: If the limit is out of range.
    """
    check_page(limit=limit, offset=0)
    query = select(RetrievalRow).order_by(col(RetrievalRow.asked_at).desc(), col(RetrievalRow.id))
    return to_retrievals(session.exec(query.limit(limit)))


def drop_old(session: Session, *, before: datetime, limit: int) -> int:
    """Delete records that were asked before a time, of all users; return how many.

    What verdicts are still to come for stays: records of a task that is open, and of an episode
    that waits for reflection.

    Args:
        session: Open session.
        before: Records asked earlier than this go.
        limit: Most records to delete, at least 1.
    """
    waits = exists().where(
        col(JobRow.user_id) == col(RetrievalRow.user_id),
        col(JobRow.kind) == "reflect",
        col(JobRow.subject_id) == col(RetrievalRow.episode_id),
        col(JobRow.state).in_(("pending", "running")),
    )
    is_open = exists().where(
        col(TaskStepRow.user_id) == col(RetrievalRow.user_id),
        col(TaskStepRow.session_id) == col(RetrievalRow.session_id),
    )
    old = (
        select(RetrievalRow.id)
        .where(RetrievalRow.asked_at < before, ~waits, ~is_open)
        .order_by(col(RetrievalRow.asked_at), col(RetrievalRow.id))
        .limit(limit)
    )
    ids = session.exec(old).all()
    for chunk in chunks(ids):
        session.exec(delete(RetrievalRow).where(col(RetrievalRow.id).in_(chunk)))
    return len(ids)


def rows_of_episode(session: Session, scope: Scope, episode_id: str) -> Sequence[RetrievalRow]:
    """Return the rows of the recalls that served an episode, in the order of asking."""
    return session.exec(
        select(RetrievalRow)
        .where(RetrievalRow.user_id == scope.user_id, RetrievalRow.episode_id == episode_id)
        .order_by(col(RetrievalRow.asked_at), col(RetrievalRow.id))
    ).all()


def recalled_ids(rows: Iterable[RetrievalRow]) -> tuple[str, ...]:
    """Return the ids of the memories that recalls returned, each once, first seen first."""
    return tuple(dict.fromkeys(memory_id for row in rows for memory_id in json.loads(row.returned)))


def attach(session: Session, scope: Scope, retrieval_ids: Sequence[str], episode_id: str) -> None:
    """Say which episode recalls served; ids of another scope are left alone."""
    for chunk in chunks([normalise(retrieval_id) for retrieval_id in retrieval_ids]):
        session.exec(
            update(RetrievalRow)
            .where(
                col(RetrievalRow.id).in_(chunk),
                of_ids(col(RetrievalRow.user_id), col(RetrievalRow.agent_id), scope=scope),
            )
            .values(episode_id=episode_id)
        )


def attach_session(session: Session, scope: Scope, session_id: str, episode_id: str) -> None:
    """Say which episode the recalls of a session served, as far as none was named yet."""
    session.exec(
        update(RetrievalRow)
        .where(
            col(RetrievalRow.session_id) == session_id,
            col(RetrievalRow.episode_id).is_(None),
            in_scope(col(RetrievalRow.user_id), col(RetrievalRow.agent_id), scope=scope),
        )
        .values(episode_id=episode_id)
    )


def label(
    change: Change,
    scope: Scope,
    rows: Sequence[RetrievalRow],
    verdicts: Sequence[Verdict],
    *,
    actor: str,
) -> tuple[Verdict, ...]:
    """Append verdicts to recalls and let each move its memory's belief, once.

    A verdict of the same kind from the same source that a recall carries already is no news.

    Args:
        change: The transaction.
        scope: Whose recalls and memories.
        rows: Recalls to label; a verdict goes to those that had its memory in their pool.
        verdicts: What is said.
        actor: Who says it.

    Returns:
        Verdicts on memories that none of these recalls had in its pool; they were left out.
    """
    held = [_Labelled(row) for row in rows]
    memories = get_memories(change.session, scope, [verdict.memory_id for verdict in verdicts])
    strange: list[Verdict] = []
    for verdict in verdicts:
        concerned = [item for item in held if verdict.memory_id in item.pool_ids]
        if not concerned:
            strange.append(verdict)
        news = [item for item in concerned if item.append(verdict)]
        memory = memories.get(verdict.memory_id)
        if news and memory is not None:
            _judge(change, memory, verdict, actor=actor)
    for item in held:
        item.save()
    return tuple(strange)


class _Labelled:
    """A row of the log while labels are added to it."""

    def __init__(self, row: RetrievalRow) -> None:
        self._row = row
        self._verdicts = list(_VERDICTS.validate_json(row.verdicts))
        result = _unpack(row).result
        self.pool_ids = frozenset(member.memory_id for member in result.pool)

    def append(self, verdict: Verdict) -> bool:
        """Add a verdict, and return whether it is news."""
        known = {(held.memory_id, held.kind, held.source) for held in self._verdicts}
        if (verdict.memory_id, verdict.kind, verdict.source) in known:
            return False
        self._verdicts.append(replace(verdict, reason=normalise(verdict.reason)))
        return True

    def save(self) -> None:
        """Write the verdicts back into the row."""
        self._row.verdicts = _VERDICTS.dump_json(tuple(self._verdicts)).decode("utf-8")


def _judge(change: Change, row: MemoryRow, verdict: Verdict, *, actor: str) -> None:
    if verdict.kind == "unused":
        return
    old = _fields(row)
    belief = Belief(row.alpha, row.beta)
    if verdict.kind == "helpful":
        set_belief(row, belief.confirmed())
        row.used_count += 1
        row.last_used_at = change.now
    else:
        set_belief(row, belief.refuted())
    reason = f"{verdict.kind}: {verdict.reason}" if verdict.reason else verdict.kind
    change.record(row, "judged", actor=actor, reason=reason, old=old, new=_fields(row))


def _fields(row: MemoryRow) -> dict[str, FieldValue]:
    return {
        "alpha": row.alpha,
        "beta": row.beta,
        "confidence": row.confidence,
        "used_count": row.used_count,
    }


def to_retrievals(rows: Iterable[RetrievalRow]) -> tuple[Retrieval, ...]:
    """Return the records of rows, in their order."""
    return tuple(
        Retrieval(
            retrieval_id=row.id,
            scope=Scope(row.user_id, row.agent_id),
            session_id=row.session_id,
            query=(packed := _unpack(row)).query,
            asked_at=row.asked_at,
            policy_fingerprint=row.policy_fingerprint,
            result=packed.result,
            verdicts=_VERDICTS.validate_json(row.verdicts),
            episode_id=row.episode_id,
        )
        for row in rows
    )


def _unpack(row: RetrievalRow) -> _Packed:
    content = zlib.decompress(row.packed)
    # Older releases wrote a flag here, never set. In a text the quotes would be escaped.
    held = _PACKED.validate_json(content.replace(_OLD_FLAG, b'"approximate":null'))
    return replace(held, result=replace(held.result, pool=tuple(held.result.pool)))
