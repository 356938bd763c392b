"""Reading memories."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import BindParameter, ColumnElement, bindparam, func, literal, or_, union_all
from sqlalchemy import select as select_columns
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from agentkit.errors import NotFoundError
from agentkit.records import (
    EventKind,
    Evidence,
    Language,
    Memory,
    MemoryEvent,
    MemoryStatus,
    MemoryType,
    Scope,
    Source,
    Tag,
)
from agentkit.store.rows.scoping import check_page, chunks, in_scope, of_ids
from agentkit.store.tables import (
    MemoryEventRow,
    MemoryEvidenceRow,
    MemoryKeyRow,
    MemoryRow,
    MemoryTagRow,
    Row,
)
from agentkit.text import normalise

# Writing what is archived again makes a new memory: the archived one would not come back.
REPEATABLE = ("pending", "active", "disputed")

# A row as it was selected: the object, or its columns by the same names.
StoredMemory = Any

_SIZES = (1, 5, 10, 20, 50, 100)
_IDS_AT_ONCE = _SIZES[-1]
_ID_NAMES = tuple(f"id{place}" for place in range(_IDS_AT_ONCE))
_USER: BindParameter[str] = bindparam("user")
_AGENT: BindParameter[str] = bindparam("agent")
_NOW: BindParameter[datetime] = bindparam("now")


def find_row(session: Session, scope: Scope, memory_id: str) -> MemoryRow:
    """Return the row of a memory, whatever its status.

    Raises:
        NotFoundError: If this scope has no such memory.
    """
    row = session.exec(
        select(MemoryRow).where(MemoryRow.id == normalise(memory_id), _visible_to(scope))
    ).first()
    if row is None:
        raise NotFoundError("memory", memory_id)
    return row


def find_twin(
    session: Session, row: MemoryRow, *, identity: str, now: datetime
) -> MemoryRow | None:
    """Return the other memory of the same scope and type that says the same, or None.

    Args:
        session: Open session.
        row: The memory; two episodic ones that read alike are two events, and never twins.
        identity: Hash of what it says, or would say.
        now: Current time, UTC.
    """
    if row.type == "episodic":
        return None
    return session.exec(
        select(MemoryRow)
        .where(
            MemoryRow.user_id == row.user_id,
            MemoryRow.agent_id == row.agent_id,
            MemoryRow.type == row.type,
            MemoryRow.identity == identity,
            MemoryRow.id != row.id,
            col(MemoryRow.status).in_(REPEATABLE),
            not_expired(now),
        )
        .order_by(col(MemoryRow.id))
    ).first()


def get_memory(session: Session, scope: Scope, memory_id: str, *, now: datetime) -> Memory:
    """Return a memory, whatever its status, unless it has expired.

    Raises:
        NotFoundError: If this scope has no such memory.
    """
    row = find_row(session, scope, memory_id)
    if row.valid_to is not None and row.valid_to <= now:
        raise NotFoundError("memory", memory_id)
    return load(session, [row])[0]


def get_memories(session: Session, scope: Scope, ids: Sequence[str]) -> dict[str, MemoryRow]:
    """Return the rows of those ids that this scope has, whatever their status."""
    found: dict[str, MemoryRow] = {}
    for chunk in chunks([normalise(memory_id) for memory_id in ids]):
        rows = session.exec(
            select(MemoryRow).where(
                of_ids(col(MemoryRow.user_id), col(MemoryRow.agent_id), scope=scope),
                col(MemoryRow.id).in_(chunk),
            )
        )
        found.update((row.id, row) for row in rows)
    return found


def list_memories(
    session: Session,
    scope: Scope,
    *,
    now: datetime,
    statuses: Sequence[MemoryStatus],
    ids: Sequence[str] | None,
    memory_type: MemoryType | None,
    tag: Tag | None,
    limit: int,
    offset: int,
) -> tuple[Memory, ...]:
    """Return memories of a scope, newest first, ties by id.

    Args:
        session: Open session.
        scope: Whose memories.
        now: Current time, UTC; what has expired by then is left out.
        statuses: Statuses wanted; none of them means no memory.
        ids: Ids wanted, then all that are found come back; None for a page of all.
        memory_type: Type wanted, or None for all.
        tag: Tag wanted, or None.
        limit: Size of the page, at least 1; of no effect with `ids`.
        offset: Memories to skip, at least 0; of no effect with `ids`.

    Raises:
        InputError: If limit or offset is out of range.
    """
    check_page(limit=limit, offset=offset)
    if ids is not None and memory_type is None and tag is None:
        return get_shown(session, scope, ids, now=now, statuses=statuses)
    query = select(MemoryRow).where(
        *_filters(scope, now=now, memory_type=memory_type, tag=tag),
        col(MemoryRow.status).in_(statuses),
    )
    if ids is None:
        ordered = query.order_by(col(MemoryRow.created_at).desc(), col(MemoryRow.id))
        return load(session, session.exec(ordered.limit(limit).offset(offset)).all())
    rows: list[MemoryRow] = []
    for chunk in chunks([normalise(memory_id) for memory_id in ids]):
        rows.extend(session.exec(query.where(col(MemoryRow.id).in_(chunk))))
    rows.sort(key=lambda row: (-row.created_at.timestamp(), row.id))
    return load(session, rows)


def get_shown(
    session: Session,
    scope: Scope,
    ids: Sequence[str],
    *,
    now: datetime,
    statuses: Sequence[MemoryStatus],
) -> tuple[Memory, ...]:
    """Return the memories of some ids that a scope sees, newest first, ties by id.

    Every recall ends here, so it does without the objects and the building of a query.

    Args:
        session: Open session.
        scope: Whose memories.
        ids: Ids wanted.
        now: Current time, UTC; what has expired by then is left out.
        statuses: Statuses wanted.
    """
    if not statuses:
        return ()
    connection = session.connection()
    given: dict[str, Any] = {"user": scope.user_id, "now": now}
    if scope.agent_id is not None:
        given["agent"] = scope.agent_id
    rows: list[StoredMemory] = []
    for named in _named([normalise(memory_id) for memory_id in ids]):
        query = _shown_query(len(named), tuple(statuses), scope.agent_id is not None)
        rows.extend(connection.execute(query, given | named).all())
    rows.sort(key=lambda row: (-row.created_at.timestamp(), row.id))
    return load(session, rows)


def count_memories(
    session: Session,
    scope: Scope,
    *,
    now: datetime,
    memory_type: MemoryType | None,
    tag: Tag | None,
) -> Mapping[MemoryStatus, int]:
    """Return how many memories of a scope have each status; expired ones are not counted."""
    rows = session.exec(
        select(MemoryRow.status, func.count())
        .where(*_filters(scope, now=now, memory_type=memory_type, tag=tag))
        .group_by(col(MemoryRow.status))
    )
    return {cast("MemoryStatus", status): number for status, number in rows}


def get_history(session: Session, scope: Scope, memory_id: str) -> tuple[MemoryEvent, ...]:
    """Return the events of a memory, oldest first.

    Raises:
        NotFoundError: If this scope has no such memory.
    """
    row = find_row(session, scope, memory_id)
    events = session.exec(
        select(MemoryEventRow)
        .where(MemoryEventRow.memory_id == row.id)
        .order_by(col(MemoryEventRow.id))
    )
    return tuple(
        MemoryEvent(
            memory_id=event.memory_id,
            kind=cast("EventKind", event.kind),
            at=event.at,
            actor=event.actor,
            reason=event.reason,
            old=event.old,
            new=event.new,
        )
        for event in events
    )


def load(session: Session, rows: Sequence[StoredMemory]) -> tuple[Memory, ...]:
    """Return the memories of rows, in their order, with cues, tags and evidence."""
    parts: dict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
    connection = session.connection()
    for named in _named([row.id for row in rows]):
        found: Any = connection.execute(_parts_query(len(named)), named)
        for part, memory_id, ordinal, first, second in found:
            parts[part, memory_id].append((ordinal, first, second))
    return tuple(
        _memory(
            row,
            cues=tuple(text for _, text, _ in sorted(parts["cue", row.id])),
            tags=tuple(sorted(Tag(facet, value) for _, facet, value in parts["tag", row.id])),
            evidence=tuple(
                Evidence(step_id, quote) for _, step_id, quote in sorted(parts["evidence", row.id])
            ),
        )
        for row in rows
    )


def not_expired(now: datetime) -> ColumnElement[bool]:
    """Return the condition that a memory has not expired."""
    return or_(col(MemoryRow.valid_to).is_(None), col(MemoryRow.valid_to) > now)


def _named(ids: Sequence[str]) -> Iterator[dict[str, str]]:
    """The parameters of some ids, a few numbers of them only, so that few queries are built."""
    for start in range(0, len(ids), _IDS_AT_ONCE):
        chunk = ids[start : start + _IDS_AT_ONCE]
        number = next(size for size in _SIZES if size >= len(chunk))
        padded = [*chunk, *[chunk[-1]] * (number - len(chunk))]
        yield dict(zip(_ID_NAMES, padded, strict=False))


def _is_one_of(column: Mapped[str], number: int) -> ColumnElement[bool]:
    """Whether a column holds one of so many ids.

    `IN` takes its list to pieces at each execution, which takes longer than SQLite's answer.
    """
    return or_(*(column == bindparam(name) for name in _ID_NAMES[:number]))


@cache
def _shown_query(number: int, statuses: tuple[MemoryStatus, ...], of_agent: bool) -> Any:
    """The rows of some memories that a scope sees. Built once, as every recall asks it."""
    agent = col(MemoryRow.agent_id)
    query = select_columns(*Row.metadata.tables[str(MemoryRow.__tablename__)].c).where(
        _is_one_of(col(MemoryRow.id), number),
        # As in `of_ids`: else SQLite would read every memory of the user.
        col(MemoryRow.user_id).concat("") == _USER,
        or_(*(col(MemoryRow.status) == status for status in statuses)),
        or_(col(MemoryRow.valid_to).is_(None), col(MemoryRow.valid_to) > _NOW),
    )
    return query.where(or_(agent.is_(None), agent == _AGENT)) if of_agent else query


@cache
def _parts_query(number: int) -> Any:
    """Cues, tags and evidence of some memories: each question costs more on the way than there."""
    return union_all(
        select_columns(
            literal("cue"),
            col(MemoryKeyRow.memory_id),
            col(MemoryKeyRow.ordinal),
            col(MemoryKeyRow.text),
            literal(""),
        ).where(_is_one_of(col(MemoryKeyRow.memory_id), number), col(MemoryKeyRow.kind) == "cue"),
        select_columns(
            literal("tag"),
            col(MemoryTagRow.memory_id),
            literal(0),
            col(MemoryTagRow.facet),
            col(MemoryTagRow.value),
        ).where(_is_one_of(col(MemoryTagRow.memory_id), number)),
        select_columns(
            literal("evidence"),
            col(MemoryEvidenceRow.memory_id),
            col(MemoryEvidenceRow.ordinal),
            col(MemoryEvidenceRow.step_id),
            col(MemoryEvidenceRow.quote),
        ).where(_is_one_of(col(MemoryEvidenceRow.memory_id), number)),
    )


def _visible_to(scope: Scope) -> ColumnElement[bool]:
    return in_scope(col(MemoryRow.user_id), col(MemoryRow.agent_id), scope=scope)


def _filters(
    scope: Scope, *, now: datetime, memory_type: MemoryType | None, tag: Tag | None
) -> list[ColumnElement[bool]]:
    filters = [_visible_to(scope), not_expired(now)]
    if memory_type is not None:
        filters.append(col(MemoryRow.type) == memory_type)
    if tag is not None:
        tagged = select(MemoryTagRow.memory_id).where(
            MemoryTagRow.user_id == scope.user_id,
            MemoryTagRow.facet == normalise(tag.facet),
            MemoryTagRow.value == normalise(tag.value),
        )
        filters.append(col(MemoryRow.id).in_(tagged))
    return filters


def _memory(
    row: StoredMemory,
    *,
    cues: tuple[str, ...],
    tags: tuple[Tag, ...],
    evidence: tuple[Evidence, ...],
) -> Memory:
    return Memory(
        memory_id=row.id,
        scope=Scope(row.user_id, row.agent_id),
        memory_type=cast("MemoryType", row.type),
        content=row.content,
        status=cast("MemoryStatus", row.status),
        confidence=row.confidence,
        alpha=row.alpha,
        beta=row.beta,
        trust=row.trust,
        source=cast("Source", row.source),
        created_at=row.created_at,
        recorded_at=row.recorded_at,
        intent=row.intent,
        cues=cues,
        tags=tags,
        evidence=evidence,
        permanent=row.permanent,
        language=cast("Language", row.language),
        edited_at=row.edited_at,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
        last_recalled_at=row.last_recalled_at,
        last_used_at=row.last_used_at,
        last_verified_at=row.last_verified_at,
        recalled_count=row.recalled_count,
        used_count=row.used_count,
        demoted=row.demoted,
        episode_id=row.episode_id,
        superseded_by=row.superseded_by,
        revision=row.revision,
    )
