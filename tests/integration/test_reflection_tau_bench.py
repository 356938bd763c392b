"""The rule critic on a hundred recorded runs: grounded, bounded, free of false alarms."""

from collections import Counter
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest

from agentkit.evaluation.importers import read_recordings
from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import Episode, Lesson, Memory, Recording, ReflectionCase, Scope
from agentkit.reflection import admit, judge, review
from agentkit.reflection.quotes import stands_in

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = ReflectionPolicy()
LEAST_WITH_LESSONS = 95


def case(recording: Recording) -> ReflectionCase:
    trajectory = recording.trajectory
    return ReflectionCase(
        episode=Episode(
            episode_id=recording.source_id,
            scope=Scope("u1"),
            session_id=recording.session_id,
            goal=trajectory.goal[:500],
            outcome=recording.outcome,
            outcome_source="reward",
            end_reason="imported",
            trajectory_uri="memory:1",
            trajectory_sha256="0",
            instructions=trajectory.instructions,
            model=None,
            step_count=len(trajectory.steps),
            tokens_in=0,
            tokens_out=0,
            started_at=NOW,
            ended_at=NOW,
        ),
        trajectory=trajectory,
    )


@pytest.fixture
def recordings(data: Path) -> tuple[Recording, ...]:
    return read_recordings(data / "tau_bench" / "gpt-4o-airline_a.json").recordings


def lessons_of(recording: Recording) -> tuple[Lesson, ...]:
    return review(case(recording), policy=POLICY, tag_finder=lambda text: ()).lessons


@pytest.mark.data
def test_every_lesson_quotes_its_steps_and_is_admitted(recordings: tuple[Recording, ...]) -> None:
    actions: Counter[str] = Counter()
    learnt = 0
    for recording in recordings:
        lessons = lessons_of(recording)
        assert len(lessons) <= 5
        learnt += bool(lessons)
        for lesson in lessons:
            assert lesson.evidence
            for item in lesson.evidence:
                cited = recording.trajectory.step(item.step_id)
                assert cited is not None
                assert stands_in(item.quote, cited.text)
            decided = admit(
                lesson,
                policy=POLICY,
                trajectory=recording.trajectory,
                forbidden_texts=(recording.trajectory.instructions,),
            )
            actions[decided.action] += 1
    assert set(actions) == {"add"}
    assert learnt >= LEAST_WITH_LESSONS


@pytest.mark.data
def test_the_rule_judge_raises_no_alarm_among_lessons_of_like_tasks(
    recordings: tuple[Recording, ...],
) -> None:
    memories = [
        Memory(
            memory_id=f"{recording.source_id} {ordinal}",
            scope=Scope("u1"),
            memory_type=lesson.memory_type,
            content=lesson.content,
            status="active",
            confidence=lesson.confidence,
            alpha=2.6,
            beta=1.4,
            trust=0.9,
            source=lesson.source,
            created_at=NOW,
            recorded_at=NOW,
        )
        for recording in recordings[:50]
        for ordinal, lesson in enumerate(lessons_of(recording))
    ]
    alarms = [
        (one.content, other.content)
        for one, other in combinations(memories, 2)
        if judge(one, other).relationship == "contradicts"
    ]
    assert alarms == []


@pytest.mark.data
def test_the_reason_why_a_cancellation_was_refused_is_learnt(
    recordings: tuple[Recording, ...],
) -> None:
    contents = [lesson.content for one in recordings for lesson in lessons_of(one)]
    assert any(
        "cancel" in content and "refund" in content and "travel insurance" in content
        for content in contents
    )
