"""The carry-over of a session: read off its last sealed task, in any process."""

from agentkit.kit.parts import Parts
from agentkit.records import Scope
from agentkit.text import estimate_tokens
from agentkit.working import CarryOver, carried, fitted

# Sealed tasks of a session that are looked through for the last of this very scope.
MOST_TASKS = 20
# A carry-over stands in the current prompt, which always stays: the rest is for the work.
BUDGET_SHARE = 4


class Carrier:
    """Renders what a session carries over a boundary. Keeps nothing, so a purge reaches it."""

    def __init__(self, parts: Parts) -> None:
        """Bind the rooms."""
        self._parts = parts

    async def text_of(self, scope: Scope, session_id: str, *, model: str | None = None) -> str:
        """Return what the next task of a session is told of the one before, as delimited data.

        Args:
            scope: Whose session.
            session_id: The session.
            model: Model string, for a budget of its own, or None.

        Returns:
            At most `carry_over_tokens`, and at most a quarter of the model's budget; "" where
            the session is new or was closed, or where nothing fits.

        Raises:
            StoreError: If the last task cannot be read.
            TemplateError: If the template `carry_over` is broken.
        """
        policy = self._parts.policy.working
        budget = min(policy.carry_over_tokens, policy.budget_for(model) // BUDGET_SHARE)
        found = await self._last(scope, session_id) if budget else None
        if found is None:
            return ""
        return fitted(found, budget_tokens=budget, render=self._render, estimate=estimate_tokens)

    async def _last(self, scope: Scope, session_id: str) -> CarryOver | None:
        store = await self._parts.seen(scope)
        episodes = await store.episodes(scope, session_id=session_id, limit=MOST_TASKS)
        episode = next((one for one in episodes if one.scope == scope), None)
        if episode is None:
            return None
        steps = (await store.trajectory(scope, episode.episode_id)).steps
        return carried(
            steps, goal=episode.goal, outcome=episode.outcome, end_reason=episode.end_reason
        )

    def _render(self, found: CarryOver) -> str:
        wanted = self._parts.settings.language
        language = found.language if wanted == "auto" else wanted
        return self._parts.templates.render("carry_over", language=language, **found.variables())
