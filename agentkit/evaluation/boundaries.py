"""Asks the rules of `agentkit/working` about labelled cases, and says how often they are right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from rich.table import Table

from agentkit.errors import InputError
from agentkit.evaluation.boundary_cases import BoundaryCase, Trigger, read_cases
from agentkit.evaluation.embedding import VectorCache
from agentkit.evaluation.intervals import Interval, wilson
from agentkit.evaluation.report import JsonValue, cell, interval_json
from agentkit.evaluation.suites import BoundariesSuite, StepCosts
from agentkit.kit.closing import Closing
from agentkit.policy import Policy
from agentkit.policy.boundaries import BoundariesPolicy
from agentkit.ports import Embedder
from agentkit.records import Float32Array
from agentkit.working import Turn, decide, to_remember

# As many of the user's last characters as the running kit compares a prompt with.
TASK_CHARS = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryRow:
    """What one judge made of one trigger in one language.

    Attributes:
        trigger: The rule.
        language: Language of the cases.
        judge: `rules`; for `topic` also `words` (the same rule without an embedder), for `done`
            with an embedder also `meaning` (what runs: words, then what they leave open).
        positives: Cases in which it should fire.
        negatives: Cases in which it should not.
        precision: Share of its firings that were right, Wilson interval; NaN if it never fired.
        recall: Share of the positives in which it fired, Wilson interval.
        early_turns: Turns that left the bench though the task went on.
        early_steps: Steps of these turns.
        late_steps: Steps still carried though the task was over.
        cost: Weighted early and late steps a case; None where the rule ends no task.
        cost_never: The same if the rule never fired, for comparison.
    """

    trigger: Trigger
    language: str
    judge: str
    positives: int
    negatives: int
    precision: Interval
    recall: Interval
    early_turns: int
    early_steps: int
    late_steps: int
    cost: float | None
    cost_never: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundariesReport:
    """What the rules are worth.

    Attributes:
        suite: Name of the suite.
        title: One line on what was measured.
        half: `report` or `fit`.
        rows: One a trigger, language and judge.
        embedder: Fingerprint of the embedder, or "none".
        policy_fingerprint: Fingerprint of the policy.
        notes: Notes of the suite.
        wrong: Cases of the fit half that `rules` got wrong; always empty for `report`, which
            nobody who changes a rule may look into.
    """

    suite: str
    title: str
    half: str
    rows: tuple[BoundaryRow, ...]
    embedder: str
    policy_fingerprint: str
    notes: str
    wrong: tuple[BoundaryCase, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """Return the report as plain values for JSON; shares to four digits."""
        found: dict[str, JsonValue] = {
            "suite": self.suite,
            "half": self.half,
            "intervals": "wilson 95 %",
            "embedder": self.embedder,
            "policy": self.policy_fingerprint,
            "rows": [_row_json(row) for row in self.rows],
        }
        if self.wrong:
            found["wrong"] = [case.id for case in self.wrong]
        return found


async def evaluate_boundaries(
    suite: BoundariesSuite, data: Path, *, embedder: Embedder | None, policy: Policy
) -> BoundariesReport:
    """Return the figures of a boundary suite. Nothing is stored, and no model is asked.

    Args:
        suite: The suite.
        data: Folder of the cases.
        embedder: Who compares prompt and task for `topic`, and prompt and examples for `done`,
            or None.
        policy: Policy whose rules are asked, each alone.

    Raises:
        InputError: If a case is damaged, or none is left.
        EmbedderError: If the embedder fails.
    """
    cases = read_cases(data, half=suite.half, languages=suite.languages)
    cases = tuple(case for case in cases if case.trigger in suite.triggers)
    if not cases:
        raise InputError(f"{data}: no case of {', '.join(suite.triggers)} in the {suite.half} half")
    cosines = await _cosines(cases, embedder=embedder)
    rows: list[BoundaryRow] = []
    wrong: list[BoundaryCase] = []
    for trigger in suite.triggers:
        fired = {
            case.id: fires(case, policy=policy, cosine=cosines.get(case.id))
            for case in cases
            if case.trigger == trigger
        }
        asked = [case for case in cases if case.id in fired]
        wrong += [case for case in asked if fired[case.id] != case.fires]
        rows += _rows(asked, [fired[case.id] for case in asked], judge="rules", suite=suite)
        if trigger == "topic":
            bare = [fires(case, policy=policy, cosine=None) for case in asked]
            rows += _rows(asked, bare, judge="words", suite=suite)
        if trigger == "done" and embedder is not None:
            meant = await _meant(asked, embedder=embedder, policy=policy)
            rows += _rows(asked, meant, judge="meaning", suite=suite)
    identity = None if embedder is None else await embedder.identity()
    return BoundariesReport(
        suite=suite.name,
        title=suite.title,
        half=suite.half,
        rows=tuple(rows),
        embedder="none" if identity is None else identity.fingerprint,
        policy_fingerprint=policy.fingerprint,
        notes=suite.notes,
        wrong=tuple(wrong) if suite.half == "fit" else (),
    )


def fires(
    case: BoundaryCase, *, policy: Policy, cosine: float | None, margin: float | None = None
) -> bool:
    """Whether the rule of a case fires in it, every other rule switched off. Pure.

    Args:
        case: The case.
        policy: Words and thresholds.
        cosine: Cosine between prompt and task in [-1, 1], or None if unknown; for `topic`.
        margin: How far the prompt is on the side of closing, or None if unknown; for `done`.
    """
    turns = [
        Turn(user=turn.user, answer=turn.answer, tool_calls=turn.tool_calls) for turn in case.turns
    ]
    alone = _alone(policy.boundaries, case.trigger)
    match case.trigger:
        case "done":
            turns.append(Turn(user=case.prompt))
            return decide(turns, policy=alone, moment="turn_end", margin=margin) == "done"
        case "quiet":
            return decide(turns, policy=alone, moment="turn_end") == "quiet"
        case "topic":
            reason = decide(turns, policy=alone, moment="prompt", prompt=case.prompt, cosine=cosine)
            return reason == "topic"
        case "remember":
            return to_remember(case.prompt, policy=policy.working.remember) is not None
        case "reopen" | "forget":
            raise InputError(f"no rule of agentkit answers {case.trigger!r} yet; leave it out")
        case _:
            assert_never(case.trigger)


def table(report: BoundariesReport) -> Table:
    """Return the report as a table for the terminal.

    Args:
        report: What was found.
    """
    shown = Table(title=report.title)
    for heading in ("trigger", "language", "judge", "cases", "precision", "recall"):
        shown.add_column(heading)
    for heading in ("early turns/steps", "late steps", "cost", "never"):
        shown.add_column(heading, justify="right")
    for row in report.rows:
        shown.add_row(
            row.trigger,
            row.language,
            row.judge,
            f"{row.positives}+{row.negatives}",
            cell(row.precision),
            cell(row.recall),
            f"{row.early_turns}/{row.early_steps}",
            str(row.late_steps),
            "-" if row.cost is None else f"{row.cost:.2f}",
            "-" if row.cost_never is None else f"{row.cost_never:.2f}",
        )
    return shown


def caption(report: BoundariesReport) -> str:
    """Return the lines under the table; the wrong cases of the fit half, never of the other.

    Args:
        report: What was found.
    """
    lines = [f"{report.half} half; Wilson intervals, 95 %; embedder {report.embedder}"]
    lines += [report.notes] if report.notes else []
    lines += [f"wrong: {case.id} ({case.kind}): {case.prompt}" for case in report.wrong]
    return "\n".join(lines)


async def _cosines(cases: Sequence[BoundaryCase], *, embedder: Embedder | None) -> dict[str, float]:
    """Return the cosine of prompt and task by id, for cases of `topic`."""
    asked = [case for case in cases if case.trigger == "topic"]
    if embedder is None or not asked:
        return {}
    texts = [case.prompt for case in asked]
    texts += ["\n".join(turn.user for turn in case.turns)[-TASK_CHARS:] for case in asked]
    vectors: Float32Array = await VectorCache(None).embed(
        texts, kind="document", embedder=embedder, progress=lambda done: None
    )
    count = len(asked)
    return {case.id: float(vectors[at] @ vectors[count + at]) for at, case in enumerate(asked)}


async def _meant(
    cases: Sequence[BoundaryCase], *, embedder: Embedder, policy: Policy
) -> list[bool]:
    """Return whether each case of `done` ends its task by words and meaning together."""
    closing = Closing(embedder, policy=policy.boundaries, folder=None)
    await closing.prepare()
    margins = await closing.margins([case.prompt for case in cases])
    return [
        fires(case, policy=policy, cosine=None, margin=margin)
        for case, margin in zip(cases, margins, strict=True)
    ]


def _alone(policy: BoundariesPolicy, trigger: Trigger) -> BoundariesPolicy:
    """Return the policy with the rules of all other boundaries switched off."""
    off = {"enabled": False}
    kept = {
        "done": policy.done.model_copy(update=off),
        "quiet": policy.quiet.model_copy(update=off),
        "topic": policy.topic.model_copy(update=off),
        "idle": policy.idle.model_copy(update=off),
    }
    kept.pop(trigger, None)
    return policy.model_copy(update=kept)


def _rows(
    cases: Sequence[BoundaryCase], fired: Sequence[bool], *, judge: str, suite: BoundariesSuite
) -> Iterator[BoundaryRow]:
    for language in suite.languages:
        pairs = [
            (case, said)
            for case, said in zip(cases, fired, strict=True)
            if case.language == language
        ]
        if pairs:
            yield score(
                [case for case, _ in pairs],
                [said for _, said in pairs],
                judge=judge,
                costs=suite.costs,
            )


def score(
    cases: Sequence[BoundaryCase], fired: Sequence[bool], *, judge: str, costs: StepCosts
) -> BoundaryRow:
    """Return the figures of cases of one trigger and language. Pure.

    Too early: the rule fired though the task went on, so that its turns left the bench. Too late:
    it did not fire though the task was over, so that its steps are still carried.

    Args:
        cases: At least one case.
        fired: What the rule said of each.
        judge: Name of the judge.
        costs: What a step costs either way.
    """
    pairs = list(zip(cases, fired, strict=True))
    early = [case for case, said in pairs if said and not case.fires]
    late = [case for case, said in pairs if not said and case.fires]
    positives = sum(case.fires for case in cases)
    right = positives - len(late)
    ends_task = cases[0].trigger in ("done", "quiet", "topic")
    early_steps, late_steps = (sum(case.steps for case in part) for part in (early, late))
    carried = sum(case.steps for case in cases if case.fires)
    cost = costs.early_step * early_steps + costs.late_step * late_steps
    return BoundaryRow(
        trigger=cases[0].trigger,
        language=cases[0].language,
        judge=judge,
        positives=positives,
        negatives=len(cases) - positives,
        precision=wilson(right, of=right + len(early)),
        recall=wilson(right, of=positives),
        early_turns=sum(len(case.turns) for case in early) if ends_task else 0,
        early_steps=early_steps if ends_task else 0,
        late_steps=late_steps if ends_task else 0,
        cost=cost / len(cases) if ends_task else None,
        cost_never=costs.late_step * carried / len(cases) if ends_task else None,
    )


def _row_json(row: BoundaryRow) -> dict[str, JsonValue]:
    return {
        "trigger": row.trigger,
        "language": row.language,
        "judge": row.judge,
        "positives": row.positives,
        "negatives": row.negatives,
        **interval_json("precision", row.precision),
        **interval_json("recall", row.recall),
        "early_turns": row.early_turns,
        "early_steps": row.early_steps,
        "late_steps": row.late_steps,
        "cost": None if row.cost is None else round(row.cost, 4),
        "cost_never": None if row.cost_never is None else round(row.cost_never, 4),
    }
