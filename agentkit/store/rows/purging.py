"""Which rows a purge takes, and taking them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import ColumnElement, func, insert, select, update
from sqlmodel import Session, col, delete

from agentkit.records import Scope
from agentkit.store.identity import identity_of
from agentkit.store.purges import PurgeTarget
from agentkit.store.rows.change import NOBODY, Change
from agentkit.store.rows.episodes import find_episode
from agentkit.store.rows.marks import marks_of, set_marks
from agentkit.store.rows.memories import find_row
from agentkit.store.rows.pinned import get_pinned
from agentkit.store.rows.scoping import chunks
from agentkit.store.tables import (
    EmbeddingRow,
    EpisodeRow,
    JobRow,
    MemoryEventRow,
    MemoryEvidenceRow,
    MemoryKeyRow,
    MemoryLinkRow,
    MemoryRow,
    MemoryTagRow,
    OutboxRow,
    RetrievalRow,
    Row,
    SessionRow,
    TaskStepRow,
)

# Parts of a memory before the memory itself, as foreign keys want it.
_PARTS: tuple[tuple[str, type[Row]], ...] = (
    ("keys", MemoryKeyRow),
    ("vectors", EmbeddingRow),
    ("tags", MemoryTagRow),
    ("evidence", MemoryEvidenceRow),
    ("events", MemoryEventRow),
)


@dataclass(frozen=True, slots=True, eq=False)
class _Erasure:
    """Rows of one table that go."""

    kind: str
    table: type[Row]
    condition: ColumnElement[bool]


def of_memories(
    session: Session, scope: Scope, memory_ids: Sequence[str], *, with_episodes: bool
) -> PurgeTarget:
    """Return what goes with memories: copies, their episodes, and what rests on these alone.

    A copy is a memory of the user that says nothing but what one of these says, or ever said.

    Args:
        session: Open session.
        scope: Whose memories.
        memory_ids: The memories, whatever their status.
        with_episodes: Whether the episodes that they came out of go too.

    Raises:
        NotFoundError: If this scope lacks one of them.
    """
    rows = [find_row(session, scope, memory_id) for memory_id in memory_ids]
    own = {row.id for row in rows}
    episodes = {row.episode_id for row in rows if row.episode_id is not None}
    said = contents(session, scope, PurgeTarget(memory_ids=tuple(sorted(own))))
    for chunk in chunks(sorted(map(identity_of, said))):
        copies = select(col(MemoryRow.id)).where(
            _own(MemoryRow, scope), col(MemoryRow.identity).in_(chunk)
        )
        own.update(session.connection().execute(copies).scalars())
    return _with_resting(session, scope, own, episodes if with_episodes else set())


def of_episode(session: Session, scope: Scope, episode_id: str) -> PurgeTarget:
    """Return what goes with an episode: the memories that rest on it alone.

    Raises:
        NotFoundError: If this scope has no such episode.
    """
    row = find_episode(session, scope, episode_id)
    return _with_resting(session, scope, set(), {row.id})


def of_user(session: Session, scope: Scope) -> PurgeTarget:
    """Return everything of a user; it may be nothing."""
    memories = session.connection().execute(select(col(MemoryRow.id)).where(_own(MemoryRow, scope)))
    episodes = session.connection().execute(
        select(col(EpisodeRow.id)).where(_own(EpisodeRow, scope))
    )
    return PurgeTarget(
        memory_ids=tuple(sorted(memories.scalars())),
        episode_ids=tuple(sorted(episodes.scalars())),
        everything=True,
    )


def _with_resting(
    session: Session, scope: Scope, memories: set[str], episodes: set[str]
) -> PurgeTarget:
    """Add the memories that rest on these episodes alone.

    What the user said too, or what was learnt again elsewhere, rests on more than its episode.
    """
    if episodes:
        verified = (
            select(col(MemoryEventRow.id))
            .where(
                col(MemoryEventRow.memory_id) == col(MemoryRow.id),
                col(MemoryEventRow.kind) == "verified",
            )
            .exists()
        )
        resting = select(col(MemoryRow.id)).where(
            _own(MemoryRow, scope),
            col(MemoryRow.episode_id).in_(episodes),
            col(MemoryRow.source) != "user",
            ~verified,
        )
        memories = memories | set(session.connection().execute(resting).scalars())
    return PurgeTarget(memory_ids=tuple(sorted(memories)), episode_ids=tuple(sorted(episodes)))


def contents(session: Session, scope: Scope, target: PurgeTarget) -> set[str]:
    """Return everything that the memories of a target say or ever said."""
    found: set[str] = set()
    for chunk in chunks(target.memory_ids):
        query = select(col(MemoryRow.content)).where(
            _own(MemoryRow, scope), col(MemoryRow.id).in_(chunk)
        )
        found.update(session.connection().execute(query).scalars())
        told = select(col(MemoryEventRow.old), col(MemoryEventRow.new)).where(
            col(MemoryEventRow.memory_id).in_(chunk), col(MemoryEventRow.kind) == "edited"
        )
        for fields in session.connection().execute(told):
            found.update(_contents_in(fields))
    return found


def _contents_in(told: Iterable[str | None]) -> set[str]:
    values = [json.loads(fields).get("content") for fields in told if fields is not None]
    return {value for value in values if isinstance(value, str)}


def count(session: Session, scope: Scope, target: PurgeTarget) -> dict[str, int]:
    """Return how many rows of each kind a target takes; kinds of which it takes none are left out.

    Args:
        session: Open session.
        scope: Whose.
        target: What is to go.
    """
    counts: dict[str, int] = {}
    for erasure in _erasures(scope, target):
        query = select(func.count()).select_from(erasure.table).where(erasure.condition)
        number = session.connection().execute(query).scalar_one()
        if number:
            counts[erasure.kind] = counts.get(erasure.kind, 0) + number
    return counts


def erase(change: Change, scope: Scope, target: PurgeTarget) -> None:
    """Delete the rows of a target, and leave word of the keys that the index must lose.

    What was erased is marked, so that an export of before does not bring it back.

    Args:
        change: The transaction.
        scope: Whose.
        target: What is to go.
    """
    session = change.session
    lost: list[Any] = []
    if get_pinned(session) is not None:
        for condition in _of_memories(MemoryKeyRow, scope, target):
            keys = select(col(MemoryKeyRow.memory_id), col(MemoryKeyRow.ordinal)).where(condition)
            lost += session.connection().execute(keys).all()
    erased: list[str] = []
    for erasure in _erasures(scope, target):
        erased += marks_of(session.connection(), erasure.table, erasure.condition)
        session.connection().execute(delete(erasure.table).where(erasure.condition))
    set_marks(session.connection(), erased)
    if lost:
        # Without the user's name: the index goes by the key's id alone.
        values = [{"user_id": NOBODY, "memory_id": row[0], "ordinal": row[1]} for row in lost]
        session.connection().execute(insert(OutboxRow), values)
    if target.everything:
        change.drop_scope()
    else:
        change.mark_purged()


def detach(change: Change, scope: Scope, target: PurgeTarget) -> int:
    """Take away what the memories that stay held of a target, and return how many did.

    Those that came out of a purged episode lose it and their quotes of it; those that a purged
    memory had taken the place of no longer say so.

    Args:
        change: The transaction, in which the target was erased already.
        scope: Whose.
        target: What is gone.
    """
    session, stamp = change.session, {"revision": change.revision}
    number = 0
    for chunk in chunks(target.memory_ids):
        replaced = _own(MemoryRow, scope) & col(MemoryRow.superseded_by).in_(chunk)
        number += _changed(session, replaced, {"superseded_by": None, **stamp})
    for chunk in chunks(target.episode_ids):
        of_episode = _own(MemoryRow, scope) & col(MemoryRow.episode_id).in_(chunk)
        quoting = select(col(MemoryRow.id)).where(of_episode)
        session.connection().execute(
            delete(MemoryEvidenceRow).where(col(MemoryEvidenceRow.memory_id).in_(quoting))
        )
        number += _changed(session, of_episode, {"episode_id": None, "position": -1, **stamp})
    return number


def _changed(session: Session, which: ColumnElement[bool], values: dict[str, object]) -> int:
    result = cast(
        "Any", session.connection().execute(update(MemoryRow).where(which).values(**values))
    )
    return int(result.rowcount)


def _own(table: type[Any], scope: Scope) -> ColumnElement[bool]:
    return col(table.user_id) == scope.user_id


def _of_memories(
    table: type[Any], scope: Scope, target: PurgeTarget
) -> Iterable[ColumnElement[bool]]:
    """Return the conditions that together pick the rows of a target's memories."""
    if target.everything:
        return [_own(table, scope)]
    column = col(MemoryRow.id) if table is MemoryRow else col(table.memory_id)
    return [_own(table, scope) & column.in_(chunk) for chunk in chunks(target.memory_ids)]


def _erasures(scope: Scope, target: PurgeTarget) -> Iterable[_Erasure]:
    """Return the rows that go, in an order in which they may."""
    yield from _link_erasures(scope, target)
    for kind, table in (*_PARTS, ("memories", MemoryRow)):
        for condition in _of_memories(table, scope, target):
            yield _Erasure(kind, table, condition)
    for condition in _of_memories(OutboxRow, scope, target):
        yield _Erasure("outbox", OutboxRow, condition)
    if target.everything:
        everything: tuple[tuple[str, type[Any]], ...] = (
            ("jobs", JobRow),
            ("retrievals", RetrievalRow),
            ("episodes", EpisodeRow),
            ("steps", TaskStepRow),
            ("sessions", SessionRow),
        )
        for kind, table in everything:
            yield _Erasure(kind, table, _own(table, scope))
        return
    for chunk in chunks((*target.memory_ids, *target.episode_ids)):
        yield _Erasure("jobs", JobRow, _own(JobRow, scope) & col(JobRow.subject_id).in_(chunk))
    for chunk in chunks(target.episode_ids):
        served = _own(RetrievalRow, scope) & col(RetrievalRow.episode_id).in_(chunk)
        yield _Erasure("retrievals", RetrievalRow, served)
        yield _Erasure(
            "episodes", EpisodeRow, _own(EpisodeRow, scope) & col(EpisodeRow.id).in_(chunk)
        )


def _link_erasures(scope: Scope, target: PurgeTarget) -> Iterable[_Erasure]:
    own = _own(MemoryLinkRow, scope)
    if target.everything:
        yield _Erasure("links", MemoryLinkRow, own)
        return
    for chunk in chunks(target.memory_ids):
        outgoing = col(MemoryLinkRow.from_id).in_(chunk)
        yield _Erasure("links", MemoryLinkRow, own & outgoing)
        incoming = own & col(MemoryLinkRow.to_id).in_(chunk) & ~outgoing
        yield _Erasure("links", MemoryLinkRow, incoming)
