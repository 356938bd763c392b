"""The judge that asks a model how a new memory stands to an old one."""

from typing import TYPE_CHECKING

from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import Judgement, Memory
from agentkit.reflection.asking import ask, takes_schema
from agentkit.reflection.choose import plan_attempt
from agentkit.reflection.output import JudgementOutput, parse_judgement, schema_text
from agentkit.templates import Templates
from agentkit.text import one_line

if TYPE_CHECKING:
    from pydantic_ai.models import Model

RATIONALE_CHARS = 300


class ModelJudge:
    """A judge that asks a model. It only says what it thinks; `conflict.decide` guards it."""

    def __init__(
        self,
        model: "Model | str",
        *,
        templates: Templates,
        policy: ReflectionPolicy,
        attempt: int = 1,
    ) -> None:
        """Keep whom to ask and how.

        Args:
            model: Model or model string.
            templates: The prompts.
            policy: Time limit.
            attempt: Number of the attempt, from 1; each one asks in another way.
        """
        self._model = model
        self._templates = templates
        self._policy = policy
        self._attempt = attempt

    async def judge(self, new: Memory, old: Memory) -> Judgement:
        """Return how `new` stands to `old`, as the model sees it.

        Raises:
            ReflectionError: If the model did not answer, or nothing usable.
        """
        plan = plan_attempt(
            self._attempt,
            budget_tokens=self._policy.transcript.budget_tokens,
            native=takes_schema(self._model),
        )
        prompt = self._templates.render(
            "conflict",
            language=new.language,
            new=new,
            old=old,
            schema=schema_text(JudgementOutput) if plan.rung == "text" else "",
        )
        answer = await ask(
            prompt,
            model=self._model,
            output=JudgementOutput,
            parse=parse_judgement,
            rung=plan.rung,
            timeout_s=self._policy.timeout_s,
        )
        return Judgement(
            relationship=answer.output.relationship,
            confidence=answer.output.confidence,
            rationale=one_line(answer.output.rationale, limit_chars=RATIONALE_CHARS),
        )
