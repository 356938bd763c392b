"""The bench over pydantic-ai messages: any history, whole or broken, at every budget."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentkit.capability.bench import fit_messages
from agentkit.errors import InputError
from agentkit.policy.working import WorkingPolicy

RUN = "run-now"
SYSTEM = "You are the ops helper. 请简短回答。"
NOW = "and on web-4? 再看一下"
WORDS = st.text(alphabet="ab 日本語한", max_size=40)
RESULTS = st.integers(0, 120).map(lambda number: "行 of data, " * number)
# Few, so that an id comes again in later responses.
CALL_IDS = st.sampled_from(["c1", "c2", "c3"])


def policy(budget_tokens: int) -> WorkingPolicy:
    return WorkingPolicy(
        budget_tokens=budget_tokens,
        goal_tokens=20,
        large_result_tokens=100,
        result_head_chars=60,
        result_tail_chars=30,
    )


@st.composite
def answers(draw: st.DrawFn) -> list[ModelMessage]:
    """A response with calls, and returns for some of them and now and then for none."""
    asked = draw(st.lists(CALL_IDS, max_size=3, unique=True))
    text = draw(st.one_of(st.none(), WORDS))
    said: list[ModelResponsePart] = [] if text is None else [TextPart(text)]
    said += [ToolCallPart("df", {"host": one}, tool_call_id=one) for one in asked]
    answered = draw(st.lists(CALL_IDS, max_size=3, unique=True))
    returned: list[ModelRequestPart] = [
        ToolReturnPart("df", draw(RESULTS), tool_call_id=one) for one in answered
    ]
    return [ModelResponse(said), *([ModelRequest(returned)] if returned else [])]


@st.composite
def histories(draw: st.DrawFn) -> list[ModelMessage]:
    """An old conversation, whole or broken anywhere, and the prompt of the run that goes on."""
    goal = UserPromptPart(draw(WORDS))
    messages: list[ModelMessage] = [ModelRequest([SystemPromptPart(SYSTEM), goal])]
    for _ in range(draw(st.integers(0, 4))):
        messages += draw(answers())
        if draw(st.booleans()):
            messages.append(ModelRequest([UserPromptPart(draw(WORDS))]))
    messages.append(ModelRequest([UserPromptPart(NOW)], run_id=RUN))
    return messages


def fitted(messages: list[ModelMessage], budget_tokens: int) -> list[ModelMessage]:
    return fit_messages(messages, run_id=RUN, policy=policy(budget_tokens))


def broken_pairs(messages: list[ModelMessage]) -> list[str]:
    """Calls without a return behind them, and returns without a call before them."""
    open_calls: list[str] = []
    lone: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                open_calls.append(part.tool_call_id)
            elif isinstance(part, ToolReturnPart) and part.tool_call_id in open_calls:
                open_calls.remove(part.tool_call_id)
            elif isinstance(part, ToolReturnPart):
                lone.append(part.tool_call_id)
    return open_calls + lone


def texts(messages: list[ModelMessage], kind: type[SystemPromptPart | UserPromptPart]) -> list[str]:
    parts = [part for message in messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, kind)]


@settings(deadline=None, max_examples=40)
@given(histories())
def test_a_view_of_any_history_is_whole_at_every_budget(messages: list[ModelMessage]) -> None:
    size_before = 0
    for budget_tokens in (*range(200, 1_000, 20), 5_000):
        view = fitted(messages, budget_tokens)
        assert broken_pairs(view) == []
        assert texts(view, SystemPromptPart) == [SYSTEM]
        assert texts(view, UserPromptPart).count(NOW) == 1
        assert all(message.parts for message in view if isinstance(message, ModelRequest))
        size = sum(len(message.parts) for message in view)
        assert size >= size_before, "a larger budget never keeps less"
        size_before = size


@settings(deadline=None, max_examples=20)
@given(histories(), st.integers(200, 400))
def test_a_newest_turn_over_the_budget_is_one_error_that_names_it(
    messages: list[ModelMessage], budget_tokens: int
) -> None:
    too_long = ModelRequest([UserPromptPart("看" * 500)], run_id=RUN)
    with pytest.raises(InputError, match=f"budget of {budget_tokens}"):
        fitted([*messages[:-1], too_long], budget_tokens)


@settings(deadline=None, max_examples=40)
@given(histories(), st.integers(200, 1_500))
def test_the_same_history_gives_the_same_view_and_is_left_as_it_was(
    messages: list[ModelMessage], budget_tokens: int
) -> None:
    before = repr(messages)
    first, again = fitted(messages, budget_tokens), fitted(list(messages), budget_tokens)
    assert repr(first) == repr(again)
    assert repr(messages) == before
