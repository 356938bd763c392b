"""Where a task ends. Pure rules; the phrases and thresholds are in `memory/boundaries.yaml`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from agentkit.policy.boundaries import BoundariesPolicy, DoneRule, QuietRule, TopicRule
from agentkit.records import EndReason, Step
from agentkit.text import terms
from agentkit.working.phrases import clauses, present, says_more, tidy, unquoted, without

Moment = Literal["turn_end", "prompt", "tick", "close", "start"]

_SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the user said, and what came of it.

    Attributes:
        user: The user's words.
        answer: The last text of the model before the next prompt, or "".
        tool_calls: Number of tool calls in between.
    """

    user: str
    answer: str = ""
    tool_calls: int = 0


def turns_of(steps: Iterable[Step]) -> tuple[Turn, ...]:
    """Return the turns of a task, in order; prompts in a row are one turn.

    Args:
        steps: Steps in order; what stands before the first prompt counts to no turn.
    """
    turns: list[Turn] = []
    answered = True
    for step in steps:
        if step.kind == "user":
            if answered or not turns:
                turns.append(Turn(user=step.text))
            else:
                turns[-1] = Turn(user=f"{turns[-1].user}\n{step.text}")
            answered = False
            continue
        if not turns or step.kind in ("briefing", "tool_return"):
            continue
        answered = True
        last = turns[-1]
        calls = last.tool_calls + (step.kind == "tool_call")
        answer = step.text if step.kind == "model" else last.answer
        turns[-1] = Turn(user=last.user, answer=answer, tool_calls=calls)
    return tuple(turns)


def decide(
    turns: Sequence[Turn],
    *,
    policy: BoundariesPolicy,
    moment: Moment,
    idle_s: float = 0.0,
    prompt: str = "",
    cosine: float | None = None,
    margin: float | None = None,
) -> EndReason | None:
    """Return why the open task ends now, or None when it goes on.

    Args:
        turns: Turns of the open task, in order; none means that nothing is open.
        policy: Phrases, thresholds and switches.
        moment: `turn_end` after an answer (looks at `done`, `quiet`), `prompt` before a new
            prompt is run (`idle`, `topic`), `tick` from a timer (`idle`), `close` when the
            session is closed (`closed`), `start` for a task left by a dead process (`recovered`).
        idle_s: Seconds since the last step, for `prompt` and `tick`.
        prompt: The new prompt, for `prompt`; it is no part of `turns`.
        cosine: Cosine between the new prompt and the task in [-1, 1], or None if unknown.
        margin: How far the last message is on the side of closing, for `turn_end`, or None if
            unknown; see `agentkit.working.closing`.
    """
    if not turns:
        return None
    match moment:
        case "turn_end":
            if policy.done.enabled and (
                is_done(turns[-1].user, rule=policy.done)
                or means_done(turns, margin=margin, rule=policy.done)
            ):
                return "done"
            return "quiet" if policy.quiet.enabled and is_quiet(turns, rule=policy.quiet) else None
        case "prompt" | "tick":
            idle = policy.idle
            if idle.enabled and idle_s >= idle.after_minutes * _SECONDS_PER_MINUTE:
                return "idle"
            changed = policy.topic.enabled and is_new_topic(
                prompt, cosine=cosine, rule=policy.topic
            )
            return "topic" if moment == "prompt" and changed else None
        case "close":
            return "closed" if policy.closed.enabled else None
        case "start":
            return "recovered" if policy.recovered.enabled else None
        case _:
            assert_never(moment)


def is_done(text: str, *, rule: DoneRule) -> bool:
    """Whether the user says that the task is over and asks nothing new in the same breath.

    A message of nothing but thanks or endings is one; so is a statement whose last clause is an
    ending. A question mark, or a word that asks, means that it goes on. What is quoted counts
    for nothing.

    Args:
        text: What the user said.
        rule: The words.
    """
    said = unquoted(tidy(text))
    thanked, ended = present(said, rule.thanks), present(said, rule.endings)
    if not (thanked or ended) or "?" in said:
        return False
    other = without(said, rule.endings, rule.thanks)
    if present(other, rule.asks):
        return False
    if not says_more(without(other, rule.fillers)):
        return True
    last = clauses(said)[-1]
    return present(last, rule.endings) and not says_more(
        without(last, rule.endings, rule.thanks, rule.fillers)
    )


def open_to_meaning(turns: Sequence[Turn], *, rule: DoneRule) -> bool:
    """Whether the last message may end the task though its words do not say so.

    It does not if it opens the task, asks, quotes, is long, or if the answer before it awaits
    something: a message that ends a task elsewhere then is what was awaited.

    Args:
        turns: Turns of the task, in order.
        rule: The words.
    """
    if not rule.meaning.enabled or len(turns) < 2:
        return False
    said, answer = tidy(turns[-1].user), tidy(turns[-2].answer)
    if not says_more(said) or "?" in said + answer or unquoted(said) != said:
        return False
    if len(terms(said)) > rule.meaning.most_terms:
        return False
    asks = present(without(said, rule.endings, rule.thanks), rule.asks)
    return not asks and not present(answer, rule.meaning.awaits)


def means_done(turns: Sequence[Turn], *, margin: float | None, rule: DoneRule) -> bool:
    """Whether the last message means that the task is over.

    Args:
        turns: Turns of the task, in order.
        margin: How far it is on the side of closing, or None if unknown.
        rule: Threshold and words.
    """
    if margin is None or margin < rule.meaning.least_margin:
        return False
    return open_to_meaning(turns, rule=rule)


def is_quiet(turns: Sequence[Turn], *, rule: QuietRule) -> bool:
    """Whether work was done with tools, and the last turns were only talk that concluded.

    A task in which no tool was called never becomes quiet: a chat is not cut to pieces. Nor does
    one whose user is still asking, or whose last answer promises, awaits or misses something.

    Args:
        turns: Turns of the task, in order.
        rule: Number of turns and words.
    """
    tail = turns[-rule.turns :]
    if len(tail) < rule.turns or any(turn.tool_calls for turn in tail):
        return False
    worked = any(turn.tool_calls for turn in turns[: -rule.turns])
    asked = tidy(tail[-1].user)
    if not worked or "?" in asked or present(asked, rule.doubts):
        return False
    return _concludes(tail[-1].answer, rule=rule)


def is_new_topic(prompt: str, *, cosine: float | None, rule: TopicRule) -> bool:
    """Whether a prompt is about something else than the task.

    Args:
        prompt: The new prompt.
        cosine: Cosine between prompt and task in [-1, 1], or None if unknown.
        rule: Threshold and words.
    """
    if cosine is None or cosine >= rule.least_cosine:
        return False
    if len(terms(prompt)) < rule.least_terms:
        return False
    return not present(tidy(prompt), rule.references)


def _concludes(answer: str, *, rule: QuietRule) -> bool:
    """Whether an answer leaves no question open but an offer of more help."""
    said = tidy(answer)
    if not said or present(without(said, rule.offers), rule.pending):
        return False
    questions = [part for part in said.splitlines()[-1].split(". ") if "?" in part]
    return not questions or present(questions[-1], rule.offers)
