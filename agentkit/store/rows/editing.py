"""Changing what a memory says, how it is found, and how long it holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy import insert
from sqlmodel import col, delete, select

from agentkit.errors import InputError, NotFoundError
from agentkit.ports import EmbedderIdentity
from agentkit.records import Scope, Tag
from agentkit.store.edits import Keep, MemoryEdit, key_texts
from agentkit.store.identity import identity_of
from agentkit.store.rows.change import Change, FieldValue
from agentkit.store.rows.memories import find_row, find_twin
from agentkit.store.tables import EmbeddingRow, MemoryKeyRow, MemoryRow, MemoryTagRow
from agentkit.store.values import VISIBLE
from agentkit.text import language_of, pack_terms, term_counts

# Columns of vectors, by the text that they are of.
_Vectors = dict[str, list[dict[str, object]]]


@dataclass(slots=True)
class _Diff:
    """The fields that an edit really changes, before and after."""

    old: dict[str, FieldValue] = field(default_factory=dict[str, FieldValue])
    new: dict[str, FieldValue] = field(default_factory=dict[str, FieldValue])

    def note(self, name: str, old: FieldValue, new: FieldValue) -> bool:
        """Take down a field, and return whether it changes."""
        if old == new:
            return False
        self.old[name], self.new[name] = old, new
        return True


def edit_memory(
    change: Change,
    scope: Scope,
    memory_id: str,
    edit: MemoryEdit,
    *,
    actor: str,
    reason: str,
    embedder: EmbedderIdentity | None,
) -> MemoryRow:
    """Change a memory and return its row; what the edit does not name stays as it is.

    Values that it has already are no change: then there is no event and no new revision.

    Args:
        change: The transaction.
        scope: Whose it is.
        memory_id: The memory.
        edit: What is to be changed, in the form that is stored.
        actor: Who does it.
        reason: Why, in words.
        embedder: Who made the vectors, or None when there are none.

    Raises:
        NotFoundError: If this scope has no such memory, or it has expired and stays so.
        InputError: If it cannot be changed, or another memory says the same already.
    """
    row = find_row(change.session, scope, memory_id)
    expired = row.valid_to is not None and row.valid_to <= change.now
    if expired and isinstance(edit.valid_to, Keep):
        raise NotFoundError("memory", memory_id)
    if row.status not in (*VISIBLE, "quarantined"):
        raise InputError(f"memory {memory_id} is {row.status}; restore it before changing it")
    diff = _Diff()
    _set_content(change, row, edit, diff)
    _set_keys(change, row, edit, diff, embedder=embedder)
    _set_tags(change, row, edit.tags, diff)
    _set_times(row, edit, diff)
    if diff.new:
        change.record(row, "edited", actor=actor, reason=reason, old=diff.old, new=diff.new)
    return row


def take_out(change: Change, row: MemoryRow, *, erase: Callable[[str], str]) -> bool:
    """Take words out of what a memory says and is found by, and return whether any stood there.

    The event says so without repeating them.

    Args:
        change: The transaction.
        row: The memory, whatever its status.
        erase: Returns a text without them.
    """
    texts = change.session.exec(
        select(MemoryKeyRow.text)
        .where(MemoryKeyRow.memory_id == row.id, MemoryKeyRow.kind == "cue")
        .order_by(col(MemoryKeyRow.ordinal))
    ).all()
    content, cues = erase(row.content), tuple(map(erase, texts))
    row.intent = erase(row.intent)
    if (content, cues) == (row.content, tuple(texts)):
        return False
    if content != row.content:
        row.content, row.identity, row.edited_at = content, identity_of(content), change.now
    kept = tuple(cue for cue, text in zip(cues, texts, strict=True) if cue == text)
    _set_keys(change, row, MemoryEdit(cues=kept), _Diff(), embedder=None)
    change.record(row, "edited", actor="purge", reason="words of a purged memory were taken out")
    return True


def _set_content(change: Change, row: MemoryRow, edit: MemoryEdit, diff: _Diff) -> None:
    if edit.content is None or not diff.note("content", row.content, edit.content):
        return
    identity = identity_of(edit.content)
    twin = find_twin(change.session, row, identity=identity, now=change.now)
    if twin is not None:
        raise InputError(f"memory {twin.id} says that already; forget one of the two")
    language = language_of(edit.content)
    diff.note("language", row.language, language)
    row.content, row.identity, row.language = edit.content, identity, language
    row.edited_at = change.now


def _set_keys(
    change: Change,
    row: MemoryRow,
    edit: MemoryEdit,
    diff: _Diff,
    *,
    embedder: EmbedderIdentity | None,
) -> None:
    """Rewrite the keys whose text differs; a text that moves takes its vector along."""
    held = change.session.exec(
        select(MemoryKeyRow)
        .where(MemoryKeyRow.memory_id == row.id)
        .order_by(col(MemoryKeyRow.ordinal))
    ).all()
    cues = [key.text for key in held if key.kind == "cue"]
    wanted = key_texts(row.content, cues if edit.cues is None else edit.cues)
    diff.note("cues", [*cues], [*wanted[1:]])
    before = {key.ordinal: key.text for key in held}
    after = dict(enumerate(wanted))
    changed = sorted(
        place for place in before.keys() | after.keys() if before.get(place) != after.get(place)
    )
    if not changed:
        return
    vectors = _vectors(change, row, before) | _given(edit, embedder)
    change.session.exec(
        delete(EmbeddingRow).where(
            col(EmbeddingRow.memory_id) == row.id, col(EmbeddingRow.ordinal).in_(changed)
        )
    )
    change.session.exec(
        delete(MemoryKeyRow).where(
            col(MemoryKeyRow.memory_id) == row.id, col(MemoryKeyRow.ordinal).in_(changed)
        )
    )
    fresh = {place: after[place] for place in changed if place in after}
    _insert_keys(change, row, fresh, vectors)
    change.queue(row.id, changed)


def _vectors(change: Change, row: MemoryRow, texts: Mapping[int, str]) -> _Vectors:
    """Return the columns of the vectors that a memory has, by the text that they are of."""
    found: _Vectors = {}
    for held in change.session.exec(select(EmbeddingRow).where(EmbeddingRow.memory_id == row.id)):
        columns: dict[str, object] = {
            "fingerprint": held.fingerprint,
            "dim": held.dim,
            "vector": held.vector,
        }
        found.setdefault(texts[held.ordinal], []).append(columns)
    return found


def _given(edit: MemoryEdit, embedder: EmbedderIdentity | None) -> _Vectors:
    """Return the columns of the vectors that an edit brings along, by their text."""
    if embedder is None:
        return {}
    own: dict[str, object] = {"fingerprint": embedder.fingerprint, "dim": embedder.dim}
    return {
        text: [own | {"vector": vector.astype("<f4").tobytes()}]
        for text, vector in edit.vectors.items()
    }


def _insert_keys(
    change: Change, row: MemoryRow, texts: Mapping[int, str], vectors: _Vectors
) -> None:
    own: dict[str, object] = {"memory_id": row.id, "user_id": row.user_id}
    keys = [
        own
        | {"ordinal": place, "kind": "cue" if place else "content", "text": text}
        | {"terms": pack_terms(term_counts(text))}
        for place, text in texts.items()
    ]
    embeddings = [
        own | {"ordinal": place} | columns
        for place, text in texts.items()
        for columns in vectors.get(text, [])
    ]
    connection = change.session.connection()
    if keys:
        connection.execute(insert(MemoryKeyRow), keys)
    if embeddings:
        connection.execute(insert(EmbeddingRow), embeddings)


def _set_tags(change: Change, row: MemoryRow, tags: tuple[Tag, ...] | None, diff: _Diff) -> None:
    if tags is None:
        return
    held = change.session.exec(select(MemoryTagRow).where(MemoryTagRow.memory_id == row.id)).all()
    before = {Tag(one.facet, one.value) for one in held}
    old, new = sorted(map(str, before)), sorted(map(str, tags))
    if not diff.note("tags", [*old], [*new]):
        return
    for one in held:
        if Tag(one.facet, one.value) not in tags:
            change.session.delete(one)
    change.session.add_all(
        MemoryTagRow(memory_id=row.id, facet=tag.facet, value=tag.value, user_id=row.user_id)
        for tag in tags
        if tag not in before
    )


def _set_times(row: MemoryRow, edit: MemoryEdit, diff: _Diff) -> None:
    if not isinstance(edit.valid_from, Keep):
        diff.note("valid_from", _iso(row.valid_from), _iso(edit.valid_from))
        row.valid_from = edit.valid_from
    if not isinstance(edit.valid_to, Keep):
        diff.note("valid_to", _iso(row.valid_to), _iso(edit.valid_to))
        row.valid_to = edit.valid_to
    if row.valid_from and row.valid_to and row.valid_to <= row.valid_from:
        raise InputError(
            f"it would end at {_iso(row.valid_to)}, before it begins at {_iso(row.valid_from)}"
        )


def _iso(at: datetime | None) -> str | None:
    """Return an instant as text, the same for the same instant whatever its offset."""
    return None if at is None else at.astimezone(UTC).isoformat()
