"""The workbench of a session beside its messages: what is pinned, and results opened again.

Nothing is stored for it: pins and results are read off the steps that are kept anyway, so that
another process finds the same, and a purge leaves nothing behind.
"""

from collections import OrderedDict
from collections.abc import Sequence

from agentkit.errors import NotFoundError
from agentkit.kit.parts import Parts
from agentkit.records import Language, Scope, Step
from agentkit.text import language_of
from agentkit.working import Pin, find_result, pins_of

# Sessions whose pins are held in memory; those of others are read off their steps again.
MOST_SESSIONS = 1_024
# Sealed tasks of a session that are looked through, the last ended first.
MOST_TASKS = 20


class Workbench:
    """Pins and large results of sessions."""

    def __init__(self, parts: Parts) -> None:
        """Bind the rooms."""
        self._parts = parts
        self._pins: OrderedDict[tuple[Scope, str], tuple[Pin, ...]] = OrderedDict()

    async def pins_of_session(self, scope: Scope, session_id: str) -> tuple[Pin, ...]:
        """Return what is pinned in a session, the newest last; it outlives the session's tasks.

        What this process does not know is read off the steps of the session, back to where it
        was closed.

        Args:
            scope: Whose session.
            session_id: The session.

        Raises:
            StoreError: If the steps cannot be read.
        """
        key = (scope, session_id)
        if key not in self._pins:
            steps = await self._steps(scope, session_id)
            self.keep_pins(scope, session_id, pins_of(steps, policy=self._parts.policy.working))
        return self._pins.get(key, ())

    def known_pins(self, scope: Scope, session_id: str) -> tuple[Pin, ...]:
        """Return what is pinned in a session as far as this process knows; reads nothing.

        Args:
            scope: Whose session.
            session_id: The session.
        """
        return self._pins.get((scope, session_id), ())

    def keep_pins(self, scope: Scope, session_id: str, pins: Sequence[Pin]) -> None:
        """Take over what is pinned in a session now.

        Args:
            scope: Whose session.
            session_id: The session.
            pins: All of its pins, the newest last.
        """
        self._pins[scope, session_id] = tuple(pins)
        self._pins.move_to_end((scope, session_id))
        while len(self._pins) > MOST_SESSIONS:
            self._pins.popitem(last=False)

    def clear(self, scope: Scope, session_id: str) -> None:
        """Let go of a session that was closed; harmless where nothing is known of it."""
        self._pins.pop((scope, session_id), None)

    def clear_user(self, user_id: str) -> None:
        """Let go of everything of a user, as after a purge."""
        for key in [key for key in self._pins if key[0].user_id == user_id]:
            del self._pins[key]

    async def result(self, scope: Scope, session_id: str, handle: str) -> Step:
        """Return the tool result that a handle names, whole.

        Args:
            scope: Whose session.
            session_id: The session in which the handle was shown.
            handle: The handle.

        Raises:
            NotFoundError: If no result of this session has it; another's looks the same.
            StoreError: If the steps cannot be read.
        """
        store = await self._parts.seen(scope)
        task = await store.open_task(scope, session_id)
        found = find_result(task.steps, handle) if task else None
        for episode in await store.episodes(scope, session_id=session_id, limit=MOST_TASKS):
            if found is not None:
                break
            if episode.scope == scope:
                trajectory = await store.trajectory(scope, episode.episode_id)
                found = find_result(trajectory.steps, handle)
        if found is None:
            raise NotFoundError("result", handle)
        return found

    def pinned_text(self, pins: Sequence[Pin]) -> str:
        """Return pins as the model reads them, as delimited data; "" for none.

        Args:
            pins: What is pinned.

        Raises:
            TemplateError: If the template `workbench` is broken.
        """
        if not pins:
            return ""
        language = self._language("\n".join(pin.text for pin in pins))
        return self._parts.templates.render("workbench", language=language, pins=tuple(pins))

    async def _steps(self, scope: Scope, session_id: str) -> list[Step]:
        """The steps of a session since it was closed last, in order."""
        store = await self._parts.seen(scope)
        tasks: list[tuple[Step, ...]] = []
        task = await store.open_task(scope, session_id)
        if task is not None:
            tasks.append(task.steps)
        for episode in await store.episodes(scope, session_id=session_id, limit=MOST_TASKS):
            if episode.end_reason == "closed":
                break
            if episode.scope == scope:
                tasks.append((await store.trajectory(scope, episode.episode_id)).steps)
        return [step for steps in reversed(tasks) for step in steps]

    def _language(self, text: str) -> Language:
        wanted = self._parts.settings.language
        return language_of(text) if wanted == "auto" else wanted
