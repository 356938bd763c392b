"""Models that say what they are told to: no key, no network, the same every time."""

from collections.abc import AsyncIterator, Sequence

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit.steps import prompt_text

Reply = str | ToolCallPart | Sequence[ModelResponsePart]


class Script:
    """The replies of a scripted model, and what it was sent.

    Attributes:
        requests: The messages of each request, in order.
    """

    def __init__(self, replies: Sequence[Reply]) -> None:
        """Take the replies in order; the last one is repeated for ever.

        Raises:
            ValueError: If there is no reply.
        """
        if not replies:
            raise ValueError("give at least one reply")
        self._replies = list(replies)
        self.requests: list[list[ModelMessage]] = []

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """Give the next reply, and keep what was asked."""
        del info
        self.requests.append(list(messages))
        reply = self._replies[min(len(self.requests), len(self._replies)) - 1]
        if isinstance(reply, str):
            return ModelResponse(parts=[TextPart(reply)])
        if isinstance(reply, ToolCallPart):
            return ModelResponse(parts=[reply])
        return ModelResponse(parts=list(reply))

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        """Give the next reply word by word; only text can be streamed."""
        for part in self.answer(messages, info).parts:
            if isinstance(part, TextPart):
                for word in part.content.split(" "):
                    yield word + " "

    def sent(self, request: int = -1) -> str:
        """Return all text that a request's user parts held, briefing included.

        Args:
            request: Which request, as an index of `requests`.
        """
        return "\n".join(
            prompt_text(part.content)
            for message in self.requests[request]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, UserPromptPart)
        )


def scripted_with(script: Script) -> FunctionModel:
    """Return a model that plays a script, for tests that look at what it was sent.

    Args:
        script: Replies in order.
    """
    return FunctionModel(script.answer, stream_function=script.stream, model_name="scripted")


def scripted(*replies: Reply) -> FunctionModel:
    """Return a model that gives these replies in order, then the last one for ever.

    Args:
        *replies: Texts, tool calls, or lists of parts; at least one.

    Raises:
        ValueError: If there is no reply.
    """
    return scripted_with(Script(replies))


def scripted_agent(
    script: Script, *, instructions: str, capabilities: Sequence[AbstractCapability[object]] = ()
) -> Agent[object, str]:
    """Return an agent whose model plays a script: what is sent can be read from the script.

    Args:
        script: Replies in order.
        instructions: System text.
        capabilities: Such as `Hindsight(kit, user_id=...)`.
    """
    return Agent(scripted_with(script), instructions=instructions, capabilities=list(capabilities))
