"""The briefing: recall, then render what fits, as delimited data."""

import logging

from agentkit.kit.parts import Parts
from agentkit.kit.recalling import Recaller
from agentkit.recall import BriefingView, compose, focus
from agentkit.records import Briefing, Language, Query, Scope
from agentkit.text import estimate_tokens, language_of

logger = logging.getLogger("agentkit")


class Briefer:
    """Renders recalled memories for a model."""

    def __init__(self, parts: Parts, recaller: Recaller) -> None:
        """Bind the rooms."""
        self._parts = parts
        self._recaller = recaller

    async def brief(
        self,
        query: Query,
        *,
        scope: Scope,
        session_id: str | None,
        budget_tokens: int | None,
    ) -> Briefing:
        """Recall, and render what fits the budget.

        Args:
            query: What the task is about.
            scope: Whose memory.
            session_id: Session it serves, for the log.
            budget_tokens: Most tokens, wrapper included; None for the policy's.

        Raises:
            StoreError: If the database cannot be read.
            TemplateError: If the briefing's template is broken.
        """
        result = await self._recaller.recall(query, scope=scope, session_id=session_id)
        policy = self._parts.policy.recall.briefing
        # In the language of the question, whatever was pasted around it.
        limit_chars = self._parts.policy.recall.focus_chars
        language = self._language(focus(query.text, limit_chars=limit_chars))

        def render(view: BriefingView) -> str:
            return self._parts.templates.render("briefing", language=language, **view.variables())

        budget = policy.budget_tokens if budget_tokens is None else budget_tokens
        briefing = compose(
            result.hits,
            budget_tokens=budget,
            policy=policy,
            render=render,
            estimate=estimate_tokens,
            retrieval_id=result.retrieval_id,
        )
        if result.hits and not briefing.text:
            logger.warning(
                "none of %d recalled memories fits a briefing of %d tokens; raise "
                "`briefing: budget_tokens` in memory/recall.yaml",
                len(result.hits),
                budget,
            )
        return briefing

    def _language(self, text: str) -> Language:
        wanted = self._parts.settings.language
        return language_of(text) if wanted == "auto" else wanted
