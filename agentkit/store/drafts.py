"""A new memory checked and brought into the form that is stored (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from agentkit.errors import InputError
from agentkit.ports import EmbedderIdentity
from agentkit.records import Evidence, Float32Array, KeyKind, Tag
from agentkit.store.identity import identity_of
from agentkit.store.tables import FACET_CHARS, NAME_CHARS, VALUE_CHARS
from agentkit.store.values import NewMemory
from agentkit.text import normalise, pack_terms, term_counts

WRITABLE = ("pending", "active", "quarantined")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DraftKey:
    """A key of a draft.

    Attributes:
        kind: `content` or `cue`.
        text: Normalised text.
        terms: Packed term counts.
        vector: float32 little-endian bytes, or None while it has no embedding.
    """

    kind: KeyKind
    text: str
    terms: bytes
    vector: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draft:
    """A memory ready to become rows.

    Attributes:
        new: What was asked to be written.
        operation_id: Normalised id of the write, or None.
        content: Normalised content.
        intent: Normalised intent.
        identity: Hash that equal contents share.
        keys: Content first, then cues that are neither blank nor repeated.
        tags: Sorted, without repeats.
        evidence: As given, without NUL bytes and lone surrogates.
    """

    new: NewMemory
    operation_id: str | None
    content: str
    intent: str
    identity: str
    keys: tuple[DraftKey, ...]
    tags: tuple[Tag, ...]
    evidence: tuple[Evidence, ...]


def draft(new: NewMemory, *, embedder: EmbedderIdentity | None) -> Draft:
    """Return the stored form of a new memory.

    Args:
        new: What is to be written.
        embedder: Who made its vectors, or None when it brings none.

    Raises:
        InputError: If something in it cannot be stored; the message says what.
    """
    _check(new)
    lesson = new.lesson
    if lesson.operation_id is not None:
        new = replace(new, lesson=replace(lesson, operation_id=normalise(lesson.operation_id)))
    content = normalise(lesson.content).strip()
    if not content:
        raise InputError("the content of a memory is blank; say what is to be remembered")
    return Draft(
        new=new,
        operation_id=lesson.operation_id and _operation_id(lesson.operation_id),
        content=content,
        intent=normalise(lesson.intent).strip(),
        identity=identity_of(content),
        keys=_keys(content, lesson.cues, _vectors(new, embedder)),
        tags=tuple(sorted({stored_tag(tag) for tag in lesson.tags})),
        evidence=tuple(
            Evidence(_step_id(step.step_id), _plain(step.quote)) for step in lesson.evidence
        ),
    )


def _check(new: NewMemory) -> None:
    lesson = new.lesson
    if new.status not in WRITABLE:
        raise InputError(f"a new memory cannot be {new.status}; give one of {', '.join(WRITABLE)}")
    if not 0 < new.trust <= 1:
        raise InputError(f"trust is {new.trust}; give a number above 0 and at most 1")
    if not 0 <= lesson.confidence <= 1:
        raise InputError(f"confidence is {lesson.confidence}; give a number from 0 to 1")
    if lesson.operation_id is not None:
        _operation_id(lesson.operation_id)
    check_aware(created_at=new.created_at, valid_from=lesson.valid_from, valid_to=lesson.valid_to)


def check_aware(**times: datetime | None) -> None:
    """Refuse times without a zone: they name no instant.

    Args:
        **times: Times by the name that the message gives them.

    Raises:
        InputError: If one has no time zone.
    """
    for name, value in times.items():
        if value is not None and value.tzinfo is None:
            raise InputError(f"{name} {value.isoformat()} has no time zone; give an aware datetime")


def _vectors(new: NewMemory, embedder: EmbedderIdentity | None) -> Float32Array | None:
    if new.vectors is None:
        return None
    if embedder is None:
        raise InputError("vectors were given, but this store has no embedder to pin them to")
    wanted = (1 + len(new.lesson.cues), embedder.dim)
    if new.vectors.shape != wanted:
        raise InputError(
            f"vectors have shape {new.vectors.shape}, {wanted} is wanted: content, then each cue"
        )
    return new.vectors


def _keys(content: str, cues: Sequence[str], vectors: Float32Array | None) -> tuple[DraftKey, ...]:
    keys: dict[str, DraftKey] = {}
    for row, text in enumerate((content, *(normalise(cue).strip() for cue in cues))):
        if text and text not in keys:
            keys[text] = DraftKey(
                kind="cue" if keys else "content",
                text=text,
                terms=pack_terms(term_counts(text)),
                vector=None if vectors is None else vectors[row].astype("<f4").tobytes(),
            )
    return tuple(keys.values())


def stored_tag(tag: Tag) -> Tag:
    """Return a tag in the form that is stored.

    Args:
        tag: A tag; composed and decomposed accents come out the same.

    Raises:
        InputError: If one of its sides is blank or too long.
    """
    facet, value = normalise(tag.facet).strip(), normalise(tag.value).strip()
    if not 0 < len(facet) <= FACET_CHARS or not 0 < len(value) <= VALUE_CHARS:
        raise InputError(
            f"tag {str(tag)!r}: the facet must have 1 to {FACET_CHARS} characters "
            f"and the value 1 to {VALUE_CHARS}"
        )
    return Tag(facet, value)


def _operation_id(name: str) -> str:
    plain = normalise(name)
    if not 0 < len(plain) <= NAME_CHARS:
        raise InputError(f"operation_id must have 1 to {NAME_CHARS} characters")
    return plain


def _step_id(name: str) -> str:
    if len(name) > NAME_CHARS:
        raise InputError(f"the evidence names a step by {len(name)} characters, not a step id")
    return _plain(name)


def _plain(text: str) -> str:
    """Return what SQL can hold, in the form it was written: a quote must still be found."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
