"""Writing memories: each once, whoever repeats it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import insert
from sqlmodel import Session, col, select

from agentkit.errors import InputError
from agentkit.ports import EmbedderIdentity
from agentkit.records import Belief, Scope
from agentkit.store.drafts import Draft
from agentkit.store.identity import quote_hash
from agentkit.store.ids import new_id
from agentkit.store.rows.change import Change, FieldValue
from agentkit.store.rows.memories import REPEATABLE, load
from agentkit.store.rows.scoping import chunks
from agentkit.store.tables import (
    EmbeddingRow,
    EpisodeRow,
    MemoryEventRow,
    MemoryEvidenceRow,
    MemoryKeyRow,
    MemoryRow,
    MemoryTagRow,
    OutboxRow,
    Row,
)
from agentkit.store.values import WriteResult


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """A row that stands for a draft, and whether it was there already."""

    row: MemoryRow
    duplicate: bool


def add_memories(
    change: Change,
    scope: Scope,
    drafts: Sequence[Draft],
    *,
    actor: str,
    embedder: EmbedderIdentity | None,
) -> tuple[WriteResult, ...]:
    """Write drafts and return what became of each, in order.

    A draft with the operation id of an earlier write, or with the content of a memory of the same
    scope and type that can still be recalled, is that memory: what the draft knows more is merged.

    Args:
        change: The transaction.
        scope: Whose they are; with an agent, that agent's own.
        drafts: What is to be written.
        actor: Who writes.
        embedder: Who made the vectors, or None when there are none.

    Raises:
        InputError: If an episode id is not of this user.
    """
    _check_episodes(change.session, scope, drafts)
    known = _Known(change, scope, drafts)
    written: list[Written] = []
    for item in drafts:
        old = known.find(item)
        if old is None:
            row = _memory_row(change, scope, item)
            known.remember(row)
            written.append(Written(row, duplicate=False))
        else:
            written.append(Written(old, duplicate=True))
    change.session.add_all(item.row for item in written if not item.duplicate)
    change.session.flush()
    parts = _Parts(change, actor=actor, embedder=embedder)
    for item, entry in zip(drafts, written, strict=True):
        if not entry.duplicate:
            parts.collect(entry.row, item)
    parts.insert()
    for item, entry in zip(drafts, written, strict=True):
        if entry.duplicate:
            _merge(change, entry.row, item, actor=actor)
    change.session.flush()
    memories = load(change.session, [entry.row for entry in written])
    return tuple(
        WriteResult(memory=memory, duplicate=entry.duplicate)
        for memory, entry in zip(memories, written, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Identity:
    """What two memories of one scope must share to be the same."""

    memory_type: str
    content: str
    episode_id: str | None


def _happening(memory_type: str, episode_id: str | None) -> str | None:
    """Return the episode where it counts: the same thing done twice happened twice."""
    return episode_id if memory_type == "episodic" else None


class _Known:
    """The memories that a batch of drafts may turn out to be."""

    def __init__(self, change: Change, scope: Scope, drafts: Sequence[Draft]) -> None:
        self._now = change.now
        self._by_operation: dict[str, MemoryRow] = {}
        self._by_identity: dict[_Identity, list[MemoryRow]] = {}
        found: dict[str, MemoryRow] = {}
        for chunk in chunks(drafts):
            operations = [d.operation_id for d in chunk if d.operation_id]
            # One condition a query, and no order: else SQLite reads all memories of the user.
            for condition in (
                col(MemoryRow.identity).in_([d.identity for d in chunk]),
                col(MemoryRow.operation_id).in_(operations) if operations else None,
            ):
                if condition is not None:
                    rows = change.session.exec(
                        select(MemoryRow).where(
                            MemoryRow.user_id == scope.user_id,
                            MemoryRow.agent_id == scope.agent_id,
                            condition,
                        )
                    )
                    found.update((row.id, row) for row in rows)
        for memory_id in sorted(found):
            self.remember(found[memory_id])

    def remember(self, row: MemoryRow) -> None:
        """Take a row into account from now on."""
        if row.operation_id is not None:
            self._by_operation.setdefault(row.operation_id, row)
        key = _Identity(row.type, row.identity, _happening(row.type, row.episode_id))
        self._by_identity.setdefault(key, []).append(row)

    def find(self, item: Draft) -> MemoryRow | None:
        """Return the memory that a draft is, or None when it is new."""
        lesson = item.new.lesson
        if item.operation_id is not None and item.operation_id in self._by_operation:
            return self._by_operation[item.operation_id]
        statuses = (*REPEATABLE, "quarantined") if item.new.status == "quarantined" else REPEATABLE
        happening = _happening(lesson.memory_type, item.new.episode_id)
        key = _Identity(lesson.memory_type, item.identity, happening)
        same = self._by_identity.get(key, [])
        return next((row for row in same if row.status in statuses and self._alive(row)), None)

    def _alive(self, row: MemoryRow) -> bool:
        return row.valid_to is None or row.valid_to > self._now


def _check_episodes(session: Session, scope: Scope, drafts: Sequence[Draft]) -> None:
    wanted = {item.new.episode_id for item in drafts if item.new.episode_id is not None}
    if not wanted:
        return
    found = session.exec(
        select(EpisodeRow.id).where(
            EpisodeRow.user_id == scope.user_id, col(EpisodeRow.id).in_(wanted)
        )
    ).all()
    for episode_id in wanted - set(found):
        raise InputError(f"episode {episode_id!r} is not known here; seal it before its memories")


def _memory_row(change: Change, scope: Scope, item: Draft) -> MemoryRow:
    new, lesson = item.new, item.new.lesson
    belief = Belief.start(lesson.confidence)
    return MemoryRow(
        id=new_id(change.now),
        user_id=scope.user_id,
        agent_id=scope.agent_id,
        type=lesson.memory_type,
        content=item.content,
        identity=item.identity,
        operation_id=item.operation_id,
        intent=item.intent,
        status=new.status,
        confidence=belief.confidence,
        alpha=belief.alpha,
        beta=belief.beta,
        permanent=lesson.permanent,
        trust=new.trust,
        source=lesson.source,
        language=lesson.language,
        created_at=new.created_at or change.now,
        recorded_at=change.now,
        valid_from=lesson.valid_from,
        valid_to=lesson.valid_to,
        episode_id=new.episode_id,
        position=new.position,
        revision=change.revision,
    )


class _Parts:
    """The rows that go with new memories, written a table at a time: mapped objects cost more."""

    def __init__(self, change: Change, *, actor: str, embedder: EmbedderIdentity | None) -> None:
        self._change = change
        self._actor = actor
        self._embedder = embedder
        self._values: dict[type[Row], list[dict[str, object]]] = defaultdict(list)

    def collect(self, row: MemoryRow, item: Draft) -> None:
        """Take the parts of a new memory, whose own row is written already."""
        own: dict[str, object] = {"memory_id": row.id, "user_id": row.user_id}
        for ordinal, key in enumerate(item.keys):
            place = own | {"ordinal": ordinal}
            self._values[MemoryKeyRow].append(
                place | {"kind": key.kind, "text": key.text, "terms": key.terms}
            )
            self._values[OutboxRow].append(place)
            if key.vector is not None and self._embedder is not None:
                self._values[EmbeddingRow].append(
                    place
                    | {"fingerprint": self._embedder.fingerprint, "dim": self._embedder.dim}
                    | {"vector": key.vector}
                )
        self._values[MemoryTagRow].extend(
            own | {"facet": tag.facet, "value": tag.value} for tag in item.tags
        )
        self._values[MemoryEvidenceRow].extend(
            own
            | {"ordinal": ordinal, "step_id": step.step_id, "quote": step.quote}
            | {"quote_hash": quote_hash(step.quote)}
            for ordinal, step in enumerate(item.evidence)
        )
        self._values[MemoryEventRow].append(
            self._change.event_values(
                row,
                "created",
                actor=self._actor,
                new={"status": row.status, "confidence": row.confidence, "source": row.source},
            )
        )

    def insert(self) -> None:
        """Write everything that was collected."""
        connection = self._change.session.connection()
        for table, values in self._values.items():
            if values:
                connection.execute(insert(table), values)


def _merge(change: Change, row: MemoryRow, item: Draft, *, actor: str) -> None:
    """Give an old memory the tags it lacks, and the user's word where it had another's."""
    if row.status not in (*REPEATABLE, "quarantined"):
        return
    held = change.session.exec(select(MemoryTagRow).where(MemoryTagRow.memory_id == row.id)).all()
    before = sorted(f"{tag.facet}:{tag.value}" for tag in held)
    fresh = [tag for tag in item.tags if str(tag) not in before]
    if fresh:
        change.session.add_all(
            MemoryTagRow(memory_id=row.id, facet=tag.facet, value=tag.value, user_id=row.user_id)
            for tag in fresh
        )
        after = sorted([*before, *map(str, fresh)])
        change.record(
            row,
            "edited",
            actor=actor,
            reason="written again with more tags",
            old={"tags": before},
            new={"tags": after},
        )
    if item.new.lesson.source == "user" and row.source != "user":
        _take_users_word(change, row, item, actor=actor)


def _take_users_word(change: Change, row: MemoryRow, item: Draft, *, actor: str) -> None:
    old = _standing(row)
    stated = Belief.start(item.new.lesson.confidence)
    if stated.confidence > row.confidence:
        row.alpha, row.beta, row.confidence = stated.alpha, stated.beta, stated.confidence
    row.source = "user"
    row.trust = max(row.trust, item.new.trust)
    row.permanent = row.permanent or item.new.lesson.permanent
    row.last_verified_at = change.now
    change.record(
        row, "verified", actor=actor, reason="the user said it too", old=old, new=_standing(row)
    )


def _standing(row: MemoryRow) -> dict[str, FieldValue]:
    return {
        "source": row.source,
        "confidence": row.confidence,
        "trust": row.trust,
        "permanent": row.permanent,
    }
