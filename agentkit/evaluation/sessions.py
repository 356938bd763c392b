"""Scores what a memory returns after recorded sessions were replayed into it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentkit.evaluation.intervals import draw, interval
from agentkit.evaluation.metrics import score_rankings
from agentkit.evaluation.report import ArmResult, EvalReport
from agentkit.evaluation.suites import Question, SessionsSuite
from agentkit.text import normalise


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One memory that came back.

    Attributes:
        memory_id: The memory.
        episode_id: Episode it came out of, or None.
        content: What it says.
    """

    memory_id: str
    episode_id: str | None
    content: str


class Recaller(Protocol):
    """Asks a memory. The kit is one; a test may be another."""

    async def __call__(self, text: str, *, user_id: str, limit: int) -> Sequence[Recalled]:
        """Return at most `limit` memories of a user, best first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of one question.

    Attributes:
        question: The question.
        recalled: What came back, best first.
        rank: Rank of the first right memory, from 1, or None if none was right.
    """

    question: Question
    recalled: tuple[Recalled, ...]
    rank: int | None

    @property
    def right(self) -> bool:
        """Whether the answer is what the suite wants: something right, or nothing at all."""
        return not self.recalled if self.question.nothing else self.rank is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsOutcome:
    """The report with the answers behind it.

    Attributes:
        report: The figures.
        answers: One a question and arm, in order, by arm.
    """

    report: EvalReport
    answers: Mapping[str, tuple[Answer, ...]]


async def evaluate_sessions(
    suite: SessionsSuite,
    *,
    recallers: Mapping[str, Recaller],
    episodes: Mapping[str, str],
    data: str = "",
    embedder: str = "none",
    policy_fingerprint: str = "",
) -> SessionsOutcome:
    """Ask every question of a session suite and score what comes back.

    Args:
        suite: The suite; its sessions were imported and reflected on already.
        recallers: Whom to ask, by the name of the arm.
        episodes: Episode id by `source_id` of the recording, for questions that name one.
        data: Where the sessions came from, for the head.
        embedder: Fingerprint of the embedder, or "none".
        policy_fingerprint: Fingerprint of the policy in force.

    Returns:
        The figures, and each answer. Intervals are drawn over questions.
    """
    answers = {
        arm: await _ask(suite, recall=recall, episodes=episodes)
        for arm, recall in recallers.items()
    }
    nothing = sum(question.nothing for question in suite.questions)
    report = EvalReport(
        suite=suite.name,
        title=suite.title,
        data=data,
        half="all",
        arms=tuple(_row(arm, answers=given, suite=suite) for arm, given in answers.items()),
        gains=(),
        n_queries=len(suite.questions) - nothing,
        undefined=nothing,
        n_memories=None,
        n_groups=len({question.user or suite.user for question in suite.questions}),
        resampled_by="query",
        embedder=embedder,
        policy_fingerprint=policy_fingerprint,
        notes=suite.notes,
    )
    return SessionsOutcome(report=report, answers=answers)


async def _ask(
    suite: SessionsSuite, *, recall: Recaller, episodes: Mapping[str, str]
) -> tuple[Answer, ...]:
    depth = max(metric.k for metric in suite.measured())
    answers: list[Answer] = []
    for question in suite.questions:
        user_id = question.user or suite.user
        recalled = await recall(question.text, user_id=user_id, limit=depth)
        answers.append(judge(question, recalled=recalled, episodes=episodes))
    return tuple(answers)


def _row(arm: str, *, answers: Sequence[Answer], suite: SessionsSuite) -> ArmResult:
    metrics = suite.measured()
    scores = score_rankings(
        metrics,
        gold=[frozenset() if one.question.nothing else frozenset({_RIGHT}) for one in answers],
        ranked=[_ranking(one) for one in answers],
    )
    resamples = draw([one.question.id for one in answers if not one.question.nothing])
    measured = {
        str(metric): interval(scores.values[:, column], resamples=resamples)
        for column, metric in enumerate(metrics)
    }
    return ArmResult(arm=arm, metrics=measured, abstained=scores.abstained)


def judge(
    question: Question, *, recalled: Sequence[Recalled], episodes: Mapping[str, str]
) -> Answer:
    """Return the answer with the rank of the first right memory. Pure.

    Args:
        question: What was asked and what is right.
        recalled: What came back, best first.
        episodes: Episode id by `source_id` of the recording.
    """
    ranks = (
        rank
        for rank, one in enumerate(recalled, start=1)
        if is_right(one, question=question, episodes=episodes)
    )
    return Answer(question=question, recalled=tuple(recalled), rank=next(ranks, None))


def is_right(one: Recalled, *, question: Question, episodes: Mapping[str, str]) -> bool:
    """Whether a memory meets every condition of a question. Pure.

    Args:
        one: The memory.
        question: What is right; a question that wants nothing has no right memory.
        episodes: Episode id by `source_id` of the recording.
    """
    if question.nothing:
        return False
    content = _folded(one.content)
    if not all(_folded(word) in content for word in question.words):
        return False
    if question.any_words and not any(_folded(word) in content for word in question.any_words):
        return False
    return question.episode is None or (
        one.episode_id is not None and one.episode_id == episodes.get(question.episode)
    )


_RIGHT = "right"


def _ranking(answer: Answer) -> tuple[str, ...]:
    """Name the first right memory `right`, so that the library can look for it."""
    return tuple(
        _RIGHT if rank == answer.rank else f"other {rank}"
        for rank in range(1, len(answer.recalled) + 1)
    )


def _folded(text: str) -> str:
    return normalise(text).casefold()
