"""The JSON documents of every door: complete, and bounded where a client needs it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from agentkit.errors import NotFoundError
from agentkit.records import (
    Admission,
    Evidence,
    Factors,
    Hit,
    Lesson,
    Memory,
    MemoryEvent,
    Query,
    RecallResult,
    Scope,
    Tag,
    WriteReport,
)
from agentkit.serve.documents import (
    bounded_recall_document,
    compact_json,
    error_document,
    event_document,
    memory_document,
    recall_document,
    write_document,
)

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
FACTORS = Factors(
    dense=0.4,
    lexical=0.1,
    tag=0.0,
    lent=0.0,
    decay=1.0,
    trust=1.0,
    confidence=1.0,
    demoted=1.0,
    disputed=1.0,
)


def _memory(number: int, content: str) -> Memory:
    return Memory(
        memory_id=f"m{number}",
        scope=Scope("u1"),
        memory_type="procedural",
        content=content,
        status="active",
        confidence=0.75,
        alpha=3.0,
        beta=1.0,
        trust=0.9,
        source="rule_critic",
        created_at=AT,
        recorded_at=AT,
        tags=(Tag("tool", "csv"),),
        evidence=(Evidence("s0003", "column holds text"),),
        episode_id="e1",
    )


def _result(*contents: str) -> RecallResult:
    hits = tuple(
        Hit(
            memory=_memory(number, content),
            score=0.5,
            similarity=0.7,
            factors=FACTORS,
            explanation="score 0.50: meaning 0.40 + words 0.10",
        )
        for number, content in enumerate(contents)
    )
    return RecallResult(retrieval_id="r1", hits=hits)


def _hits(document: Mapping[str, object]) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", document["hits"])


QUERY = Query(text="x", tags=(Tag("tool", "csv"),), match="any", top_k=10)


def test_a_hit_carries_what_is_needed_to_judge_it() -> None:
    document = recall_document(_result("use the median"), QUERY)
    hits = _hits(document)
    assert dict(hits[0]) | {"created_at": "", "source": ""} == {
        "memory_id": "m0",
        "content": "use the median",
        "score": 0.5,
        "similarity": 0.7,
        "confidence": 0.75,
        "memory_type": "procedural",
        "tags": ["tool:csv"],
        "explanation": "score 0.50: meaning 0.40 + words 0.10",
        "evidence": [{"step_id": "s0003", "quote": "column holds text", "episode_id": "e1"}],
        "created_at": "",
        "source": "",
    }


def test_the_answer_says_which_filters_were_applied() -> None:
    assert recall_document(_result(), QUERY)["applied"] == {
        "top_k": 10,
        "memory_types": [],
        "min_confidence": 0.0,
        "least_similarity": None,
        "tags": ["tool:csv"],
        "match": "any",
        "as_of": None,
        "within": None,
    }


def test_ten_very_long_memories_fit_the_bound_as_previews_with_a_mark() -> None:
    result = _result(*("账 ledger entry " * 2_000 for _ in range(10)))
    document = bounded_recall_document(result, QUERY, limit_chars=20_000)
    hits = _hits(document)
    assert 18_000 < len(compact_json(document)) <= 20_000
    assert len(hits) == 10
    assert all(hit["cut"] and hit["content"].endswith("…") for hit in hits)
    assert "omitted" not in document


def test_hits_that_do_not_fit_even_as_previews_are_counted() -> None:
    result = _result(*("a long story " * 500 for _ in range(100)))
    document = bounded_recall_document(result, QUERY, limit_chars=20_000)
    hits = _hits(document)
    assert len(compact_json(document)) <= 20_000
    assert 0 < len(hits) < 100
    assert document["omitted"] == 100 - len(hits)


def test_what_fits_is_not_cut() -> None:
    document = bounded_recall_document(_result("short", "words"), QUERY, limit_chars=20_000)
    assert document == recall_document(_result("short", "words"), QUERY)


def test_a_write_names_the_memory_it_conflicts_with() -> None:
    lesson = Lesson(content="x", memory_type="semantic", confidence=0.8, source="agent")
    admission = Admission(
        lesson=lesson, action="judge", reason="numbers differ", trust=0.8, target_id="m7"
    )
    document = write_document(WriteReport(admission=admission, memory=_memory(1, "x")))
    assert document["memory_id"] == "m1"
    assert document["status"] == "active"
    assert document["duplicate"] is False
    assert document["conflicts_with"] == "m7"
    assert document["reason"] == "numbers differ"


def test_a_memory_and_its_events_are_told_in_full() -> None:
    document = memory_document(_memory(1, "x" * 30_000))
    assert len(str(document["content"])) == 30_000
    assert document["created_at"] == "2026-11-30T12:00:00+00:00"
    assert document["last_used_at"] is None
    event = MemoryEvent(
        memory_id="m1", kind="edited", at=AT, actor="person", old='{"content": "a"}', new=None
    )
    assert event_document(event)["old"] == {"content": "a"}
    assert event_document(event)["new"] is None


def test_an_error_is_told_by_kind_and_message() -> None:
    assert error_document(NotFoundError("memory", "m1")) == {
        "error": {
            "kind": "NotFoundError",
            "message": "no memory 'm1' here; check the id and the user",
        }
    }
