"""The JSON documents that the command line and MCP hand out; the same fields at every door."""

import json
from collections.abc import Mapping, Sequence

from agentkit.errors import AgentkitError
from agentkit.kit.presenting import hit_fields
from agentkit.records import (
    Approximation,
    Memory,
    MemoryEvent,
    Query,
    RecallResult,
    ReflectionReport,
    WriteReport,
)

Document = Mapping[str, object]

WHOLE_CHARS = 10_000_000
# Below this a preview says nothing any more; hits beyond are left out instead, and counted.
LEAST_PREVIEW_CHARS = 200


def recall_document(
    result: RecallResult, query: Query, *, preview_chars: int = WHOLE_CHARS
) -> dict[str, object]:
    """Return the answer to a query.

    Args:
        result: What recall found.
        query: What was asked; the answer repeats the filters that were applied.
        preview_chars: Longer contents are cut with a mark.
    """
    return _recall_fields(
        result, query, [hit_fields(hit, preview_chars=preview_chars) for hit in result.hits]
    )


def bounded_recall_document(
    result: RecallResult, query: Query, *, limit_chars: int
) -> dict[str, object]:
    """Return the answer to a query within a size.

    Contents share the room evenly: each is cut to the longest preview with which the whole
    answer fits. Where even short previews do not fit, the last hits are left out, and
    `omitted` says how many.

    Args:
        result: What recall found.
        query: What was asked.
        limit_chars: Most characters of the document as compact JSON.
    """
    longest = max((len(hit.memory.content) for hit in result.hits), default=0)
    low, high = LEAST_PREVIEW_CHARS, max(longest, LEAST_PREVIEW_CHARS)
    while low < high:
        middle = (low + high + 1) // 2
        if _size_chars(recall_document(result, query, preview_chars=middle)) <= limit_chars:
            low = middle
        else:
            high = middle - 1
    hits = [hit_fields(hit, preview_chars=low) for hit in result.hits]
    document = _recall_fields(result, query, hits)
    while _size_chars(document) > limit_chars and hits:
        hits.pop()
        document = _recall_fields(result, query, hits)
        document["omitted"] = len(result.hits) - len(hits)
    return document


def write_document(report: WriteReport) -> dict[str, object]:
    """Return what became of a memory that somebody wanted to write.

    Args:
        report: What admission and the store made of it.
    """
    admission, memory = report.admission, report.memory
    return {
        "memory_id": None if memory is None else memory.memory_id,
        "status": "refused" if memory is None else memory.status,
        "duplicate": report.duplicate,
        "action": admission.action,
        "reason": admission.reason,
        "conflicts_with": admission.target_id if admission.action == "judge" else None,
        "confidence": None if memory is None else round(memory.confidence, 4),
        "memory_type": admission.lesson.memory_type,
        "tags": [str(tag) for tag in admission.lesson.tags],
        "redactions": admission.redactions,
    }


def memory_document(memory: Memory) -> dict[str, object]:
    """Return everything that is kept of a memory.

    Args:
        memory: The memory.
    """
    times = {
        "created_at": memory.created_at,
        "recorded_at": memory.recorded_at,
        "edited_at": memory.edited_at,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "last_recalled_at": memory.last_recalled_at,
        "last_used_at": memory.last_used_at,
        "last_verified_at": memory.last_verified_at,
    }
    return {
        "memory_id": memory.memory_id,
        "user_id": memory.scope.user_id,
        "agent_id": memory.scope.agent_id,
        "memory_type": memory.memory_type,
        "status": memory.status,
        "content": memory.content,
        "intent": memory.intent,
        "cues": list(memory.cues),
        "tags": [str(tag) for tag in memory.tags],
        "confidence": round(memory.confidence, 4),
        "trust": memory.trust,
        "source": memory.source,
        "permanent": memory.permanent,
        "demoted": memory.demoted,
        "language": memory.language,
        "recalled_count": memory.recalled_count,
        "used_count": memory.used_count,
        "episode_id": memory.episode_id,
        "superseded_by": memory.superseded_by,
        "evidence": [
            {"step_id": item.step_id, "quote": item.quote, "episode_id": memory.episode_id}
            for item in memory.evidence
        ],
        **{name: None if at is None else at.isoformat() for name, at in times.items()},
    }


def event_document(event: MemoryEvent) -> dict[str, object]:
    """Return one change of a memory, with the old and new values as JSON.

    Args:
        event: The change.
    """
    return {
        "kind": event.kind,
        "at": event.at.isoformat(),
        "actor": event.actor,
        "reason": event.reason,
        "old": None if event.old is None else json.loads(event.old),
        "new": None if event.new is None else json.loads(event.new),
    }


def reflection_document(report: ReflectionReport) -> dict[str, object]:
    """Return what became of one reflection.

    Args:
        report: The critique and what admission made of its lessons.
    """
    reflection = report.reflection
    return {
        "episode_id": report.episode_id,
        "critic": None if reflection is None else reflection.critic,
        "outcome": None if reflection is None else reflection.outcome,
        "summary": "" if reflection is None else reflection.summary,
        "added": list(report.admitted),
        "verified": list(report.verified),
        "refused": [
            {"content": item.lesson.content, "action": item.action, "reason": item.reason}
            for item in report.refused
        ],
        "error": report.error,
    }


def error_document(error: AgentkitError) -> dict[str, object]:
    """Return an error as a document: `{"error": {"kind", "message"}}`.

    Args:
        error: An error meant for people.
    """
    return {"error": {"kind": type(error).__name__, "message": str(error)}}


def compact_json(document: Document) -> str:
    """Return a document as JSON on one line, in UTF-8 characters.

    Args:
        document: Only texts, numbers, booleans, None, lists and string-keyed mappings.
    """
    return json.dumps(document, ensure_ascii=False)


def _approximate(plan: Approximation) -> Document:
    at = plan.measured_at
    return {
        "candidates": plan.candidates,
        "overlap": plan.overlap,
        "measured_at": None if at is None else at.isoformat(),
    }


def _recall_fields(
    result: RecallResult, query: Query, hits: Sequence[Document]
) -> dict[str, object]:
    return {
        "hits": list(hits),
        "timed_out": result.timed_out,
        "retrieval_id": result.retrieval_id,
        "approximate": None if result.approximate is None else _approximate(result.approximate),
        "relaxations": list(result.relaxations),
        "intent": [
            {"tag": str(item.tag), "origin": item.origin, "strength": round(item.strength, 4)}
            for item in result.intent
        ],
        "degraded": result.degraded,
        "applied": {
            "top_k": query.top_k,
            "memory_types": list(query.memory_types),
            "min_confidence": query.min_confidence,
            "least_similarity": query.least_similarity,
            "tags": [str(tag) for tag in query.tags],
            "match": query.match,
            "as_of": None if query.as_of is None else query.as_of.isoformat(),
            "within": None if result.within is None else str(result.within),
        },
    }


def _size_chars(document: Document) -> int:
    return len(compact_json(document))
