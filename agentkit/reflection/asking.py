"""The one place where the reflection room calls a model. Tools are never given to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from agentkit.errors import ReflectionError
from agentkit.reflection.choose import Rung
from agentkit.reflection.output import Output
from agentkit.reflection.secrets import redact
from agentkit.text import one_line

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

ERROR_CHARS = 300
# One more chance inside a run; further tries ask in another way, see `choose.plan_attempt`.
OUTPUT_RETRIES = 1
_PASSING_HTTP = frozenset({408, 409, 425, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Output]):
    """A typed answer and what it cost.

    Attributes:
        output: The answer.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
    """

    output: Output
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """An answer in words and what it cost.

    Attributes:
        text: The answer.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
    """

    text: str
    tokens_in: int
    tokens_out: int


def model_name(model: "Model | str") -> str:
    """Return the model string under which a model is logged."""
    return model if isinstance(model, str) else f"{model.system}:{model.model_name}"


def takes_schema(model: "Model | str") -> bool:
    """Whether a model answers by JSON schema of its own accord.

    Raises:
        ReflectionError: If the model string is unknown or its provider is not set up.
    """
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        profile = infer_model(model).profile
    except (UserError, ValueError, ImportError) as error:
        raise _not_set_up(model, error) from error
    return profile.get("default_structured_output_mode") == "native"


async def ask(
    prompt: str,
    *,
    model: "Model | str",
    output: type[Output],
    parse: Callable[[str], Output],
    rung: Rung,
    timeout_s: float,
    instructions: str = "",
    history: "Sequence[ModelMessage]" = (),
) -> Answer[Output]:
    """Return a model's typed answer to a prompt.

    Args:
        prompt: The prompt.
        model: Model or model string.
        output: What the answer must be.
        parse: Reads the answer out of text; used where the model answers in text.
        rung: `native` schema, `tool` call or text, or `text` alone.
        timeout_s: Seconds the run may take.
        instructions: System text, or "".
        history: Messages before the prompt, without the briefing.

    Raises:
        ReflectionError: If nothing usable came back; says whether trying again makes sense.
    """
    from pydantic_ai import ModelRetry, NativeOutput, TextOutput, ToolOutput

    problems: list[ReflectionError] = []

    def read(text: str) -> Output:
        """Read the answer, or ask the model once more."""
        try:
            return parse(text)
        except ReflectionError as error:
            problems.append(error)
            raise ModelRetry(f"{error}. Answer with one whole JSON object.") from error

    wanted: Any = {
        "native": NativeOutput(output),
        "tool": [ToolOutput(output), TextOutput(read)],
        "text": TextOutput(read),
    }[rung]
    result = await _run(
        prompt,
        model=model,
        output_type=wanted,
        timeout_s=timeout_s,
        instructions=instructions,
        history=history,
        problems=problems,
    )
    usage = result.usage
    return Answer(
        output=result.output, tokens_in=usage.input_tokens, tokens_out=usage.output_tokens
    )


async def ask_text(prompt: str, *, model: "Model | str", timeout_s: float) -> Prose:
    """Return a model's answer in words.

    Args:
        prompt: The prompt.
        model: Model or model string.
        timeout_s: Seconds the run may take.

    Raises:
        ReflectionError: If nothing came back.
    """
    result = await _run(prompt, model=model, output_type=str, timeout_s=timeout_s)
    usage = result.usage
    return Prose(
        text=str(result.output), tokens_in=usage.input_tokens, tokens_out=usage.output_tokens
    )


async def _run(
    prompt: str,
    *,
    model: "Model | str",
    output_type: Any,
    timeout_s: float,
    instructions: str = "",
    history: "Sequence[ModelMessage]" = (),
    problems: Sequence[ReflectionError] = (),
) -> Any:
    """Run a fresh agent without tools, and translate what may go wrong."""
    from pydantic_ai import Agent
    from pydantic_ai.exceptions import AgentRunError, FallbackExceptionGroup, UserError

    try:
        agent: Agent[object, Any] = Agent(
            model,
            output_type=output_type,
            instructions=instructions or None,
            retries=OUTPUT_RETRIES,
        )
        return await agent.run(
            prompt, message_history=list(history) or None, timeout=timeout_s, infer_name=False
        )
    except (UserError, ValueError, ImportError) as error:
        raise _not_set_up(model, error) from error
    except (AgentRunError, FallbackExceptionGroup) as error:
        raise _translated(model, error, problems) from error


def _not_set_up(model: "Model | str", error: Exception) -> ReflectionError:
    return ReflectionError(f"{model_name(model)} cannot be asked: {_line(error)}", retryable=False)


def _translated(
    model: "Model | str", error: Exception, problems: Sequence[ReflectionError]
) -> ReflectionError:
    """Return an error of pydantic-ai as ours, without any part of the model's answer."""
    from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior

    who = model_name(model)
    if isinstance(error, UnexpectedModelBehavior):
        why = str(problems[-1]) if problems else "its answer had not the form asked for"
        unusable = problems[-1].unusable if problems else True
        return ReflectionError(f"{who}: {why}", retryable=_passing(error), unusable=unusable)
    retry_after_s = error.retry_after if isinstance(error, ModelAPIError) else None
    return ReflectionError(
        f"{who} did not answer: {_line(error)}",
        retryable=_passing(error),
        retry_after_s=retry_after_s,
    )


def _passing(error: Exception) -> bool:
    """Whether the same question, asked later or shorter, may be answered."""
    from pydantic_ai.exceptions import (
        ContentFilterError,
        ModelContextWindowExceededError,
        ModelHTTPError,
        ModelQuotaExceededError,
        ModelRequestRejectedError,
        UsageLimitExceeded,
    )

    if isinstance(error, ModelContextWindowExceededError):
        return True
    if isinstance(
        error,
        ContentFilterError
        | ModelQuotaExceededError
        | ModelRequestRejectedError
        | UsageLimitExceeded,
    ):
        return False
    if isinstance(error, ModelHTTPError):
        return error.status_code >= 500 or error.status_code in _PASSING_HTTP
    return True


def _line(error: Exception) -> str:
    """Return an error on one line without secrets."""
    return one_line(redact(str(error) or type(error).__name__).text, limit_chars=ERROR_CHARS)
