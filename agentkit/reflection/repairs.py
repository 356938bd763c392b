"""Failures of a run and what mended them, as drafts of lessons."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agentkit.records import Evidence, Outcome
from agentkit.reflection.gist import plain
from agentkit.reflection.quotes import excerpt
from agentkit.reflection.tooluse import Change, ToolUse, changes, missing_tools, share_a_value

QUOTE_CHARS = 200
# Bounds of the search for what mended a failure: later calls of the tool, and their arguments.
COMPARED_CALLS = 6
COMPARED_CHARS = 1_000
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
        between: Other tools that worked between the two, in order, each once.
        detour: How the last call of the same tool that worked between the two differs from the
            failed one, for `again`: what it did made the same call work.
    """

    failed: ToolUse
    fix: FixKind
    worked: ToolUse | None
    changed: tuple[Change, ...] = ()
    between: tuple[str, ...] = ()
    detour: tuple[Change, ...] = ()

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
    mended = _likest(use, [other for other in later if other.tool == use.tool and other.ok])
    if mended is not None:
        changed = changes(use.call, mended.call)
        before = later[: later.index(mended)]
        between = dict.fromkeys(step.tool for step in before if step.ok)
        between.pop(use.tool, None)
        same = [other for other in before if other.ok and other.tool == use.tool]
        return Repair(
            failed=use,
            fix="changed" if changed else "again",
            worked=mended,
            changed=changed,
            between=tuple(between),
            detour=changes(use.call, same[-1].call) if same and not changed else (),
        )
    other = next((step for step in later if step.ok), None)
    # Another tool replaced it only where it was given the same thing to work on.
    if outcome == "success" and other is not None and share_a_value(use.call, other.call):
        return Repair(failed=use, fix="instead", worked=other)
    return Repair(failed=use, fix="unsolved", worked=None)


def _likest(use: ToolUse, worked: Sequence[ToolUse]) -> ToolUse | None:
    """Return the call most like the one that failed, the first of equals, or None.

    The next call of a tool is often another step, such as a look at the columns of a table
    before the query is put right.
    """

    def likeness(other: ToolUse) -> float:
        ours, theirs = use.call.text[:COMPARED_CHARS], other.call.text[:COMPARED_CHARS]
        return difflib.SequenceMatcher(None, ours, theirs, autojunk=False).ratio()

    return max(worked[:COMPARED_CALLS], key=likeness, default=None)


def _evidence(use: ToolUse) -> Evidence:
    step = use.result or use.call
    return Evidence(step.step_id, excerpt(step.text, limit_chars=QUOTE_CHARS))
