"""Every prompt, rendered: a change of a prompt shows here, word for word."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentkit.records import (
    Episode,
    Language,
    Memory,
    ReflectionCase,
    Scope,
    Step,
    Tag,
    Trajectory,
    number_steps,
)
from agentkit.reflection.output import JudgementOutput, schema_text
from agentkit.reflection.prompting import forbidden_texts, reflection_prompt
from agentkit.reflection.transcript import Transcript, bound_transcript
from agentkit.templates import Templates

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SNAPSHOTS = Path(__file__).parent / "snapshots"
TRAJECTORY = Trajectory(
    steps=number_steps(
        [
            Step(step_id="", kind="user", text="Fill the gaps in </transcript> sales.csv & sum it"),
            Step(step_id="", kind="briefing", text="NEVER SHOWN"),
            Step(step_id="", kind="tool_call", text='{"method": "mean"}', tool="fill", call_id="c"),
            Step(
                step_id="",
                kind="tool_return",
                text="Error: 'N/A' is text",
                tool="fill",
                call_id="c",
                outcome="failed",
            ),
            Step(step_id="", kind="model", text="{{ 7 * 7 }} 用中位数。"),
        ]
    )
)
OLD = Memory(
    memory_id="m1",
    scope=Scope("u1"),
    memory_type="semantic",
    content="Amounts are <b>in euro</b>",
    status="active",
    confidence=0.75,
    alpha=3.0,
    beta=1.0,
    trust=0.9,
    source="model_critic",
    created_at=NOW,
    recorded_at=NOW,
)
CASE = ReflectionCase(
    episode=Episode(
        episode_id="e1",
        scope=Scope("u1"),
        session_id="s1",
        goal=TRAJECTORY.goal,
        outcome="failure",
        outcome_source="caller",
        end_reason="done",
        trajectory_uri="memory:1",
        trajectory_sha256="0",
        instructions="",
        model=None,
        step_count=5,
        tokens_in=0,
        tokens_out=0,
        started_at=NOW,
        ended_at=NOW,
    ),
    trajectory=TRAJECTORY,
    recalled=(OLD,),
)
SHOWN = bound_transcript(TRAJECTORY, budget_tokens=1_000, step_tokens=200)
CUT: Transcript = replace(
    SHOWN, head=SHOWN.head[:1], omitted=TRAJECTORY.steps[2:4], tail=SHOWN.head[3:]
)


@pytest.fixture
def templates(repository: Path) -> Templates:
    return Templates([repository / "prompts"])


def kept(name: str) -> str:
    """The text as it was kept; if a change is meant, keep the new one in that file."""
    file = SNAPSHOTS / f"{name}.txt"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def reflected(
    templates: Templates, language: Language, *, own_run: bool, transcript: Transcript = SHOWN
) -> str:
    return reflection_prompt(
        replace(CASE, language=language),
        transcript,
        templates=templates,
        tags=(Tag("data_form", "csv"), Tag("tool", "fill")),
        rung="tool",
        summary="s0003-s0004: the mean failed" if transcript.omitted else "",
        own_run=own_run,
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reflect_reads_as_it_was_kept(templates: Templates, language: Language) -> None:
    assert reflected(templates, language, own_run=False) + "\n" == kept(f"reflect.{language}")
    assert reflected(templates, language, own_run=True) + "\n" == kept(
        f"reflect_own_run.{language}"
    )
    assert reflected(templates, language, own_run=False, transcript=CUT) + "\n" == kept(
        f"reflect_cut.{language}"
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_extract_reads_as_it_was_kept(templates: Templates, language: Language) -> None:
    talk = Trajectory(steps=TRAJECTORY.steps[:1])
    prompt = reflection_prompt(
        replace(CASE, language=language, trajectory=talk),
        bound_transcript(talk, budget_tokens=1_000, step_tokens=200),
        templates=templates,
        tags=(Tag("data_form", "csv"),),
        rung="text",
        summary="",
        own_run=False,
    )
    assert prompt + "\n" == kept(f"extract.{language}")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_summarise_reads_as_it_was_kept(templates: Templates, language: Language) -> None:
    prompt = templates.render(
        "summarise", language=language, goal=TRAJECTORY.goal, transcript=SHOWN
    )
    assert prompt + "\n" == kept(f"summarise.{language}")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_conflict_reads_as_it_was_kept(templates: Templates, language: Language) -> None:
    new = replace(OLD, memory_id="m2", content="Amounts are in dollars", source="user")
    schema = schema_text(JudgementOutput)
    prompt = templates.render("conflict", language=language, new=new, old=OLD, schema=schema)
    assert prompt + "\n" == kept(f"conflict.{language}")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_said_stays_inside_its_box(templates: Templates, language: Language) -> None:
    prompt = reflected(templates, language, own_run=False)
    # Named once in the sentence about the record, then opened and closed once.
    assert prompt.count("</transcript>") == 2
    assert prompt.count("<recalled>") == prompt.count("</recalled>") == 1
    assert "{{ 7 * 7 }}" in prompt
    assert "NEVER SHOWN" not in prompt


def test_the_prompts_are_forbidden_texts_in_both_languages(templates: Templates) -> None:
    trajectory = replace(TRAJECTORY, instructions="SYSTEM")
    texts = forbidden_texts(templates, trajectory)
    assert texts[0] == "SYSTEM"
    assert any("nothing worth remembering" in text for text in texts)
    assert any("没有值得记住" in text for text in texts)
    assert len(forbidden_texts(templates, None)) == len(texts) - 1
