"""Tasks as they run: steps kept as they happen, boundaries, sealing, recovery."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from agentkit.errors import NotFoundError
from agentkit.kit.closing import Closing
from agentkit.kit.embedding import try_embed
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

# The threshold of the `topic` boundary was measured with this much of the user's words.
TOPIC_CHARS = 1_500
# The bundled embedder takes 10 ms; a run does not wait longer to learn that the topic changed.
TOPIC_LIMIT_S = 0.5
MOST_LIVE_RUNS = 64
MOST_FINISHED_RUNS = 1_024
# What pydantic-ai ends a run with when the caller stops listening: the agent did not fail.
_LEFT = ("CancelledError", "GeneratorExit")

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


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
class Course:
    """What the runs of a task that goes on came to.

    Attributes:
        live: Live model and history of the last run, or None.
        tokens_in: Input tokens of all of them.
        tokens_out: Output tokens of all of them.
    """

    live: LiveRun | None = None
    tokens_in: int = 0
    tokens_out: int = 0

    def with_run(self, record: "RunRecord") -> "Course":
        """Return the course with one more run in it."""
        return Course(
            live=record.live or self.live,
            tokens_in=self.tokens_in + record.tokens_in,
            tokens_out=self.tokens_out + record.tokens_out,
        )


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
        episode_id: Id that the task gets if it ends with this run, or None for a new one; given,
            a run that is taken over twice is sealed once.
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
    episode_id: str | None = None

    @property
    def subject(self) -> tuple[Scope, str]:
        """The session, as what a piece of background work is about."""
        return (self.scope, self.session_id)


class Tasks:
    """Keeps the steps of open tasks, and seals them as episodes."""

    def __init__(self, parts: Parts) -> None:
        """Bind the rooms."""
        self._parts = parts
        self.closing = Closing.of(parts)
        self._live: OrderedDict[str, LiveRun] = OrderedDict()
        self._courses: OrderedDict[tuple[Scope, str], Course] = OrderedDict()
        self._finished: OrderedDict[str, None] = OrderedDict()

    async def keep(self, record: RunRecord) -> None:
        """Write the steps so far; writing a step twice is harmless, and so is being late."""
        if record.steps and record.run_id not in self._finished:
            store = await self._parts.store(record.scope)
            await store.append_steps(
                record.scope,
                record.session_id,
                [masked(step) for step in record.steps],
                instructions=redact(record.instructions).text,
                model=record.model,
            )

    async def finish(self, record: RunRecord) -> Episode | None:
        """Write a run that ended, and seal its task if that ended with it. Once for each run.

        Returns:
            The episode, or None while the task goes on.
        """
        if record.run_id in self._finished:
            return None
        if record.episode_id is not None and await self._is_sealed(record):
            _put(self._finished, record.run_id, None, most=MOST_FINISHED_RUNS)
            return None
        await self.keep(record)
        episode = await self._end_with(record)
        if record.run_id not in self._finished:
            _put(self._finished, record.run_id, None, most=MOST_FINISHED_RUNS)
            if episode is None:
                course = self._courses.get(record.subject, Course()).with_run(record)
                _put(self._courses, record.subject, course, most=MOST_LIVE_RUNS)
        return episode

    async def _end_with(self, record: RunRecord) -> Episode | None:
        """Seal the task of a run if it ended with it."""
        reason: EndReason | None = "closed"
        if record.continues:
            store = await self._parts.store(record.scope)
            task = await store.open_task(record.scope, record.session_id)
            reason = await self.closing.reason(turns_of(task.steps) if task else ())
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
        store = await self._parts.store(scope)
        task = await store.open_task(scope, session_id)
        if task is None or not task.steps:
            return None
        trajectory = Trajectory(steps=task.steps, instructions=task.instructions, model=task.model)
        sealing = self._seal(trajectory, said=said, reward=None)
        if record is not None and _failed(record, sealing):
            sealing = replace(sealing, outcome="failure", outcome_source="rules")
        course = self._courses.pop((scope, session_id), Course())
        course = course if record is None else course.with_run(record)
        store = await self._parts.store(scope)
        sealed = await store.seal(
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
                tokens_in=course.tokens_in,
                tokens_out=course.tokens_out,
                episode_id=None if record is None else record.episode_id,
            ),
            episodic=self._episodic(sealing, at=task.last_step_at),
            reflect=True,
        )
        if course.live is not None:
            _put(self._live, sealed.episode.episode_id, course.live, most=MOST_LIVE_RUNS)
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
        store = await self._parts.store(scope)
        sealed = await store.seal(
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
        stores = await self._parts.stores.all()
        for task in [task for store in stores for task in await store.open_tasks()]:
            turns = turns_of(task.steps)
            silent_s = (now - task.last_step_at).total_seconds()
            gone = task.owner is not None and not task.owner.is_alive()
            reason = decide(turns, policy=policy, moment="start") if gone else None
            reason = reason or decide(turns, policy=policy, moment="tick", idle_s=silent_s)
            if reason is not None and await self.end(task.scope, task.session_id, reason=reason):
                sealed += 1
        return sealed

    async def ended_before(self, scope: Scope, session_id: str, prompt: str) -> EndReason | None:
        """Return why the open task of a session is over now that this is said, or None.

        Args:
            scope: Whose task.
            session_id: Its session.
            prompt: What the user says next.
        """
        policy = self._parts.policy.boundaries
        store = await self._parts.store(scope)
        task = await store.open_task(scope, session_id)
        if task is None or not (policy.idle.enabled or policy.topic.enabled):
            return None
        said = "\n".join(step.text for step in task.steps if step.kind == "user")
        cosine = await self._cosine(prompt, said[-TOPIC_CHARS:]) if policy.topic.enabled else None
        return decide(
            turns_of(task.steps),
            policy=policy,
            moment="prompt",
            idle_s=(self._parts.clock() - task.last_step_at).total_seconds(),
            prompt=prompt,
            cosine=cosine,
        )

    async def _cosine(self, prompt: str, said: str) -> float | None:
        """How near a prompt is to what was said so far; None where it cannot be told in time."""
        try:
            async with asyncio.timeout(TOPIC_LIMIT_S):
                vectors, _ = await try_embed(self._parts.embedder, [prompt, said], kind="document")
        except TimeoutError:
            return None
        return None if vectors is None else float(vectors[0] @ vectors[1])

    async def next_step(self, scope: Scope, session_id: str) -> int:
        """Return the number of the next step of a session's open task, from 1."""
        store = await self._parts.store(scope)
        task = await store.open_task(scope, session_id)
        return 1 if task is None else len(task.steps) + 1

    async def is_open(self, scope: Scope, session_id: str) -> bool:
        """Whether a session has a task that is not sealed."""
        store = await self._parts.store(scope)
        return await store.open_task(scope, session_id) is not None

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

    async def _is_sealed(self, record: RunRecord) -> bool:
        """Whether an earlier take-over of this run got as far as the episode."""
        try:
            store = await self._parts.store(record.scope)
            await store.episode(record.scope, record.episode_id or "")
        except NotFoundError:
            return False
        return True

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


def _failed(record: RunRecord, sealing: Sealing) -> bool:
    """Whether the way a run ended makes its task a failure, for want of a better word.

    A caller who stopped listening once the answer had come says nothing about the answer.
    """
    if not record.failure or sealing.outcome_source not in (None, "rules"):
        return False
    answered = bool(record.steps) and record.steps[-1].kind == "model"
    return not (answered and record.failure in _LEFT)


def _put(held: OrderedDict[_Key, _Value], key: _Key, value: _Value, *, most: int) -> None:
    """Keep a value as the newest, and drop the oldest ones above a number."""
    held[key] = value
    held.move_to_end(key)
    while len(held) > most:
        held.popitem(last=False)


def masked(step: Step) -> Step:
    """Return a step without secrets; nothing unmasked is ever written."""
    return replace(step, text=redact(step.text).text)


def fingerprint(trajectory: Trajectory) -> str:
    """Return 16 hex digits that tell one recorded trajectory from another."""
    digest = hashlib.sha256()
    for step in trajectory.steps:
        digest.update(f"{step.kind}\x1f{step.tool}\x1f{step.text}\x1e".encode())
    return digest.hexdigest()[:16]
