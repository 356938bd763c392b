"""What becomes of a task when it ends: its goal, its outcome, and its episodic memory."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from agentkit.policy.boundaries import BoundariesPolicy
from agentkit.policy.working import WorkingPolicy
from agentkit.records import (
    MEMORY_TOOLS,
    Evidence,
    Language,
    Lesson,
    Outcome,
    OutcomeSource,
    Step,
    Tag,
    Trajectory,
)
from agentkit.text import is_farewell, language_of, normalise, one_line, terms
from agentkit.working.phrases import present, tidy

# `Episode.goal` holds at most this much.
GOAL_CHARS = 500
CUE_CHARS = 160
_QUOTE_CHARS = 200
# Together below the content limit of admission, labels and outcome included.
_LINE_CHARS = {"goal": 400, "actions": 200, "error": 160, "outcome": 20, "answer": 260}
_MOST_ACTIONS = 12
# "Hi" or "你好" is no goal where something longer follows.
_LEAST_GOAL_TERMS = 4

_LABELS: dict[Language, dict[str, str]] = {
    "en": {
        "goal": "Task",
        "actions": "Done",
        "error": "Went wrong",
        "outcome": "Outcome",
        "answer": "Answer",
        "success": "success",
        "failure": "failure",
        "unknown": "unknown",
    },
    "zh": {
        "goal": "任务",
        "actions": "做法",
        "error": "出错",
        "outcome": "结果",
        "answer": "回答",
        "success": "成功",
        "failure": "失败",
        "unknown": "不明",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """How a task ended, and who says so.

    Attributes:
        outcome: `success`, `failure` or `unknown`.
        source: `caller`, `reward`, `user` or `rules`, or None while unknown.
    """

    outcome: Outcome
    source: OutcomeSource | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealing:
    """What is known of a task when it is sealed.

    Attributes:
        goal: What the user wanted, one line, at most 500 characters.
        outcome: `success`, `failure` or `unknown`.
        outcome_source: Who said so, or None while unknown.
        language: Language the user spoke.
        memory: The episodic memory of the task, or None where nothing was done or answered.
    """

    goal: str
    outcome: Outcome
    outcome_source: OutcomeSource | None
    language: Language
    memory: Lesson | None


def seal(
    trajectory: Trajectory,
    *,
    boundaries: BoundariesPolicy,
    working: WorkingPolicy,
    find_tags: Callable[[str], Iterable[Tag]],
    confidence: float,
    said: Outcome = "unknown",
    reward: float | None = None,
) -> Sealing:
    """Return what is known of a task that ends.

    Args:
        trajectory: All steps of the task; briefing steps are left out of everything.
        boundaries: How the user's words are read.
        working: From which reward on a recorded session is a success.
        find_tags: Gives the tags of a text; the outcome's own tag is added to them.
        confidence: Confidence that the episodic memory starts with, in [0.05, 0.95].
        said: Outcome that the caller names; `unknown` for none.
        reward: Reward of a recorded session in [0, 1], or None.
    """
    steps = tuple(step for step in trajectory.steps if step.kind != "briefing")
    goal = goal_of(steps)
    verified = outcome_of(steps, boundaries=boundaries, working=working, said=said, reward=reward)
    language = language_of("\n".join(step.text for step in steps if step.kind == "user") or goal)
    return Sealing(
        goal=goal,
        outcome=verified.outcome,
        outcome_source=verified.source,
        language=language,
        memory=_memory(
            steps,
            goal=goal,
            outcome=verified.outcome,
            language=language,
            find_tags=find_tags,
            confidence=confidence,
        ),
    )


def goal_of(steps: Sequence[Step]) -> str:
    """Return what the user wanted: the first prompt that is more than a greeting, on one line.

    Args:
        steps: Steps in order.
    """
    asked = _goal_step(steps)
    return "" if asked is None else one_line(normalise(asked.text), limit_chars=GOAL_CHARS)


def outcome_of(
    steps: Sequence[Step],
    *,
    boundaries: BoundariesPolicy,
    working: WorkingPolicy,
    said: Outcome = "unknown",
    reward: float | None = None,
) -> Verified:
    """Return how a task ended: the caller's word, else the reward, the user's words, the rules.

    Args:
        steps: Steps in order, without briefings.
        boundaries: How the user's words are read.
        working: From which reward on a recorded session is a success.
        said: Outcome that the caller names; `unknown` for none.
        reward: Reward in [0, 1], or None.
    """
    if said != "unknown":
        return Verified(outcome=said, source="caller")
    if reward is not None:
        good = reward >= working.success_reward
        return Verified(outcome="success" if good else "failure", source="reward")
    by_user = _user_outcome(steps, boundaries=boundaries)
    if by_user != "unknown":
        return Verified(outcome=by_user, source="user")
    by_rules = _rule_outcome(steps)
    return Verified(outcome=by_rules, source=None if by_rules == "unknown" else "rules")


def _goal_step(steps: Sequence[Step]) -> Step | None:
    prompts = [step for step in steps if step.kind == "user" and step.text.strip()]
    telling = (step for step in prompts if len(terms(step.text)) >= _LEAST_GOAL_TERMS)
    return next(telling, prompts[0] if prompts else None)


def _user_outcome(steps: Sequence[Step], *, boundaries: BoundariesPolicy) -> Outcome:
    """Read the user's last words; the words of the task itself do not count."""
    prompts = [step for step in steps if step.kind == "user"]
    if len(prompts) < 2 or prompts[-1] == _goal_step(steps):
        return "unknown"
    said = tidy(prompts[-1].text)
    if present(said, boundaries.outcome.displeased):
        return "failure"
    return "success" if present(said, boundaries.outcome.pleased) else "unknown"


def _rule_outcome(steps: Sequence[Step]) -> Outcome:
    """Judge by the last tool return and by whether an answer followed."""
    if not any(step.kind == "user" for step in steps):
        return "unknown"
    if steps[-1].kind != "user" and not _answer(steps):
        return "failure"
    returns = [step for step in steps if step.kind == "tool_return"]
    asked_again = [step for step in returns if _asks_again(step)]
    returns = [step for step in returns if not _asks_again(step) and step.tool not in MEMORY_TOOLS]
    if not returns:
        return "success" if asked_again and _answer(steps) else "unknown"
    return "success" if returns[-1].outcome == "ok" else "failure"


def _asks_again(step: Step) -> bool:
    """Whether a step is no tool's, but says that the model's answer cannot be taken as it is."""
    return step.kind == "tool_return" and step.outcome == "retried" and step.call_id is None


def _answer(steps: Sequence[Step]) -> str:
    """The last text of the model, or "" where it ended in something else."""
    last = next((step for step in reversed(steps) if step.kind != "user"), None)
    return last.text.strip() if last is not None and last.kind == "model" else ""


def _told(steps: Sequence[Step]) -> Step | None:
    """The step of the last answer, or of the one before where that one only says farewell."""
    if not _answer(steps):
        return None
    spoken = [step for step in steps if step.kind == "model" and step.text.strip()]
    telling = [step for step in spoken if not is_farewell(step.text)]
    return (telling or spoken)[-1]


def _memory(
    steps: Sequence[Step],
    *,
    goal: str,
    outcome: Outcome,
    language: Language,
    find_tags: Callable[[str], Iterable[Tag]],
    confidence: float,
) -> Lesson | None:
    """Draft the episodic memory: goal, actions, trouble, outcome and answer."""
    asked = _goal_step(steps)
    answer = _told(steps)
    actions = _actions(steps)
    if asked is None or not (answer or actions):
        return None
    labels = _LABELS[language]
    trouble = next((step for step in steps if step.outcome in ("failed", "retried")), None)
    lines = {
        "goal": goal,
        "actions": actions,
        "error": "" if trouble is None else trouble.text,
        "outcome": labels[outcome],
        "answer": "" if answer is None else answer.text,
    }
    tags = set(find_tags(f"{goal}\n{actions}"))
    if outcome != "unknown":
        tags.add(Tag("outcome", outcome))
    rests_on = [asked]
    if answer is not None:
        rests_on.append(answer)
    elif trouble is not None:
        rests_on.append(trouble)
    return Lesson(
        content="\n".join(
            f"{labels[key]}: {one_line(normalise(said), limit_chars=_LINE_CHARS[key])}"
            for key, said in lines.items()
            if said
        ),
        memory_type="episodic",
        confidence=confidence,
        source="rule_critic",
        cues=(one_line(goal, limit_chars=CUE_CHARS),),
        tags=tuple(sorted(tags)),
        evidence=tuple(_quote(step) for step in rests_on if step.text.strip()),
        intent=goal,
        language=language,
    )


def _actions(steps: Sequence[Step]) -> str:
    """The tools that were called, in order: `read_file, convert (failed), convert x2`."""
    failed = {
        step.call_id
        for step in steps
        if step.kind == "tool_return" and step.outcome not in ("ok", None)
    }
    called = [
        f"{step.tool} (failed)"
        if step.call_id is not None and step.call_id in failed
        else step.tool
        for step in steps
        if step.kind == "tool_call" and step.tool
    ]
    runs = [(name, len(list(group))) for name, group in groupby(called)]
    shown = [name if count == 1 else f"{name} x{count}" for name, count in runs[:_MOST_ACTIONS]]
    return ", ".join([*shown, *(["..."] if len(runs) > _MOST_ACTIONS else [])])


def _quote(step: Step) -> Evidence:
    """Cite the head of a step, word for word."""
    return Evidence(step_id=step.step_id, quote=step.text.strip()[:_QUOTE_CHARS].strip())
