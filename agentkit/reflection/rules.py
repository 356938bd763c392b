"""The rule critic: lessons and verdicts out of an episode without any model.

Deterministic, and grounded by construction: every lesson quotes the steps it rests on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import (
    MEMORY_TOOLS,
    Evidence,
    Lesson,
    MemoryType,
    Outcome,
    Reflection,
    ReflectionCase,
    Step,
    Tag,
    Trajectory,
)
from agentkit.reflection.quotes import excerpt
from agentkit.reflection.repairs import QUOTE_CHARS, Repair, repairs
from agentkit.reflection.rulings import best_ruling, last_answer
from agentkit.reflection.speech import (
    goal_of,
    is_telling,
    judge_outcome,
    statements,
    without_greeting,
)
from agentkit.reflection.tooluse import ToolUse, missing_tools, tool_uses
from agentkit.reflection.verdicts import judge_recalled
from agentkit.reflection.wording import WORDS, Words, say_repair, say_way
from agentkit.text import one_line

TagFinder = Callable[[str], tuple[Tag, ...]]
GOAL_CHARS = 160
# Of the goal within a lesson: enough to know the task again.
TASK_CHARS = 80
INTENT_CHARS = 300
ANSWER_CHARS = 200
CUE_CHARS = 140
CUE_LIMIT = 6
# Of one kind, so that the lessons of an episode are not all of a sort.
REPAIR_LIMIT = 3
STATEMENT_LIMIT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What the rules see of a case."""

    case: ReflectionCase
    policy: ReflectionPolicy
    tag_finder: TagFinder
    trajectory: Trajectory
    uses: tuple[ToolUse, ...]
    outcome: Outcome
    goal: str
    words: Words


class RuleCritic:
    """The critic that needs no model."""

    def __init__(self, policy: ReflectionPolicy, *, tag_finder: TagFinder) -> None:
        """Keep what the rules need besides the case.

        Args:
            policy: Confidence of a rule's lesson.
            tag_finder: Gives the taxonomy's tags for a text.
        """
        self._policy = policy
        self._tag_finder = tag_finder

    async def review(self, case: ReflectionCase) -> Reflection:
        """Return the critique of one episode; it never raises and never waits."""
        return review(case, policy=self._policy, tag_finder=self._tag_finder)


def review(case: ReflectionCase, *, policy: ReflectionPolicy, tag_finder: TagFinder) -> Reflection:
    """Return what rules learn from an episode.

    Args:
        case: The episode, its steps and what was recalled in it.
        policy: Confidence of a rule's lesson.
        tag_finder: Gives the taxonomy's tags for a text.

    Returns:
        At most `case.lesson_limit` lessons: repaired errors first, then what the user said
        about how things should be, what was found to hold, and the way that worked or failed.
    """
    view = _view(case, policy=policy, tag_finder=tag_finder)
    failures = sum(use.failed for use in view.uses)
    drafted = list(_lessons(view)) if view.goal else []
    return Reflection(
        summary=view.words.summary.format(
            goal=view.goal or view.words.unknown_goal, calls=len(view.uses), failures=failures
        ),
        outcome=view.outcome,
        critic="rules",
        went_well=say_way([use.tool for use in view.uses if use.ok])
        if view.outcome == "success"
        else "",
        to_change="; ".join(dict.fromkeys(use.error for use in view.uses if use.error)),
        lessons=_distinct(drafted)[: case.lesson_limit],
        verdicts=judge_recalled(case.trajectory, case.recalled),
    )


def _view(case: ReflectionCase, *, policy: ReflectionPolicy, tag_finder: TagFinder) -> _View:
    steps = tuple(step for step in case.trajectory.steps if step.kind != "briefing")
    trajectory = Trajectory(steps=steps, instructions=case.trajectory.instructions)
    # How the memory's own tools went is no lesson about the task.
    uses = tuple(use for use in tool_uses(trajectory) if use.tool not in MEMORY_TOOLS)
    outcome = case.episode.outcome
    return _View(
        case=case,
        policy=policy,
        tag_finder=tag_finder,
        trajectory=trajectory,
        uses=uses,
        outcome=judge_outcome(trajectory, uses) if outcome == "unknown" else outcome,
        goal=goal_of(trajectory, limit_chars=GOAL_CHARS),
        words=WORDS[case.language],
    )


def _lessons(view: _View) -> Iterator[Lesson]:
    """Yield lessons, the most useful kinds first."""
    for repair in repairs(view.uses, outcome=view.outcome)[:REPAIR_LIMIT]:
        yield _repair_lesson(view, repair)
    yield from _statement_lessons(view)
    if view.outcome == "success":
        yield from _ruling_lessons(view)
        yield from _way_lessons(view)
    elif view.outcome == "failure":
        yield from _failure_lessons(view)


def _repair_lesson(view: _View, repair: Repair) -> Lesson:
    words, use = view.words, repair.failed
    cues = [words.error_cue.format(tool=use.tool.replace("_", " "), error=use.error)]
    cues += _asked_before(view, use.position)
    content = _of_task(view, say_repair(repair, words=words))
    return _lesson(view, content, kind="procedural", cues=cues, evidence=repair.evidence)


def _statement_lessons(view: _View) -> Iterator[Lesson]:
    """Yield preferences, then corrections, then facts of the user."""
    said = statements(view.trajectory)
    preferences = [item for item in said if item.kind in ("preference", "request")]
    corrections = [item for item in said if item.kind == "correction"]
    facts = [item for item in said if item.kind == "fact"]
    for item in [*preferences[:STATEMENT_LIMIT], *corrections[:1], *facts[:1]]:
        template = {
            "preference": view.words.preference,
            "request": view.words.request,
            "correction": view.words.correction,
            "fact": view.words.fact,
        }[item.kind]
        content = template.format(said=item.text)
        of_task = item.kind == "correction"
        yield _lesson(
            view,
            _of_task(view, content) if of_task else content,
            kind="semantic",
            cues=[item.text],
            evidence=(Evidence(item.step.step_id, excerpt(item.quote, limit_chars=QUOTE_CHARS)),),
            # A wish of the user holds beyond this task, so its goal is no cue for it.
            with_goal=of_task,
        )


def _ruling_lessons(view: _View) -> Iterator[Lesson]:
    """Yield what the agent gave as the reason in a run that was a success."""
    ruling = best_ruling(view.trajectory)
    if ruling is None:
        return
    said = one_line(ruling.sentence, limit_chars=ANSWER_CHARS)
    quote = excerpt(ruling.sentence, limit_chars=QUOTE_CHARS)
    yield _lesson(
        view,
        _of_task(view, view.words.ruling.format(said=said)),
        kind="procedural",
        cues=[said, *_asked_before(view, len(view.trajectory.steps))],
        evidence=(Evidence(ruling.step.step_id, quote),),
    )


def _way_lessons(view: _View) -> Iterator[Lesson]:
    """Yield the tools that led to success, where there were at least two calls."""
    absent = missing_tools(view.uses)
    good = [use for use in view.uses if use.ok and use.tool not in absent]
    if len(good) < 2:
        return
    yield _lesson(
        view,
        _of_task(view, view.words.worked.format(way=say_way([use.tool for use in good]))),
        kind="procedural",
        cues=_asked_before(view, len(view.trajectory.steps)),
        evidence=(_quoted(good[0].call), _quoted(good[-1].call)),
    )


def _failure_lessons(view: _View) -> Iterator[Lesson]:
    """Yield what a failed run tried, and how it ended."""
    absent = missing_tools(view.uses)
    tried = [use for use in view.uses if use.tool not in absent]
    answer = last_answer(view.trajectory)
    if answer is None:
        return
    said = one_line(answer.text, limit_chars=ANSWER_CHARS)
    if tried:
        way = say_way([use.tool for use in tried])
        content = view.words.failed.format(way=way, answer=said)
        evidence = (_quoted(tried[-1].call), _quoted(answer))
    elif view.uses:
        return
    else:
        content = view.words.no_tool.format(answer=said)
        evidence = (_quoted(answer),)
    cues = _asked_before(view, len(view.trajectory.steps))
    whole = _of_task(view, content)
    yield _lesson(view, whole, kind="procedural", cues=cues, evidence=evidence)


def _of_task(view: _View, lesson: str) -> str:
    """Return a lesson with the task it comes from at its end, shortened: its cues say it whole."""
    goal = one_line(view.goal, limit_chars=TASK_CHARS)
    return view.words.task.format(lesson=lesson, goal=goal)


def _lesson(
    view: _View,
    content: str,
    *,
    kind: MemoryType,
    cues: Sequence[str],
    evidence: tuple[Evidence, ...],
    with_goal: bool = True,
) -> Lesson:
    """Return a lesson with its cues and tags, worth what the policy says of a rule's lesson."""
    about = [view.goal, *cues] if with_goal else list(cues)
    short = [one_line(cue, limit_chars=CUE_CHARS) for cue in about if cue.strip()]
    return Lesson(
        content=content,
        memory_type=kind,
        confidence=view.policy.confidence.rule_critic,
        source="rule_critic",
        cues=tuple(dict.fromkeys(short))[:CUE_LIMIT],
        tags=tuple(sorted(set(view.tag_finder("\n".join([content, *short]))))),
        evidence=evidence,
        intent=one_line(view.goal, limit_chars=INTENT_CHARS),
        language=view.case.language,
    )


def _asked_before(view: _View, position: int) -> list[str]:
    """Return what the user had asked before a step, the newest first, without small talk."""
    said = [
        one_line(without_greeting(step.text), limit_chars=CUE_CHARS)
        for step in view.trajectory.steps[:position]
        if step.kind == "user" and is_telling(step.text)
    ]
    return list(reversed(said))[:3]


def _quoted(step: Step) -> Evidence:
    return Evidence(step.step_id, excerpt(step.text, limit_chars=QUOTE_CHARS))


def _distinct(lessons: Sequence[Lesson]) -> tuple[Lesson, ...]:
    """Return the lessons whose content was not said before, in order."""
    return tuple({lesson.content.casefold(): lesson for lesson in reversed(lessons)}.values())[::-1]
