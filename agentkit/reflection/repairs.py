"""Failures of a run and what mended them, as drafts of lessons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agentkit.records import Evidence, Outcome
from agentkit.reflection.gist import plain
from agentkit.reflection.quotes import excerpt
from agentkit.reflection.tooluse import Change, ToolUse, changes, missing_tools, share_a_value

QUOTE_CHARS = 200
FixKind = Literal["changed", "again", "instead", "unsolved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A failed tool use and what worked after it.

    Attributes:
        failed: The use that failed.
        fix: How it was mended: `changed` arguments, `again` as it was, another tool `instead`,
            or not at all (`unsolved`).
        worked: The use that worked, or None when unsolved.
        changed: Arguments that differ, for `changed`.
        between: Tools that worked between the two, in order, each once.
    """

    failed: ToolUse
    fix: FixKind
    worked: ToolUse | None
    changed: tuple[Change, ...] = ()
    between: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The error, and the call that worked, quoted."""
        found = [_evidence(self.failed)]
        if self.worked is not None:
            call = self.worked.call
            quote = excerpt(call.text, limit_chars=QUOTE_CHARS)
            found.append(Evidence(call.step_id, quote))
        return tuple(found)


def repairs(uses: Sequence[ToolUse], *, outcome: Outcome) -> tuple[Repair, ...]:
    """Return one repair for each distinct error, mended ones first, then in order.

    Names that are no tools are left out: nothing may recommend calling one.

    Args:
        uses: The tool uses of a task, in order.
        outcome: How the task ended; what replaced a tool counts only in a success.
    """
    absent = missing_tools(uses)
    found: dict[str, Repair] = {}
    for at, use in enumerate(uses):
        if not use.failed or use.tool in absent or not use.error:
            continue
        later = [other for other in uses[at + 1 :] if other.tool not in absent]
        # The last failure of a chain stands nearest to what mended it, so it overwrites.
        found[f"{use.tool} {plain(use.error)}"] = _repair(use, later, outcome=outcome)
    return tuple(sorted(found.values(), key=lambda repair: repair.fix == "unsolved"))


def _repair(use: ToolUse, later: Sequence[ToolUse], *, outcome: Outcome) -> Repair:
    for at, other in enumerate(later):
        if other.tool == use.tool and other.ok:
            changed = changes(use.call, other.call)
            between = dict.fromkeys(step.tool for step in later[:at] if step.ok)
            between.pop(use.tool, None)
            return Repair(
                failed=use,
                fix="changed" if changed else "again",
                worked=other,
                changed=changed,
                between=tuple(between),
            )
    other = next((step for step in later if step.ok), None)
    # Another tool replaced it only where it was given the same thing to work on.
    if outcome == "success" and other is not None and share_a_value(use.call, other.call):
        return Repair(failed=use, fix="instead", worked=other)
    return Repair(failed=use, fix="unsolved", worked=None)


def _evidence(use: ToolUse) -> Evidence:
    step = use.result or use.call
    return Evidence(step.step_id, excerpt(step.text, limit_chars=QUOTE_CHARS))
