"""What an evaluation found: as values, as JSON, as a table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rich.table import Table

from agentkit.evaluation.intervals import Interval

JsonValue = str | int | float | bool | None | list["JsonValue"] | dict[str, "JsonValue"]
JSON_DIGITS = 4
ResampledBy = Literal["user", "query"]
_UNITS: Mapping[ResampledBy, str] = {"user": "users", "query": "questions"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """One row of the table.

    Attributes:
        arm: `lexical`, `dense`, `fixed`, `agentkit`, or the name of what was asked.
        metrics: Mean and interval by metric name, in the order of the suite.
        abstained: Questions without an answer for which nothing came back.
    """

    arm: str
    metrics: Mapping[str, Interval]
    abstained: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """How much better one arm is than another, question by question.

    Attributes:
        metric: Name of the metric.
        arm: The arm that is looked at.
        against: The best other arm by that metric.
        difference: Mean and interval of the paired difference.
    """

    metric: str
    arm: str
    against: str
    difference: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelResult:
    """The rows for the questions of one kind.

    Attributes:
        label: Kind of the questions in the corpus, such as `zh-en`.
        arms: One row an arm, over these questions alone.
        n_queries: Questions of the kind that have an answer.
    """

    label: str
    arms: tuple[ArmResult, ...]
    n_queries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalReport:
    """What an evaluation found. It holds no time of day, so that two runs compare byte by byte.

    Attributes:
        suite: Name of the suite.
        title: One line on what was measured.
        data: Where the data came from, as given.
        half: Questions asked: `report`, `fit` or `all`.
        arms: One row an arm.
        gains: Paired gain of the last arm over the best other one, by metric.
        n_queries: Questions with an answer; every mean is over these.
        undefined: Questions without an answer; they are in no mean.
        n_memories: Memories in all, or None where they were not counted.
        n_groups: Users.
        resampled_by: `user` or `query`: what the intervals were drawn over.
        embedder: Fingerprint of the embedder, or "none".
        policy_fingerprint: Fingerprint of the policy in force, or "".
        flags: Warnings for the reader, such as a k that covers the whole store.
        notes: Notes of the suite.
        labels: The rows by kind of question, sorted; empty where the suite does not ask.
    """

    suite: str
    title: str
    data: str
    half: str
    arms: tuple[ArmResult, ...]
    gains: tuple[Gain, ...]
    n_queries: int
    undefined: int
    n_memories: int | None
    n_groups: int
    resampled_by: ResampledBy
    embedder: str
    policy_fingerprint: str
    flags: tuple[str, ...] = ()
    notes: str = ""
    labels: tuple[LabelResult, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """Return the report as plain values for JSON; means and intervals to four digits.

        A mean over no question at all is null.
        """
        found: dict[str, JsonValue] = {
            "suite": self.suite,
            "data": self.data,
            "half": self.half,
            "n_queries": self.n_queries,
            "n_memories": self.n_memories,
            "n_groups": self.n_groups,
            "resampled_by": self.resampled_by,
            "embedder": self.embedder,
            "policy": self.policy_fingerprint,
            "arms": {row.arm: _arm_json(row) for row in self.arms},
            "gains": {gain.metric: _gain_json(gain) for gain in self.gains},
            "undefined": {
                "queries": self.undefined,
                "abstained": {row.arm: row.abstained for row in self.arms},
            },
            "flags": list(self.flags),
        }
        if self.labels:
            found["labels"] = {one.label: _label_json(one) for one in self.labels}
        return found

    def arm(self, name: str) -> ArmResult:
        """Return one row.

        Raises:
            KeyError: If there is no such arm.
        """
        found = next((row for row in self.arms if row.arm == name), None)
        if found is None:
            raise KeyError(name)
        return found


def table(report: EvalReport) -> Table:
    """Return the report as a table for the terminal: best values in bold, intervals below.

    Print `caption(report)` under it: a table would break its lines.

    Args:
        report: What was found.
    """
    names = list(report.arms[0].metrics) if report.arms else []
    best = {name: max(_rounded(row.metrics[name].mean) for row in report.arms) for name in names}
    shown = Table(title=report.title)
    shown.add_column("arm")
    for name in names:
        shown.add_column(name, justify="right")
    for row in report.arms:
        cells = (_cell(row.metrics[name], best=best[name]) for name in names)
        shown.add_row(row.arm, *cells)
    return shown


def caption(report: EvalReport) -> str:
    """Return the lines under the table: what was asked, the gain, the warnings.

    Args:
        report: What was found.
    """
    part = "" if report.half == "all" else f" ({report.half} half)"
    memories = "" if report.n_memories is None else f"{report.n_memories} memories of "
    lines = [
        f"{report.n_queries} questions{part} over {memories}{report.n_groups} users; "
        f"95 % intervals over resampled {_UNITS[report.resampled_by]}; "
        f"embedder {report.embedder}"
    ]
    lines.extend(
        f"{one.label} ({one.n_queries} questions): "
        + ", ".join(
            f"{name} {measured.mean:.3f} [{measured.low:.2f}, {measured.high:.2f}]"
            for name, measured in one.arms[-1].metrics.items()
        )
        for one in report.labels
    )
    lines.extend(
        f"{gain.metric}: {gain.arm} {gain.difference.mean:+.3f} "
        f"[{gain.difference.low:+.3f}, {gain.difference.high:+.3f}] against {gain.against}"
        for gain in report.gains
    )
    if report.undefined:
        said = ", ".join(f"{row.arm} {row.abstained}" for row in report.arms)
        asked = "1 question has" if report.undefined == 1 else f"{report.undefined} questions have"
        lines.append(f"{asked} no answer; of these, left unanswered: {said}")
    lines.extend(report.flags)
    return "\n".join(lines)


def cell(measured: Interval) -> str:
    """Return a share with its interval on the line below, `-` where there is none.

    Args:
        measured: The share.
    """
    return _cell(measured, best=math.inf)


def interval_json(name: str, measured: Interval) -> dict[str, JsonValue]:
    """Return a value and its interval under `<name>` and `<name>_ci`, to four digits.

    Args:
        name: Name of what was measured.
        measured: The value; NaN gives null.
    """
    return {
        name: _number(measured.mean),
        f"{name}_ci": [_number(measured.low), _number(measured.high)],
    }


def _arm_json(row: ArmResult) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for name, measured in row.metrics.items():
        found.update(interval_json(name, measured))
    return found


def _label_json(one: LabelResult) -> dict[str, JsonValue]:
    arms: dict[str, JsonValue] = {row.arm: _arm_json(row) for row in one.arms}
    return {"n_queries": one.n_queries, "arms": arms}


def _gain_json(gain: Gain) -> dict[str, JsonValue]:
    return {
        "arm": gain.arm,
        "against": gain.against,
        "difference": _number(gain.difference.mean),
        "difference_ci": [_number(gain.difference.low), _number(gain.difference.high)],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, JSON_DIGITS)


def _rounded(value: float) -> float:
    return -1.0 if math.isnan(value) else round(value, 3)


def _cell(measured: Interval, *, best: float) -> str:
    if math.isnan(measured.mean):
        return "-"
    text = f"{measured.mean:.3f}"
    spread = f"\n[dim]{measured.low:.2f}-{measured.high:.2f}[/dim]"
    return (f"[bold]{text}[/bold]" if _rounded(measured.mean) == best else text) + spread
