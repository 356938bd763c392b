"""Pins are read off the steps: what was pinned, what was let go, and what was refused."""

import json
from datetime import UTC, datetime

from agentkit.policy.working import WorkingPolicy
from agentkit.records import Step, StepOutcome
from agentkit.text import estimate_tokens
from agentkit.working import Pin, handle_of, note_pin, pins_of, said_of, with_pin

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = WorkingPolicy(result_head_chars=40, result_tail_chars=20, note_tokens=10)
RESULT = handle_of(tool="read", call_id="c1", at=AT)


def used(
    tool: str, arguments: object, returned: str, *, call_id: str, outcome: StepOutcome = "ok"
) -> list[Step]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return [
        Step(step_id="", kind="tool_call", text=text, tool=tool, call_id=call_id, at=AT),
        Step(
            step_id="",
            kind="tool_return",
            text=returned,
            tool=tool,
            call_id=call_id,
            outcome=outcome,
            at=AT,
        ),
    ]


READ = used("read", {}, "HEAD " + "x" * 2_000 + " TAIL", call_id="c1")


def pinned(*steps: Step) -> tuple[Pin, ...]:
    return pins_of(steps, policy=POLICY)


def test_a_pinned_result_is_kept_as_it_stands_on_the_bench() -> None:
    call = used("workbench_pin", {"handle": RESULT}, f"pinned as {RESULT}; it", call_id="p")
    (pin,) = pinned(*READ, *call)
    assert (pin.handle, pin.kind, pin.tool) == (RESULT, "result", "read")
    assert pin.text.startswith("HEAD ")
    assert pin.text.endswith(" TAIL")
    assert len(pin.text) < 200


def test_a_pinned_note_is_cut_to_its_size_and_told_by_its_handle() -> None:
    note = note_pin(
        "  the budget of the harbour is 4,200 euro and no more than that  ", policy=POLICY
    )
    assert estimate_tokens(note.text) <= 10
    assert note.text.startswith("the budget")
    assert note.handle in said_of(note)
    assert note.handle.startswith("n-")


def test_a_note_with_a_masked_secret_keeps_the_handle_that_the_model_was_told() -> None:
    told = note_pin("the key is sk-1", policy=POLICY)
    (pin,) = pinned(*used("workbench_pin", {"note": "the key is [x]"}, said_of(told), call_id="p"))
    assert (pin.handle, pin.text) == (told.handle, "the key is [x]")


def test_what_was_unpinned_is_gone() -> None:
    note = note_pin("mind the gap", policy=POLICY)
    steps = used("workbench_pin", {"note": "mind the gap"}, said_of(note), call_id="p")
    assert len(pinned(*steps)) == 1
    freed = used("workbench_unpin", {"handle": note.handle}, "unpinned", call_id="u")
    assert pinned(*steps, *freed) == ()


def test_pinning_that_failed_pins_nothing() -> None:
    refused = used("workbench_pin", {"note": "x"}, "too much", call_id="p", outcome="failed")
    unknown = used("workbench_pin", {"handle": "r-unknown"}, "pinned", call_id="q")
    broken = used("workbench_pin", "{not json", "pinned", call_id="r")
    assert pinned(*refused, *unknown, *broken) == ()


def test_pinned_twice_is_pinned_once_and_the_newest_is_last() -> None:
    first, second = note_pin("one", policy=POLICY), note_pin("two", policy=POLICY)
    assert with_pin((first, second), first) == (second, first)
