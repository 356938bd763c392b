"""Tasks as they run: steps kept as they happen, boundaries, sealing, recovery."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from agentkit.kit.parts import Parts
from agentkit.records import (
    EndReason,
    Episode,
    Outcome,
    Recording,
    Scope,
    Step,
    Trajectory,
    number_steps,
)
from agentkit.reflection import redact
from agentkit.store import NewEpisode, NewMemory
from agentkit.working import Sealing, decide, seal, turns_of

MOST_LIVE_RUNS = 64


@dataclass(frozen=True, slots=True, eq=False)
class LiveRun:
    """What an agent needs to look back on its own run in this process.

    Attributes:
        model: The live pydantic-ai model.
        history: Its messages, briefings still in them.
    """

    model: Any
    history: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunRecord:
    """One run of an agent, as far as it has come.

    Attributes:
        scope: Whose run it is.
        session_id: Session it belongs to.
        run_id: Id of the run.
        continues: True when the session goes on, so that a boundary has to end the task; False
            when the run is the task.
        steps: Steps of this run so far, numbered within the task.
        instructions: Rendered system text of the last request, or "".
        model: Model string, or None.
        failure: Name of the error that ended the run, or "".
        tokens_in: Input tokens so far.
        tokens_out: Output tokens so far.
        live: The live model and history, or None.
    """

    scope: Scope
    session_id: str
    run_id: str
    continues: bool
    steps: tuple[Step, ...]
    instructions: str = ""
    model: str | None = None
    failure: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    live: LiveRun | None = None


class Tasks:
    """Keeps the steps of open tasks, and seals them as episodes."""

    def __init__(self, parts: Parts) -> None:
        """Bind the rooms."""
        self._parts = parts
        self._live: OrderedDict[str, LiveRun] = OrderedDict()

    async def keep(self, record: RunRecord) -> None:
        """Write the steps so far; writing a step twice is harmless."""
        if record.steps:
            await self._parts.store.append_steps(
                record.scope,
                record.session_id,
                [masked(step) for step in record.steps],
                instructions=redact(record.instructions).text,
                model=record.model,
            )

    async def finish(self, record: RunRecord) -> Episode | None:
        """Write a run that ended, and seal its task if that ended with it.

        Returns:
            The episode, or None while the task goes on.
        """
        await self.keep(record)
        reason: EndReason | None = "closed"
        if record.continues:
            task = await self._parts.store.open_task(record.scope, record.session_id)
            turns = turns_of(task.steps) if task else ()
            reason = decide(turns, policy=self._parts.policy.boundaries, moment="turn_end")
        if reason is None:
            return None
        return await self.end(record.scope, record.session_id, reason=reason, record=record)

    async def end(
        self,
        scope: Scope,
        session_id: str,
        *,
        reason: EndReason,
        said: Outcome = "unknown",
        record: RunRecord | None = None,
    ) -> Episode | None:
        """Seal the open task of a session.

        Args:
            scope: Whose task.
            session_id: Its session.
            reason: Which boundary ended it.
            said: Outcome that the caller names, or `unknown`.
            record: The run that ended it, or None.

        Returns:
            The episode, or None when nothing was open.
        """
        task = await self._parts.store.open_task(scope, session_id)
        if task is None or not task.steps:
            return None
        trajectory = Trajectory(steps=task.steps, instructions=task.instructions, model=task.model)
        sealing = self._seal(trajectory, said=said, reward=None)
        if record is not None and record.failure and sealing.outcome_source in (None, "rules"):
            sealing = replace(sealing, outcome="failure", outcome_source="rules")
        sealed = await self._parts.store.seal(
            scope,
            NewEpisode(
                trajectory=trajectory,
                session_id=session_id,
                goal=sealing.goal,
                end_reason=reason,
                started_at=task.opened_at,
                ended_at=task.last_step_at,
                outcome=sealing.outcome,
                outcome_source=sealing.outcome_source,
                tokens_in=record.tokens_in if record else 0,
                tokens_out=record.tokens_out if record else 0,
            ),
            episodic=self._episodic(sealing, at=task.last_step_at),
            reflect=True,
        )
        if record is not None and record.live is not None:
            self._remember_live(sealed.episode.episode_id, record.live)
        return sealed.episode

    async def take_in(self, recording: Recording, *, scope: Scope) -> bool:
        """Seal a recorded task.

        Args:
            recording: The task as an importer found it.
            scope: Whose it becomes.

        Returns:
            False when it was here already.
        """
        trajectory = replace(
            recording.trajectory,
            steps=number_steps(masked(step) for step in recording.trajectory.steps),
            instructions=redact(recording.trajectory.instructions).text,
        )
        sealing = self._seal(trajectory, said=recording.outcome, reward=recording.reward)
        ended_at = recording.ended_at or self._parts.clock()
        sealed = await self._parts.store.seal(
            scope,
            NewEpisode(
                trajectory=trajectory,
                session_id=recording.session_id,
                goal=sealing.goal,
                end_reason="imported",
                started_at=recording.started_at or ended_at,
                ended_at=ended_at,
                outcome=sealing.outcome,
                outcome_source=sealing.outcome_source,
                source_id=f"{recording.source_id}#{fingerprint(trajectory)}",
            ),
            episodic=self._episodic(sealing, at=ended_at),
            reflect=True,
        )
        return not sealed.duplicate

    async def recover(self) -> int:
        """Seal what dead processes and long silences left open.

        A task whose process is gone was cut off; one whose process may still be at it is left
        alone until it has been silent for the idle time.

        Returns:
            Number of tasks that were sealed.
        """
        sealed = 0
        now = self._parts.clock()
        policy = self._parts.policy.boundaries
        for task in await self._parts.store.open_tasks():
            turns = turns_of(task.steps)
            silent_s = (now - task.last_step_at).total_seconds()
            gone = task.owner is not None and not task.owner.is_alive()
            reason = decide(turns, policy=policy, moment="start") if gone else None
            reason = reason or decide(turns, policy=policy, moment="tick", idle_s=silent_s)
            if reason is not None and await self.end(task.scope, task.session_id, reason=reason):
                sealed += 1
        return sealed

    async def next_step(self, scope: Scope, session_id: str) -> int:
        """Return the number of the next step of a session's open task, from 1."""
        task = await self._parts.store.open_task(scope, session_id)
        return 1 if task is None else len(task.steps) + 1

    async def is_open(self, scope: Scope, session_id: str) -> bool:
        """Whether a session has a task that is not sealed."""
        return await self._parts.store.open_task(scope, session_id) is not None

    def live(self, episode_id: str) -> LiveRun | None:
        """Return the live run of an episode sealed in this process, or None."""
        return self._live.get(episode_id)

    def drop_live(self, episode_ids: Iterable[str]) -> None:
        """Let go of the live runs of episodes, as after a purge; unknown ids are ignored.

        Args:
            episode_ids: The episodes.
        """
        for episode_id in episode_ids:
            self._live.pop(episode_id, None)

    def _remember_live(self, episode_id: str, live: LiveRun) -> None:
        self._live[episode_id] = live
        while len(self._live) > MOST_LIVE_RUNS:
            self._live.popitem(last=False)

    def _seal(self, trajectory: Trajectory, *, said: Outcome, reward: float | None) -> Sealing:
        policy = self._parts.policy
        return seal(
            trajectory,
            boundaries=policy.boundaries,
            working=policy.working,
            find_tags=self._parts.find_tags,
            confidence=policy.reflection.confidence.rule_critic,
            said=said,
            reward=reward,
        )

    def _episodic(self, sealing: Sealing, *, at: datetime) -> NewMemory | None:
        if sealing.memory is None:
            return None
        trust = self._parts.policy.reflection.trust.of(sealing.memory.source)
        return NewMemory(lesson=sealing.memory, trust=trust, status="active", created_at=at)


def masked(step: Step) -> Step:
    """Return a step without secrets; nothing unmasked is ever written."""
    return replace(step, text=redact(step.text).text)


def fingerprint(trajectory: Trajectory) -> str:
    """Return 16 hex digits that tell one recorded trajectory from another."""
    digest = hashlib.sha256()
    for step in trajectory.steps:
        digest.update(f"{step.kind}\x1f{step.tool}\x1f{step.text}\x1e".encode())
    return digest.hexdigest()[:16]
