"""Hits as the fields that every door shows: one form for tools, MCP and the command line."""

from collections.abc import Mapping

from agentkit.records import Hit
from agentkit.text import one_line

PREVIEW_CHARS = 2_000


def hit_fields(hit: Hit, *, preview_chars: int = PREVIEW_CHARS) -> Mapping[str, object]:
    """Return a hit as JSON-ready fields.

    Args:
        hit: A hit of a recall.
        preview_chars: Longer contents are cut with a mark; the whole is found by id.

    Returns:
        `memory_id`, `content`, `score`, `similarity`, `confidence`, `memory_type`, `tags`,
        `explanation`, `evidence` and, where there is one, `note`.
    """
    memory = hit.memory
    content = memory.content
    if len(content) > preview_chars:
        content = one_line(content, limit_chars=preview_chars)
    fields: dict[str, object] = {
        "memory_id": memory.memory_id,
        "content": content,
        "score": round(hit.score, 6),
        "similarity": round(hit.similarity, 6),
        "confidence": round(memory.confidence, 4),
        "memory_type": memory.memory_type,
        "tags": [str(tag) for tag in memory.tags],
        "explanation": hit.explanation,
        "evidence": [
            {"step_id": item.step_id, "quote": item.quote, "episode_id": memory.episode_id}
            for item in memory.evidence
        ],
        "source": memory.source,
        "created_at": memory.created_at.isoformat(),
    }
    if hit.note:
        fields["note"] = hit.note
    if content != memory.content:
        fields["cut"] = True
    return fields
