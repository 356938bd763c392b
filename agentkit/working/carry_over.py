"""What a session carries over a boundary: a short summary of the task that just ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentkit.records import MEMORY_TOOLS, EndReason, Language, Outcome, Step
from agentkit.text import cut_tokens, is_farewell, language_of

# Ends after which a session goes on; what was closed or imported is not gone on with.
CARRIED: frozenset[EndReason] = frozenset({"done", "quiet", "topic", "idle", "recovered"})
# Calls that are named of a task without an answer, the last ones.
MOST_CALLS = 6
# Below this many tokens for all its words a carry-over says nothing.
LEAST_TOKENS = 16
# Share of the words that the goal may take where there is more to say.
_GOAL_SHARE = 0.35


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedCall:
    """One tool call of a task that was cut off.

    Attributes:
        tool: Name of the tool.
        outcome: `ok`, `failed`, `retried`, or `interrupted` where no return was kept.
        result: What it returned, cut to fit, or "".
    """

    tool: str
    outcome: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOver:
    """The task that ended, as the template `carry_over` sees it.

    Attributes:
        goal: What the user wanted.
        outcome: `success`, `failure` or `unknown`.
        cut_off: Whether the task did not end but its process died.
        answer: The last answer that says something, or "".
        calls: Tool calls in order, where no answer followed them.
        language: Language the user spoke.
    """

    goal: str
    outcome: Outcome
    cut_off: bool
    answer: str
    calls: tuple[CarriedCall, ...]
    language: Language

    def variables(self) -> dict[str, object]:
        """Return the variables of the template by name."""
        return {
            "goal": self.goal,
            "outcome": self.outcome,
            "cut_off": self.cut_off,
            "answer": self.answer,
            "calls": self.calls,
        }


def carried(
    steps: Sequence[Step], *, goal: str, outcome: Outcome, end_reason: EndReason
) -> CarryOver | None:
    """Return what is carried over from a sealed task, at full length.

    Args:
        steps: Steps of the task; briefings are left out, so that nothing is carried twice.
        goal: Goal of the episode.
        outcome: Outcome of the episode.
        end_reason: Which boundary ended it.

    Returns:
        The carry-over; None where the session did not go on after it, or nothing was asked.
    """
    if end_reason not in CARRIED or not goal.strip():
        return None
    lived = [step for step in steps if step.kind != "briefing"]
    answer = _answer(lived)
    said = "\n".join(step.text for step in lived if step.kind == "user")
    return CarryOver(
        goal=_flat(goal),
        outcome=outcome,
        cut_off=end_reason == "recovered",
        answer=answer,
        calls=() if answer else _calls(lived),
        language=language_of(said or goal),
    )


def fitted(
    found: CarryOver,
    *,
    budget_tokens: int,
    render: Callable[[CarryOver], str],
    estimate: Callable[[str], int],
) -> str:
    """Return the longest rendering of a carry-over within a budget, or "" where none fits.

    Args:
        found: The carry-over at full length.
        budget_tokens: Most tokens of the whole text, wrapper included; 0 for none.
        render: Renders the template, wrapper and all.
        estimate: Counts the tokens of a text.
    """
    best = ""
    low, high = LEAST_TOKENS, budget_tokens
    while low <= high:
        middle = (low + high) // 2
        text = render(_cut(found, middle))
        if estimate(text) <= budget_tokens:
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best


def _cut(found: CarryOver, tokens: int) -> CarryOver:
    """The carry-over with at most so many tokens of words, the wrapper not counted."""
    more = bool(found.answer or found.calls)
    goal = cut_tokens(found.goal, int(tokens * _GOAL_SHARE) if more else tokens)
    each = (tokens - int(tokens * _GOAL_SHARE)) // max(len(found.calls), 1)
    return CarryOver(
        goal=goal,
        outcome=found.outcome,
        cut_off=found.cut_off,
        answer=cut_tokens(found.answer, each),
        calls=tuple(
            CarriedCall(tool=call.tool, outcome=call.outcome, result=cut_tokens(call.result, each))
            for call in found.calls
        ),
        language=found.language,
    )


def _answer(steps: Sequence[Step]) -> str:
    """The last answer that is more than a farewell; "" where the task ended in a tool."""
    last = next((step for step in reversed(steps) if step.kind != "user"), None)
    if last is None or last.kind != "model":
        return ""
    spoken = [step.text for step in steps if step.kind == "model" and step.text.strip()]
    telling = [text for text in spoken if not is_farewell(text)]
    return _flat((telling or spoken or [""])[-1])


def _calls(steps: Sequence[Step]) -> tuple[CarriedCall, ...]:
    """The last tool calls with what became of them; one without a return was interrupted."""
    returns = {step.call_id: step for step in steps if step.kind == "tool_return" and step.call_id}
    made = [
        step
        for step in steps
        if step.kind == "tool_call" and step.tool and step.tool not in MEMORY_TOOLS
    ]
    return tuple(_call(step, returns.get(step.call_id or "")) for step in made[-MOST_CALLS:])


def _call(step: Step, returned: Step | None) -> CarriedCall:
    return CarriedCall(
        tool=_flat(step.tool or ""),
        outcome="interrupted" if returned is None else returned.outcome or "ok",
        result="" if returned is None else _flat(returned.text),
    )


def _flat(text: str) -> str:
    return " ".join(text.split())
