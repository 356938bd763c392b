"""Messages in the shape of OpenAI chat completions, as steps."""

from collections.abc import Mapping, Sequence

from agentkit.evaluation.importers.source import (
    JsonValue,
    as_list,
    as_object,
    as_text,
    compact,
)
from agentkit.evaluation.importers.stepping import Stepping, instant, outcome_of, untimed

Message = Mapping[str, JsonValue]


def step_through(messages: Sequence[JsonValue]) -> Stepping:
    """Return the steps of a list of chat messages; unusable messages become problems.

    Args:
        messages: As recorded: roles system, developer, user, assistant, tool and function.
    """
    stepping = Stepping()
    for number, item in enumerate(messages, start=1):
        message = as_object(item)
        if message is None:
            stepping.problems.append(f"message {number} is no object")
            continue
        for problem in (_add(message, stepping), untimed(message, "timestamp")):
            if problem:
                stepping.problems.append(f"message {number}: {problem}")
    return stepping


def content_text(content: JsonValue) -> str:
    """Return the text of a message's content; parts that are no text are named in brackets.

    Args:
        content: A text, a list of parts, an object, or null.
    """
    if content is None:
        return ""
    parts = as_list(content)
    if parts is not None and all(isinstance(part, str | Mapping) for part in parts):
        return "\n".join(filter(None, map(_part_text, parts)))
    return content if isinstance(content, str) else compact(content)


def _part_text(part: JsonValue) -> str:
    if isinstance(part, str):
        return part
    fields = as_object(part) or {}
    for key in ("text", "refusal", "content"):
        text = as_text(fields.get(key))
        if text is not None:
            return text
    kind = as_text(fields.get("type"))
    # Any other object is data that a tool gave back, not a part of a message.
    return f"[{kind}]" if kind else compact(fields)


def _add(message: Message, stepping: Stepping) -> str:
    """Add one message; return what was wrong with it, or ""."""
    role = message.get("role")
    text = content_text(message.get("content"))
    at = instant(message.get("timestamp"))
    if role in ("system", "developer"):
        stepping.system.append(text)
    elif role == "user":
        stepping.say("user", text, at=at)
    elif role == "assistant":
        stepping.say("model", text or as_text(message.get("refusal")) or "", at=at)
        return _add_calls(message, stepping)
    elif role in ("tool", "function"):
        stepping.answer(
            text,
            call_id=as_text(message.get("tool_call_id")),
            tool=as_text(message.get("name")),
            outcome="failed" if message.get("is_error") is True else outcome_of(text),
            at=at,
        )
    else:
        return f"unknown role {role!r:.40}"
    return ""


def _add_calls(message: Message, stepping: Stepping) -> str:
    calls = list(as_list(message.get("tool_calls")) or ())
    legacy = as_object(message.get("function_call"))
    if legacy is not None:
        calls.append({"function": legacy})
    at = instant(message.get("timestamp"))
    unusable = 0
    for item in calls:
        call = as_object(item) or {}
        function = as_object(call.get("function")) or as_object(call.get("custom")) or {}
        name = as_text(function.get("name"))
        if not name:
            unusable += 1
            continue
        arguments = function.get("arguments", function.get("input"))
        stepping.call(name, _arguments(arguments), call_id=as_text(call.get("id")), at=at)
    return f"{unusable} tool calls without a name" if unusable else ""


def _arguments(value: JsonValue) -> str:
    if value is None:
        return "{}"
    return value if isinstance(value, str) else compact(value)
