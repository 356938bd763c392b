"""What happens to a memory after it was written: status, verification, links."""

import json
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from sqlmodel import Session, col, or_, select

from agentkit.errors import InputError
from agentkit.records import (
    Belief,
    EventKind,
    MemoryLink,
    MemoryStatus,
    Relation,
    Scope,
)
from agentkit.store.rows.change import Change, FieldValue
from agentkit.store.rows.jobs import add_job
from agentkit.store.rows.memories import find_row, find_twin, get_memories
from agentkit.store.tables import (
    MemoryEventRow,
    MemoryKeyRow,
    MemoryLinkRow,
    MemoryRow,
)
from agentkit.store.values import VISIBLE, ForgetResult
from agentkit.text import normalise

# From which statuses a memory may move to which, and the event that says so.
_MOVES: dict[MemoryStatus, tuple[EventKind, tuple[MemoryStatus, ...]]] = {
    "active": ("activated", ("pending", "disputed", "archived", "quarantined")),
    "disputed": ("disputed", ("pending", "active")),
    "superseded": ("superseded", ("pending", "active", "disputed")),
    "archived": ("archived", ("pending", "active", "disputed")),
    "quarantined": ("quarantined", ("pending", "active", "disputed")),
}
# What `restore` undoes; the event that did it has the same name.
_UNDONE: tuple[MemoryStatus, ...] = ("forgotten", "superseded", "archived")
_TWO_WAY: tuple[Relation, ...] = ("related", "contradicts")


def change_status(
    change: Change,
    scope: Scope,
    memory_id: str,
    status: MemoryStatus,
    *,
    actor: str,
    reason: str,
    superseded_by: str | None,
) -> MemoryRow:
    """Move a memory to another status and return its row; the status it has changes nothing.

    Raises:
        NotFoundError: If this scope has no such memory, or none that takes its place.
        InputError: If it cannot go there from where it is.
    """
    row = find_row(change.session, scope, memory_id)
    if superseded_by is not None:
        if status != "superseded":
            raise InputError("superseded_by goes with the status superseded only")
        if find_row(change.session, scope, superseded_by).id == row.id:
            raise InputError("a memory cannot supersede itself; name the newer one")
    if row.status == status:
        return row
    kind, sources = _MOVES.get(status, (None, ()))
    if kind is None:
        raise InputError(f"a memory is not made {status} here; use forget or restore")
    if row.status not in sources:
        raise InputError(
            f"memory {memory_id} is {row.status} and cannot become {status}; "
            f"only {', '.join(sources)} can"
        )
    _move(change, row, status, kind=kind, actor=actor, reason=reason, by=superseded_by)
    return row


def forget(
    change: Change, scope: Scope, memory_ids: Sequence[str], *, actor: str, reason: str
) -> ForgetResult:
    """Mark memories as forgotten; what cannot be found is named, not counted.

    Raises:
        InputError: If no id is given, or no reason.
    """
    if not memory_ids:
        raise InputError("no memory id was given; nothing was forgotten: name at least one")
    if not reason.strip():
        raise InputError("forgetting needs a reason; nothing was forgotten")
    rows = get_memories(change.session, scope, memory_ids)
    forgotten: list[str] = []
    not_found: list[str] = []
    for memory_id in dict.fromkeys(memory_ids):
        row = rows.get(memory_id)
        if row is None or row.status == "forgotten":
            not_found.append(memory_id)
            continue
        _move(
            change,
            row,
            "forgotten",
            kind="forgotten",
            actor=actor,
            reason=reason,
            by=row.superseded_by,
        )
        forgotten.append(memory_id)
    return ForgetResult(forgotten=tuple(forgotten), not_found=tuple(not_found))


def restore(change: Change, scope: Scope, memory_id: str, *, actor: str, reason: str) -> MemoryRow:
    """Give a forgotten, superseded or archived memory back the status it had; return its row.

    Raises:
        NotFoundError: If this scope has no such memory.
        InputError: If it is none of these, or was written again meanwhile.
    """
    row = find_row(change.session, scope, memory_id)
    if row.status not in _UNDONE:
        raise InputError(f"memory {memory_id} is {row.status}; there is nothing to restore")
    twin = find_twin(change.session, row, identity=row.identity, now=change.now)
    if twin is not None:
        raise InputError(f"memory {memory_id} was written again as {twin.id}; forget that first")
    status = _status_before(change.session, row)
    if status == "pending":
        own = Scope(row.user_id, row.agent_id)
        # The check for conflicts that it was waiting for may have come and gone.
        add_job(
            change.session,
            own,
            kind="conflict",
            subject_id=row.id,
            payload="{}",
            now=change.now,
        )
    by = row.superseded_by if status == "superseded" else None
    _move(change, row, status, kind="restored", actor=actor, reason=reason, by=by)
    return row


def verify(
    change: Change, row: MemoryRow, *, actor: str, reason: str, operation_id: str | None = None
) -> None:
    """Count a memory as learnt again, once for each operation.

    Raises:
        InputError: If it is not one that recall may return.
    """
    if row.status not in VISIBLE:
        raise InputError(f"memory {row.id} is {row.status}; restore it before verifying it")
    named: dict[str, FieldValue] = {}
    if operation_id is not None:
        named = {"operation_id": normalise(operation_id)}
        if _told(change.session, row, named):
            return
    old = _belief_fields(row)
    set_belief(row, Belief(row.alpha, row.beta).confirmed())
    row.last_verified_at = change.now
    new = _belief_fields(row) | named
    change.record(row, "verified", actor=actor, reason=reason, old=old, new=new)


def _told(session: Session, row: MemoryRow, named: Mapping[str, FieldValue]) -> bool:
    """Whether an earlier verification was of the same operation."""
    events = session.exec(
        select(MemoryEventRow.new).where(
            MemoryEventRow.memory_id == row.id, MemoryEventRow.kind == "verified"
        )
    )
    return any(named.items() <= json.loads(new).items() for new in events if new is not None)


def demote(change: Change, row: MemoryRow, *, actor: str, reason: str) -> None:
    """Let an episodic memory weigh less, now that its lessons are memories of their own."""
    if row.demoted:
        return
    row.demoted = True
    change.record(
        row, "demoted", actor=actor, reason=reason, old={"demoted": False}, new={"demoted": True}
    )


def set_belief(row: MemoryRow, belief: Belief) -> None:
    """Store a belief and the confidence that follows from it."""
    row.alpha, row.beta, row.confidence = belief.alpha, belief.beta, belief.confidence


def add_link(change: Change, scope: Scope, link: MemoryLink) -> bool:
    """Write how two memories stand to each other.

    Returns:
        False when the pair is linked by that relation already.

    Raises:
        NotFoundError: If one of them is not in this scope.
        InputError: If both are the same memory.
    """
    newer = find_row(change.session, scope, link.from_id)
    older = find_row(change.session, scope, link.to_id)
    if newer.id == older.id:
        raise InputError("a memory cannot be linked to itself; name two memories")
    pairs = [(newer.id, older.id)]
    if link.relation in _TWO_WAY:
        pairs.append((older.id, newer.id))
    if any(change.session.get(MemoryLinkRow, (*pair, link.relation)) for pair in pairs):
        return False
    change.session.add(
        MemoryLinkRow(
            from_id=newer.id,
            to_id=older.id,
            relation=link.relation,
            user_id=scope.user_id,
            status=link.status,
            rationale=normalise(link.rationale),
            confidence=link.confidence,
            created_at=change.now,
        )
    )
    return True


def get_links(session: Session, scope: Scope, memory_id: str) -> tuple[MemoryLink, ...]:
    """Return the links from and to a memory, oldest first; the other end is visible here too.

    Raises:
        NotFoundError: If this scope has no such memory.
    """
    row = find_row(session, scope, memory_id)
    links = session.exec(
        select(MemoryLinkRow)
        .where(or_(MemoryLinkRow.from_id == row.id, MemoryLinkRow.to_id == row.id))
        .order_by(
            col(MemoryLinkRow.created_at), col(MemoryLinkRow.from_id), col(MemoryLinkRow.to_id)
        )
    ).all()
    visible = get_memories(
        session, scope, [*{link.from_id for link in links}, *{link.to_id for link in links}]
    )
    return tuple(
        MemoryLink(
            from_id=link.from_id,
            to_id=link.to_id,
            relation=cast("Relation", link.relation),
            status="resolved" if link.status == "resolved" else "open",
            rationale=link.rationale,
            confidence=link.confidence,
        )
        for link in links
        if link.from_id in visible and link.to_id in visible
    )


def _move(
    change: Change,
    row: MemoryRow,
    status: MemoryStatus,
    *,
    kind: EventKind,
    actor: str,
    reason: str,
    by: str | None = None,
) -> None:
    old: dict[str, FieldValue] = {"status": row.status}
    new: dict[str, FieldValue] = {"status": status}
    if row.superseded_by != by:
        old["superseded_by"], new["superseded_by"] = row.superseded_by, by
    row.status, row.superseded_by = status, by
    change.record(row, kind, actor=actor, reason=reason, old=old, new=new)
    ordinals = change.session.exec(
        select(MemoryKeyRow.ordinal).where(MemoryKeyRow.memory_id == row.id)
    )
    change.queue(row.id, list(ordinals))


def _status_before(session: Session, row: MemoryRow) -> MemoryStatus:
    """Return the status from before the event that brought it where it is."""
    told = session.exec(
        select(MemoryEventRow.old)
        .where(MemoryEventRow.memory_id == row.id, MemoryEventRow.kind == row.status)
        .order_by(col(MemoryEventRow.id).desc())
    ).first()
    status = json.loads(told or "{}").get("status")
    return cast("MemoryStatus", status) if status in get_args(MemoryStatus) else "active"


def _belief_fields(row: MemoryRow) -> dict[str, FieldValue]:
    return {"alpha": row.alpha, "beta": row.beta, "confidence": row.confidence}
