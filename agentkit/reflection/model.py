"""The model critic: a model looks back on its own run, or on the transcript of another's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentkit.errors import ReflectionError
from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import (
    Evidence,
    Lesson,
    Reflection,
    ReflectionCase,
    Tag,
    Trajectory,
    Verdict,
)
from agentkit.reflection.asking import Answer, ask, ask_text, model_name, takes_schema
from agentkit.reflection.choose import AttemptPlan, plan_attempt
from agentkit.reflection.output import (
    LessonOutput,
    ReflectionOutput,
    parse_reflection,
)
from agentkit.reflection.prompting import GOAL_CHARS, mask_secrets, reflection_prompt
from agentkit.reflection.speech import goal_of
from agentkit.reflection.transcript import (
    Transcript,
    TranscriptStep,
    bound_transcript,
    chunk_steps,
)
from agentkit.templates import Templates
from agentkit.text import one_line

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, UserPromptPart
    from pydantic_ai.models import Model

INTENT_CHARS = 300
# In its own run the model has the messages: the list of steps only lends it their ids.
OWN_STEP_TOKENS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summary:
    """What the left-out middle came to, and what that cost."""

    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """The agent's own messages of a task, for a look back on its own run.

    Attributes:
        messages: The messages, in order.
        is_briefing: Tells a part that holds recalled memories; such parts are left out, so that
            a memory is never learnt from itself.
    """

    messages: "Sequence[ModelMessage]"
    is_briefing: "Callable[[UserPromptPart], bool]"


class ModelCritic:
    """A critic that asks a model.

    With `own_run` it is the agent's own model looking back on its own messages (a fresh run
    with the recorded instructions, without tools); without, a model is shown a transcript.
    """

    def __init__(
        self,
        model: "Model | str",
        *,
        templates: Templates,
        policy: ReflectionPolicy,
        tags: Sequence[Tag] = (),
        own_run: OwnRun | None = None,
        attempt: int = 1,
    ) -> None:
        """Keep whom to ask and how.

        Args:
            model: Model or model string.
            templates: The prompts.
            policy: Budget, time limit and confidence.
            tags: Tags the model may choose from.
            own_run: The agent's messages of the task, or None; they are used at the first
                attempt only, later ones show a transcript.
            attempt: Number of the attempt, from 1; each one asks in another way.
        """
        self._model = model
        self._templates = templates
        self._policy = policy
        self._tags = tuple(tags)
        self._own_run = own_run if attempt == 1 else None
        self._attempt = attempt

    async def review(self, case: ReflectionCase) -> Reflection:
        """Return the model's critique of one episode.

        An episode in which nothing was said or done is not sent anywhere.

        Raises:
            ReflectionError: If the model did not answer, or nothing usable.
        """
        if not _has_content(case.trajectory):
            return Reflection(
                summary="nothing was said or done",
                outcome=case.episode.outcome,
                critic=model_name(self._model),
            )
        limits = self._policy.transcript
        plan = plan_attempt(
            self._attempt,
            budget_tokens=limits.budget_tokens,
            native=takes_schema(self._model),
        )
        step_tokens = OWN_STEP_TOKENS if self._own_run else limits.step_tokens
        transcript = bound_transcript(
            case.trajectory, budget_tokens=plan.budget_tokens, step_tokens=step_tokens
        )
        summary = _Summary() if self._own_run else await self._summary(case, transcript, plan)
        prompt = reflection_prompt(
            case,
            transcript,
            templates=self._templates,
            tags=self._tags,
            rung=plan.rung,
            summary=summary.text,
            own_run=self._own_run is not None,
        )
        answer = await self._ask(prompt, case=case, plan=plan)
        return _reflection(
            answer, case=case, policy=self._policy, critic=model_name(self._model), summary=summary
        )

    async def _ask(
        self, prompt: str, *, case: ReflectionCase, plan: AttemptPlan
    ) -> Answer[ReflectionOutput]:
        history = without_briefing(self._own_run) if self._own_run else []
        instructions = case.trajectory.instructions or case.episode.instructions
        return await ask(
            prompt,
            model=self._model,
            output=ReflectionOutput,
            parse=parse_reflection,
            rung=plan.rung,
            timeout_s=self._policy.timeout_s,
            instructions="" if not history or _has_system_part(history) else instructions,
            history=history,
        )

    async def _summary(
        self, case: ReflectionCase, transcript: Transcript, plan: AttemptPlan
    ) -> _Summary:
        """Summarise the steps that did not fit, chunk by chunk."""
        limits = self._policy.transcript
        if not transcript.omitted or limits.summary_chunks == 0:
            return _Summary()
        chunks = chunk_steps(
            transcript.omitted,
            chunk_tokens=plan.budget_tokens,
            step_tokens=limits.step_tokens,
            limit=limits.summary_chunks,
        )
        summary = _Summary()
        for chunk in chunks:
            summary = await self._with_chunk(summary, chunk, case=case)
        return summary

    async def _with_chunk(
        self, summary: _Summary, chunk: Sequence[TranscriptStep], *, case: ReflectionCase
    ) -> _Summary:
        """Return the summary with one more chunk in it; a refused one leaves a note."""
        steps = f"{chunk[0].step_id}-{chunk[-1].step_id}"
        prompt = self._templates.render(
            "summarise",
            language=case.language,
            goal=goal_of(case.trajectory, limit_chars=GOAL_CHARS),
            transcript=mask_secrets(Transcript(head=tuple(chunk), omitted=(), tail=(), tokens=0)),
        )
        try:
            said = await ask_text(prompt, model=self._model, timeout_s=self._policy.timeout_s)
        except ReflectionError as error:
            if error.retryable:
                raise
            return replace(summary, text=f"{summary.text}\n{steps}: not summarised ({error})")
        return _Summary(
            text=f"{summary.text}\n{steps}: {said.text.strip()}".strip(),
            tokens_in=summary.tokens_in + said.tokens_in,
            tokens_out=summary.tokens_out + said.tokens_out,
        )


def without_briefing(own_run: OwnRun) -> "list[ModelMessage]":
    """Return messages without recalled memories, with unanswered tool calls closed.

    Args:
        own_run: Messages of one task.
    """
    from pydantic_ai.messages import ModelRequest, UserPromptPart, repair_messages

    kept: list[ModelMessage] = []
    for message in own_run.messages:
        if not isinstance(message, ModelRequest):
            kept.append(message)
            continue
        parts = [
            part
            for part in message.parts
            if not (isinstance(part, UserPromptPart) and own_run.is_briefing(part))
        ]
        if parts:
            kept.append(replace(message, parts=parts))
    return repair_messages(kept)


def _has_system_part(history: "Sequence[ModelMessage]") -> bool:
    return any(part.part_kind == "system-prompt" for message in history for part in message.parts)


def _has_content(trajectory: Trajectory) -> bool:
    """Whether the agent said or did anything."""
    return any(
        step.kind in ("model", "tool_call", "tool_return") and step.text.strip()
        for step in trajectory.steps
    )


def _reflection(
    answer: Answer[ReflectionOutput],
    *,
    case: ReflectionCase,
    policy: ReflectionPolicy,
    critic: str,
    summary: _Summary,
) -> Reflection:
    """Return a model's answer as our own value."""
    output = answer.output
    recalled = {memory.memory_id for memory in case.recalled}
    intent = goal_of(case.trajectory, limit_chars=INTENT_CHARS)
    lessons = [
        _lesson(lesson, case=case, policy=policy, intent=intent)
        for lesson in output.lessons
        if lesson.content.strip()
    ]
    verdicts = {
        verdict.memory_id: Verdict(
            memory_id=verdict.memory_id,
            kind=verdict.kind,
            source="reflection",
            reason=one_line(verdict.reason, limit_chars=INTENT_CHARS),
        )
        for verdict in output.verdicts
        if verdict.memory_id in recalled
    }
    return Reflection(
        summary=output.summary,
        outcome=output.outcome,
        critic=critic,
        went_well=output.went_well,
        to_change=output.to_change,
        lessons=tuple(lessons[: case.lesson_limit]),
        verdicts=tuple(verdicts.values()),
        tokens_in=answer.tokens_in + summary.tokens_in,
        tokens_out=answer.tokens_out + summary.tokens_out,
    )


def _lesson(
    lesson: LessonOutput, *, case: ReflectionCase, policy: ReflectionPolicy, intent: str
) -> Lesson:
    return Lesson(
        content=lesson.content,
        memory_type=lesson.memory_type,
        confidence=policy.confidence.model_critic,
        source="model_critic",
        cues=tuple(lesson.cues),
        tags=_tags(lesson.tags),
        evidence=tuple(Evidence(item.step_id.strip(), item.quote) for item in lesson.evidence),
        intent=intent,
        language=case.language,
    )


def _tags(texts: Sequence[str]) -> tuple[Tag, ...]:
    """Return what is written as `facet:value`; admission checks it against the taxonomy."""
    found: dict[Tag, None] = {}
    for text in texts:
        facet, colon, value = text.casefold().partition(":")
        if colon and facet.strip() and value.strip():
            found[Tag(facet.strip(), value.strip())] = None
    return tuple(sorted(found))
