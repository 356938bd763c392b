"""The workbench on real messages: pairs whole, system text once, the newest prompt unaltered."""

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentkit.capability.bench import fit_messages
from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy

SYSTEM = "You are the ops helper."
FULL_TOKENS = 400


def disk_check() -> list[ModelMessage]:
    """The session of WM-01; its last request is the run that is going on."""
    return [
        ModelRequest([SystemPromptPart(SYSTEM), UserPromptPart("Check disk on web-3")]),
        ModelResponse(
            [
                ToolCallPart("df", {"host": "web-3"}, tool_call_id="c1"),
                ToolCallPart("uptime", {"host": "web-3"}, tool_call_id="c2"),
            ]
        ),
        ModelRequest(
            [
                ToolReturnPart("df", "91%", tool_call_id="c1"),
                ToolReturnPart("uptime", "12 days", tool_call_id="c2"),
            ]
        ),
        ModelResponse([TextPart("Disk is at 91%.")]),
        ModelRequest([UserPromptPart("And on web-4?")], run_id="now"),
    ]


def test_no_budget_splits_a_pair_or_loses_system_text_or_the_newest_prompt() -> None:
    """WM-01, every budget."""
    refused: list[str] = []
    fitted = 0
    for budget_tokens in range(200, 200 + FULL_TOKENS):
        # The policy's least budget is 200 tokens: instructions take the rest away.
        messages = disk_check()
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        last.instructions = "x" * 4 * (FULL_TOKENS - (budget_tokens - 200))
        policy = WorkingPolicy(budget_tokens=FULL_TOKENS)
        try:
            view = fit_messages(messages, run_id="now", policy=policy)
        except InputError as error:
            refused.append(str(error))
            continue
        fitted += 1
        parts = [part for message in view for part in message.parts]
        calls = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
        returns = [part.tool_call_id for part in parts if isinstance(part, ToolReturnPart)]
        assert sorted(calls) == sorted(returns)
        system = [part.content for part in parts if isinstance(part, SystemPromptPart)]
        assert system == [SYSTEM]
        prompts = [part.content for part in parts if isinstance(part, UserPromptPart)]
        assert prompts[-1] == "And on web-4?"
    assert fitted
    assert refused
    assert all("budget" in line for line in refused)


def test_the_stored_history_is_left_as_it_was() -> None:
    """WM-04: what is fitted is a view."""
    messages = disk_check()
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    last.instructions = "x" * 4 * 340
    policy = WorkingPolicy(budget_tokens=FULL_TOKENS)
    view = fit_messages(messages, run_id="now", policy=policy)
    assert len(view) < len(messages)
    assert [len(message.parts) for message in messages] == [2, 2, 2, 1, 1]
