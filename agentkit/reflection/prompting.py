"""The prompts of the critic, filled in; and the texts that nobody may learn from."""

from collections.abc import Sequence
from dataclasses import replace

from agentkit.records import Language, ReflectionCase, Tag, Trajectory
from agentkit.reflection.choose import Rung
from agentkit.reflection.output import ReflectionOutput, schema_text
from agentkit.reflection.secrets import redact
from agentkit.reflection.speech import goal_of
from agentkit.reflection.transcript import Transcript, TranscriptStep
from agentkit.templates import LANGUAGES, Templates

GOAL_CHARS = 500
_NOTHING = Transcript(head=(), omitted=(), tail=(), tokens=0)


def reflection_prompt(
    case: ReflectionCase,
    transcript: Transcript,
    *,
    templates: Templates,
    tags: Sequence[Tag],
    rung: Rung,
    summary: str,
    own_run: bool,
) -> str:
    """Return what a model is asked about an episode.

    A conversation without tool calls is asked for facts and wishes (`extract`), all else is
    looked back on (`reflect`). Secrets are masked in the steps.

    Args:
        case: The episode and what was recalled in it.
        transcript: Its steps, bounded.
        templates: The prompts.
        tags: Tags to choose from.
        rung: How the model answers; only `text` needs the schema in the prompt.
        summary: Summary of the steps that were left out, or "".
        own_run: Whether the model looks back on its own messages.
    """
    schema = schema_text(ReflectionOutput) if rung == "text" else ""
    shown = mask_secrets(transcript)
    if not own_run and not any(step.kind == "tool_call" for step in case.trajectory.steps):
        return templates.render(
            "extract",
            language=case.language,
            transcript=shown,
            summary=summary,
            recalled=case.recalled,
            tags=tuple(map(str, tags)),
            lesson_limit=case.lesson_limit,
            schema=schema,
        )
    return templates.render(
        "reflect",
        language=case.language,
        goal=redact(goal_of(case.trajectory, limit_chars=GOAL_CHARS)).text,
        outcome=case.episode.outcome,
        own_run=own_run,
        transcript=shown,
        summary=summary,
        recalled=case.recalled,
        tags=tuple(map(str, tags)),
        lesson_limit=case.lesson_limit,
        schema=schema,
    )


def forbidden_texts(templates: Templates, trajectory: Trajectory | None) -> tuple[str, ...]:
    """Return the texts that a lesson must not be copied from: prompts and the system text.

    Args:
        templates: The prompts; rendered without any data.
        trajectory: Whose instructions count too, or None.
    """
    bare = [
        _bare(templates, prompt, language=language, own_run=own_run)
        for language in LANGUAGES
        for prompt, own_run in (("reflect", False), ("reflect", True), ("extract", False))
    ]
    instructions = "" if trajectory is None else trajectory.instructions
    return (instructions, *bare) if instructions else tuple(bare)


def _bare(templates: Templates, prompt: str, *, language: Language, own_run: bool) -> str:
    """Return a prompt without any data in it."""
    shared: dict[str, object] = {
        "transcript": _NOTHING,
        "summary": "",
        "recalled": (),
        "tags": (),
        "lesson_limit": 0,
        "schema": "",
    }
    if prompt == "reflect":
        shared |= {"goal": "", "outcome": "unknown", "own_run": own_run}
    return templates.render(prompt, language=language, **shared)


def mask_secrets(transcript: Transcript) -> Transcript:
    """Return the transcript with the secrets in its steps masked."""
    return replace(
        transcript,
        head=tuple(map(_masked, transcript.head)),
        tail=tuple(map(_masked, transcript.tail)),
    )


def _masked(step: TranscriptStep) -> TranscriptStep:
    return replace(step, text=redact(step.text).text)
