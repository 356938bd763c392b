"""Who is asked to look back, in what order, and what happens when one of them fails."""

import logging

from agentkit.errors import ReflectionError
from agentkit.kit.models import served_at
from agentkit.kit.parts import Parts
from agentkit.kit.tasks import LiveRun
from agentkit.ports import Critic
from agentkit.records import Episode, Judgement, Memory, Reflection, ReflectionCase, Trajectory
from agentkit.reflection import (
    CriticPlan,
    ModelCritic,
    ModelJudge,
    OwnRun,
    RuleCritic,
    RuleJudge,
    choose_critics,
    forbidden_texts,
)

logger = logging.getLogger("agentkit")

# Schema, tool call, plain JSON: one way of asking each, see `plan_attempt`.
WAYS_OF_ASKING = 3


class Critics:
    """Asks the critics in the order of the policy; the rules come last and never fail."""

    def __init__(self, parts: Parts) -> None:
        """Bind the rooms."""
        self._parts = parts
        self._policy = parts.policy.reflection
        self._rules = RuleCritic(self._policy, tag_finder=parts.find_tags)
        self._judge = RuleJudge()

    async def review(
        self, case: ReflectionCase, *, live: LiveRun | None, attempt: int
    ) -> Reflection:
        """Return the critique of an episode.

        A model that answers, but nothing usable, is asked in another way at once, and then the
        next critic is. A model that is down ends the attempt, so that the job is tried later,
        unless this was the last try.

        Args:
            case: The episode.
            live: The live model and history, where the agent ran in this process.
            attempt: Number of this try of the job, from 1.

        Raises:
            ReflectionError: If a model is down and there are tries left; nothing was written.
        """
        last = attempt >= self._policy.attempts
        for plan in self._plans(case.episode, live):
            if plan.kind == "rules":
                break
            try:
                return await self._ask(plan, case, live)
            except ReflectionError as error:
                if error.retryable and not error.unusable and not last:
                    raise
                # A model object cannot be built again from its name; nobody can change that.
                expected = error.unusable or (plan.model is None and live is None)
                level = logging.INFO if expected else logging.WARNING
                logger.log(level, "%s; the next critic is asked", error)
        return await self._rules.review(case)

    async def judge(self, new: Memory, old: Memory) -> Judgement:
        """Return how a new memory stands to an old one.

        The model named in the policy is asked where there is one; when it cannot answer, and
        where there is none, the rules judge.
        """
        model = self._policy.model
        if model is not None:
            asked = served_at(model, base_url=self._parts.settings.base_url)
            judge = ModelJudge(asked, templates=self._parts.templates, policy=self._policy)
            try:
                return await judge.judge(new, old)
            except ReflectionError as error:
                logger.warning("%s; the rules judge", error)
        return await self._judge.judge(new, old)

    def prompt_texts(self, trajectory: Trajectory) -> tuple[str, ...]:
        """Return texts that nobody may learn from: the prompts and the agent's instructions."""
        return forbidden_texts(self._parts.templates, trajectory)

    def _plans(self, episode: Episode, live: LiveRun | None) -> tuple[CriticPlan, ...]:
        return choose_critics(
            self._policy.mode,
            policy_model=self._policy.model,
            own_model=live is not None or self._string(episode) is not None,
            own_history=live is not None,
        )

    def _string(self, episode: Episode) -> str | None:
        """A model string that can be asked: a recording's own model is somebody else's."""
        if episode.end_reason == "imported":
            return self._parts.settings.model
        return episode.model or self._parts.settings.model

    async def _ask(
        self, plan: CriticPlan, case: ReflectionCase, live: LiveRun | None
    ) -> Reflection:
        """Ask one model in each way until it gives something usable."""
        for way in range(1, WAYS_OF_ASKING):
            try:
                return await self._critic(plan, case.episode, live, way=way).review(case)
            except ReflectionError as error:
                if not error.unusable:
                    raise
                logger.info("%s; asked in another way", error)
        return await self._critic(plan, case.episode, live, way=WAYS_OF_ASKING).review(case)

    def _critic(
        self, plan: CriticPlan, episode: Episode, live: LiveRun | None, *, way: int
    ) -> Critic:
        model = plan.model or (live.model if live else self._string(episode))
        if model is None:
            raise ReflectionError("no model is at hand", retryable=False)
        if isinstance(model, str):
            model = served_at(model, base_url=self._parts.settings.base_url)
        own_run = None
        # pydantic-ai takes half a second to import, which commands without a run need not wait.
        if live is not None and plan.kind == "self":
            from agentkit.steps import is_briefing

            own_run = OwnRun(messages=live.history, is_briefing=is_briefing)
        return ModelCritic(
            model,
            templates=self._parts.templates,
            policy=self._policy,
            tags=self._parts.policy.taxonomy.tags(),
            own_run=own_run,
            attempt=way,
        )
