"""A trajectory cut to a budget: whole steps, head and tail kept, and a note of what is missing."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentkit.records import Step, StepKind, StepOutcome, Trajectory
from agentkit.text import cut_tokens, estimate_tokens

# What the wrapper of a step (id, kind, tool, outcome) takes in the prompt templates.
STEP_OVERHEAD_TOKENS = 16
# The end of a run says how it went, the start what was wanted: the end gets more.
HEAD_SHARE = 0.4
# A cut text keeps more of its head; errors and totals stand in its tail.
HEAD_SHARE_OF_STEP = 0.6
LEAST_STEP_TOKENS = 4
_MARK = "\n[… {tokens} tokens left out …]\n"
_MARK_TOKENS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptStep:
    """A step as a model is shown it.

    Attributes:
        step_id: Id in the trajectory; quotes name it.
        kind: Who spoke.
        tool: Tool name, or None.
        outcome: How a tool return ended, or None.
        text: The text, cut in the middle where it was too long.
        cut: Whether it was cut.
    """

    step_id: str
    kind: StepKind
    tool: str | None
    outcome: StepOutcome | None
    text: str
    cut: bool

    @property
    def tokens(self) -> int:
        """Estimated tokens, wrapper included."""
        return estimate_tokens(self.text) + STEP_OVERHEAD_TOKENS


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A bounded view of a trajectory. Briefing steps are never in it.

    Attributes:
        head: Steps from the start.
        omitted: Steps of the middle that did not fit, in order, uncut.
        tail: Steps up to the end; all steps are in `head` when nothing was left out.
        tokens: Estimated tokens of head and tail.
    """

    head: tuple[TranscriptStep, ...]
    omitted: tuple[Step, ...]
    tail: tuple[TranscriptStep, ...]
    tokens: int

    @property
    def left_out(self) -> str:
        """Which steps are missing, such as `s0004-s0019`, or ""."""
        if not self.omitted:
            return ""
        first, last = self.omitted[0].step_id, self.omitted[-1].step_id
        return first if first == last else f"{first}-{last}"


def bound_transcript(trajectory: Trajectory, *, budget_tokens: int, step_tokens: int) -> Transcript:
    """Return the steps that fit a budget, whole, from both ends.

    Steps longer than `step_tokens` are cut in their middle first. If all fit, all stay.
    Otherwise the head gets two fifths of the budget, the tail the rest; what lies between is
    left out and named. Same trajectory and budget, same result.

    Args:
        trajectory: The full trajectory.
        budget_tokens: Estimated tokens for all steps with their wrappers, at least 0.
        step_tokens: Longest single step, estimated tokens, at least 1.
    """
    steps = [step for step in trajectory.steps if step.kind != "briefing"]
    shown = [_shorten(step, limit_tokens=step_tokens) for step in steps]
    total = sum(step.tokens for step in shown)
    if total <= budget_tokens:
        return Transcript(head=tuple(shown), omitted=(), tail=(), tokens=total)
    head_tokens = int(budget_tokens * HEAD_SHARE)
    # The goal is worth a cut of its own: without it nothing else can be judged.
    if shown and shown[0].tokens > head_tokens:
        limit = max(head_tokens - STEP_OVERHEAD_TOKENS, LEAST_STEP_TOKENS)
        shown[0] = _shorten(steps[0], limit_tokens=limit)
    head = _fitting(shown, budget_tokens=head_tokens)
    rest = list(reversed(shown[len(head) :]))
    spent = sum(step.tokens for step in head)
    tail = list(reversed(_fitting(rest, budget_tokens=budget_tokens - spent)))
    middle = steps[len(head) : len(steps) - len(tail)]
    return Transcript(
        head=tuple(head),
        omitted=tuple(middle),
        tail=tuple(tail),
        tokens=spent + sum(step.tokens for step in tail),
    )


def chunk_steps(
    steps: Sequence[Step], *, chunk_tokens: int, step_tokens: int, limit: int
) -> tuple[tuple[TranscriptStep, ...], ...]:
    """Return steps in chunks of about equal budget, for summarising what did not fit.

    Args:
        steps: Steps in order.
        chunk_tokens: Estimated tokens of one chunk, at least one step each.
        step_tokens: Longest single step.
        limit: Most chunks; the steps of the middle are dropped beyond it, at least 1.

    Returns:
        Chunks in order; the first and the last ones when there are more than `limit`.
    """
    chunks: list[list[TranscriptStep]] = []
    size = 0
    for step in steps:
        shown = _shorten(step, limit_tokens=step_tokens)
        if not chunks or size + shown.tokens > chunk_tokens:
            chunks.append([])
            size = 0
        chunks[-1].append(shown)
        size += shown.tokens
    if len(chunks) > limit:
        front = (limit + 1) // 2
        chunks = chunks[:front] + chunks[len(chunks) - (limit - front) :]
    return tuple(tuple(chunk) for chunk in chunks)


def _fitting(steps: Sequence[TranscriptStep], *, budget_tokens: int) -> list[TranscriptStep]:
    """Return the longest run of first steps within a budget."""
    kept: list[TranscriptStep] = []
    spent = 0
    for step in steps:
        spent += step.tokens
        if spent > budget_tokens:
            break
        kept.append(step)
    return kept


def _shorten(step: Step, *, limit_tokens: int) -> TranscriptStep:
    """Return a step whose text is cut in the middle to a number of tokens."""
    text = _cut_middle(step.text, limit_tokens=limit_tokens)
    return TranscriptStep(
        step_id=step.step_id,
        kind=step.kind,
        tool=step.tool,
        outcome=step.outcome,
        text=text,
        cut=text != step.text,
    )


def _cut_middle(text: str, *, limit_tokens: int) -> str:
    # No text of so few characters can be too long: saves counting the huge ones twice.
    if len(text) <= limit_tokens or estimate_tokens(text) <= limit_tokens:
        return text
    room = limit_tokens - _MARK_TOKENS
    if room < 2 * LEAST_STEP_TOKENS:
        return cut_tokens(text[: 4 * limit_tokens + 4], limit_tokens)
    head_tokens = int(room * HEAD_SHARE_OF_STEP)
    tail_tokens = room - head_tokens
    # A token is at most four characters, so longer slices could never fit.
    head = cut_tokens(text[: 4 * head_tokens + 4], head_tokens).removesuffix("…")
    tail = cut_tokens(text[-(4 * tail_tokens + 4) :][::-1], tail_tokens)[::-1].removeprefix("…")
    missing = estimate_tokens(text) - estimate_tokens(head) - estimate_tokens(tail)
    return head + _MARK.format(tokens=missing) + tail
