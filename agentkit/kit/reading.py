"""The doors that only look: nothing behind them changes anything."""

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agentkit.kit.parts import Parts
from agentkit.policy import Policy
from agentkit.project import Project
from agentkit.records import (
    Episode,
    Job,
    JobState,
    Memory,
    MemoryEvent,
    MemoryLink,
    MemoryStatus,
    MemoryType,
    Retrieval,
    Scope,
    Tag,
    Trajectory,
)
from agentkit.settings import Settings
from agentkit.store import Check, SessionSummary, merge_checks
from agentkit.templates import Templates

if TYPE_CHECKING:
    from pydantic_ai.toolsets import AbstractToolset

logger = logging.getLogger("agentkit")

_NOT_DONE: tuple[JobState, ...] = ("pending", "running", "waiting", "partial", "dead")


class Reading:
    """What of an open project can be looked at."""

    def __init__(self, parts: Parts) -> None:
        """Look into the rooms of a project."""
        self._parts = parts

    @property
    def settings(self) -> Settings:
        """Settings in force."""
        return self._parts.settings

    @property
    def policy(self) -> Policy:
        """Policy in force."""
        return self._parts.policy

    @property
    def project(self) -> Project:
        """Where content is found."""
        return self._parts.project

    @property
    def templates(self) -> Templates:
        """Prompt templates."""
        return self._parts.templates

    def toolset(self) -> "AbstractToolset[object]":
        """Return the project's drop-in tools (`tools/*.py`) for `Agent(toolsets=[...])`.

        The tools may touch the project's folder and nothing outside of it. A file that cannot be
        loaded is told in the log, and by `agentkit tools list`; the others are there.
        """
        from agentkit.toolbox import load_toolbox, toolset

        root = self.project.root or Path.cwd()
        loaded = load_toolbox(self.project.content("tools"), root=root)
        for problem in loaded.problems:
            logger.warning("a tool file was left out: %s", problem)
        return toolset(loaded)

    def now(self) -> datetime:
        """Return the current time by the kit's clock, in the project's time zone."""
        return self._parts.clock().astimezone(self.settings.zone())

    def scope(self, user_id: str, agent_id: str | None = None) -> Scope:
        """Return the scope of a user, and optionally of one of the user's agents.

        Raises:
            InputError: If a name cannot be a scope.
        """
        return Scope(user_id, agent_id)

    async def memory(self, memory_id: str, *, scope: Scope) -> Memory:
        """Return one memory.

        Raises:
            NotFoundError: If there is none of that id in this scope.
        """
        store = await self._parts.seen(scope)
        return await store.memory(scope, memory_id)

    async def memories(
        self,
        *,
        scope: Scope,
        statuses: Sequence[MemoryStatus] | None = None,
        memory_type: MemoryType | None = None,
        tag: Tag | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> tuple[Memory, ...]:
        """Return memories, newest first.

        Args:
            scope: Whose memories.
            statuses: Only these, or None for all that are visible.
            memory_type: Only this type, or None.
            tag: Only with this tag, or None.
            limit: Most entries, at least 1.
            offset: Entries to skip, at least 0.
        """
        store = await self._parts.seen(scope)
        return await store.memories(
            scope,
            statuses=statuses,
            memory_type=memory_type,
            tag=tag,
            limit=limit,
            offset=offset,
        )

    async def history(self, memory_id: str, *, scope: Scope) -> tuple[MemoryEvent, ...]:
        """Return what happened to a memory, oldest first.

        Raises:
            NotFoundError: If there is none of that id in this scope.
        """
        store = await self._parts.seen(scope)
        return await store.history(scope, memory_id)

    async def links(self, memory_id: str, *, scope: Scope) -> tuple[MemoryLink, ...]:
        """Return how a memory stands to others of the same user.

        Raises:
            NotFoundError: If there is none of that id in this scope.
        """
        store = await self._parts.seen(scope)
        return await store.links(scope, memory_id)

    async def episode(self, episode_id: str, *, scope: Scope) -> Episode:
        """Return one episode.

        Raises:
            NotFoundError: If there is none of that id in this scope.
        """
        store = await self._parts.seen(scope)
        return await store.episode(scope, episode_id)

    async def episodes(
        self, *, scope: Scope, limit: int = 50, offset: int = 0, session_id: str | None = None
    ) -> tuple[Episode, ...]:
        """Return episodes, newest first.

        Args:
            scope: Whose episodes.
            limit: Most entries, at least 1.
            offset: Entries to skip, at least 0.
            session_id: Only those of this session, or None.
        """
        store = await self._parts.seen(scope)
        return await store.episodes(scope, limit=limit, offset=offset, session_id=session_id)

    async def sessions(
        self, *, scope: Scope, limit: int = 50, offset: int = 0
    ) -> tuple[SessionSummary, ...]:
        """Return sessions, the last used first.

        Args:
            scope: Whose; with an agent, that agent's own.
            limit: Most entries, at least 1.
            offset: Entries to skip, at least 0.
        """
        store = await self._parts.seen(scope)
        return await store.sessions(scope, limit=limit, offset=offset)

    async def trajectory(self, episode_id: str, *, scope: Scope) -> Trajectory:
        """Return the steps of an episode, checked against its hash.

        Raises:
            NotFoundError: If there is no such episode in this scope.
            StoreError: If its file is missing or was changed.
        """
        store = await self._parts.seen(scope)
        return await store.trajectory(scope, episode_id)

    async def retrievals(
        self, *, scope: Scope, limit: int = 50, session_id: str | None = None
    ) -> tuple[Retrieval, ...]:
        """Return the retrieval log, newest first, each with its pool.

        Args:
            scope: Whose recalls.
            limit: Most entries, at least 1.
            session_id: Only of this session, or None.
        """
        store = await self._parts.seen(scope)
        return await store.retrievals(scope, limit=limit, session_id=session_id)

    async def jobs(self, *, scope: Scope | None = None) -> tuple[Job, ...]:
        """Return the jobs that are not done, oldest first.

        Args:
            scope: Only this user's, or None for everybody's.
        """
        parts = self._parts
        stores = await parts.stores.all() if scope is None else (await parts.seen(scope),)
        jobs = [job for one in stores for job in await one.jobs(scope, states=_NOT_DONE)]
        return tuple(sorted(jobs, key=lambda job: job.job_id))

    async def doctor(self) -> tuple[Check, ...]:
        """Look the store over; nothing is changed."""
        return merge_checks([await store.check() for store in await self._parts.stores.all()])
