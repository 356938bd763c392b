"""The memories of a user as they stood at an instant, unwound from their events."""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import numpy as np
from sqlmodel import Session, col, select

from agentkit.records import (
    Float32Array,
    KeyEntry,
    Memory,
    MemoryEntry,
    MemoryStatus,
    Scope,
    ScopeChanges,
    Tag,
)
from agentkit.store.edits import key_texts
from agentkit.store.ids import key_id
from agentkit.store.rows.memories import load
from agentkit.store.rows.scoping import in_scope
from agentkit.store.tables import EmbeddingRow, MemoryEventRow, MemoryKeyRow, MemoryRow
from agentkit.store.values import VISIBLE, PastScope
from agentkit.text import term_counts

_Vectors = Mapping[tuple[str, str], Float32Array]


def get_past(session: Session, scope: Scope, *, at: datetime, fingerprint: str | None) -> PastScope:
    """Return the memories that recall could have returned at an instant, as they stood then.

    Status, content, cues, tags, validity, permanence and demotion are those of then; belief,
    trust and counts are those of now. A text that was changed since has no vector any more.

    Args:
        session: Open session: one snapshot.
        scope: Whose memories; with an agent, those that it sees.
        at: The instant, aware.
        fingerprint: Embedder whose vectors are wanted, or None for no vectors.
    """
    rows = session.exec(
        select(MemoryRow)
        .where(
            in_scope(col(MemoryRow.user_id), col(MemoryRow.agent_id), scope=scope),
            col(MemoryRow.recorded_at) <= at,
        )
        .order_by(col(MemoryRow.id))
    ).all()
    before = _before(session, scope, at=at)
    then = (_unwound(memory, before[memory.memory_id], at=at) for memory in load(session, rows))
    memories = tuple(
        memory
        for memory in then
        if memory.status in VISIBLE and (memory.valid_to is None or memory.valid_to > at)
    )
    vectors = _vectors(session, scope, fingerprint)
    places = {row.id: row.position for row in rows}
    entries = tuple(
        _entry(memory, position=places[memory.memory_id], vectors=vectors) for memory in memories
    )
    return PastScope(memories, ScopeChanges(revision=1, complete=True, entries=entries))


def _before(session: Session, scope: Scope, *, at: datetime) -> dict[str, dict[str, Any]]:
    """What the fields that changed after an instant were at it, by memory."""
    told = session.exec(
        select(MemoryEventRow.memory_id, MemoryEventRow.old)
        .where(
            MemoryEventRow.user_id == scope.user_id,
            col(MemoryEventRow.at) > at,
            col(MemoryEventRow.old).is_not(None),
        )
        .order_by(col(MemoryEventRow.id).desc())
    )
    before: dict[str, dict[str, Any]] = defaultdict(dict)
    for memory_id, old in told:
        # The oldest change after the instant is applied last.
        before[memory_id].update(json.loads(old or "{}"))
    return before


def _unwound(memory: Memory, before: Mapping[str, Any], *, at: datetime) -> Memory:
    def until(moment: datetime | None) -> datetime | None:
        return None if moment is None or moment > at else moment

    def instant(name: str, now: datetime | None) -> datetime | None:
        if name not in before:
            return now
        return None if before[name] is None else datetime.fromisoformat(before[name])

    tags = before.get("tags")
    return replace(
        memory,
        content=before.get("content", memory.content),
        language=before.get("language", memory.language),
        cues=tuple(before.get("cues", memory.cues)),
        tags=memory.tags if tags is None else tuple(sorted(map(_tag, tags))),
        status=cast("MemoryStatus", before.get("status", memory.status)),
        superseded_by=before.get("superseded_by", memory.superseded_by),
        permanent=before.get("permanent", memory.permanent),
        demoted=before.get("demoted", memory.demoted),
        valid_from=instant("valid_from", memory.valid_from),
        valid_to=instant("valid_to", memory.valid_to),
        edited_at=until(memory.edited_at),
        last_recalled_at=until(memory.last_recalled_at),
        last_used_at=until(memory.last_used_at),
        last_verified_at=until(memory.last_verified_at),
    )


def _tag(text: str) -> Tag:
    facet, _, value = text.partition(":")
    return Tag(facet, value)


def _vectors(session: Session, scope: Scope, fingerprint: str | None) -> _Vectors:
    """The vectors that a user's texts have now, by memory and text."""
    if fingerprint is None:
        return {}
    found = session.exec(
        select(EmbeddingRow.memory_id, MemoryKeyRow.text, EmbeddingRow.vector)
        .join(
            MemoryKeyRow,
            (col(MemoryKeyRow.memory_id) == col(EmbeddingRow.memory_id))
            & (col(MemoryKeyRow.ordinal) == col(EmbeddingRow.ordinal)),
        )
        .where(EmbeddingRow.user_id == scope.user_id, EmbeddingRow.fingerprint == fingerprint)
    )
    return {
        (memory_id, text): np.frombuffer(vector, dtype="<f4") for memory_id, text, vector in found
    }


def _entry(memory: Memory, *, position: int, vectors: _Vectors) -> MemoryEntry:
    return MemoryEntry(
        memory_id=memory.memory_id,
        agent_id=memory.scope.agent_id,
        memory_type=memory.memory_type,
        status=memory.status,
        tags=memory.tags,
        confidence=memory.confidence,
        trust=memory.trust,
        permanent=memory.permanent,
        demoted=memory.demoted,
        used_count=memory.used_count,
        recalled_count=memory.recalled_count,
        created_s=memory.created_at.timestamp(),
        edited_s=_seconds(memory.edited_at),
        used_s=_seconds(memory.last_used_at),
        recalled_s=_seconds(memory.last_recalled_at),
        verified_s=_seconds(memory.last_verified_at),
        valid_from_s=_seconds(memory.valid_from),
        valid_to_s=_seconds(memory.valid_to),
        episode_id=memory.episode_id,
        position=position,
        keys=_keys(memory.memory_id, key_texts(memory.content, memory.cues), vectors),
    )


def _keys(memory_id: str, texts: Sequence[str], vectors: _Vectors) -> tuple[KeyEntry, ...]:
    return tuple(
        KeyEntry(
            key_id=key_id(memory_id, ordinal),
            kind="cue" if ordinal else "content",
            terms=term_counts(text),
            vector=vectors.get((memory_id, text)),
        )
        for ordinal, text in enumerate(texts)
    )


def _seconds(at: datetime | None) -> float:
    return math.nan if at is None else at.timestamp()
