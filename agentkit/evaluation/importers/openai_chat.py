"""OpenAI chat JSON Lines: one conversation a line."""

from collections.abc import Mapping

from agentkit.evaluation.importers.openai_messages import step_through
from agentkit.evaluation.importers.reading import Format, Rated, Reading, digest, rate
from agentkit.evaluation.importers.source import JsonValue, as_list, as_object, as_text
from agentkit.evaluation.importers.stepping import instant, untimed
from agentkit.records import Outcome, Recording

_OUTCOMES: Mapping[str, Outcome] = {
    "success": "success",
    "failure": "failure",
    "unknown": "unknown",
}


def _recognises(value: JsonValue) -> bool:
    line = as_object(value)
    messages = None if line is None else as_list(line.get("messages"))
    return messages is not None and any("role" in (as_object(item) or {}) for item in messages)


def _read(value: JsonValue) -> Reading:
    line = as_object(value) or {}
    messages = as_list(line.get("messages")) or ()
    stepping = step_through(messages)
    rated = _rated(line)
    others = (rated.problem, untimed(line, "started_at", "ended_at"))
    problems = (*stepping.problems, *filter(None, others))
    if not stepping.steps:
        return Reading(recording=None, problems=(*problems, "the conversation has no steps"))
    source_id = _name(line.get("id")) or f"sha256 {digest(messages)}"
    recording = Recording(
        source_id=source_id,
        trajectory=stepping.trajectory(model=as_text(line.get("model"))),
        session_id=_name(line.get("session_id")) or source_id,
        outcome=rated.outcome,
        reward=rated.reward,
        started_at=instant(line.get("started_at")) or stepping.steps[0].at,
        ended_at=instant(line.get("ended_at")) or stepping.steps[-1].at,
    )
    return Reading(recording=recording, problems=problems)


def _rated(line: Mapping[str, JsonValue]) -> Rated:
    """Return the rating of a line; its `outcome` says more than its `reward`."""
    rated = rate(line.get("reward"))
    said = line.get("outcome")
    if said is None:
        return rated
    outcome = _OUTCOMES.get(said) if isinstance(said, str) else None
    if outcome is None:
        problem = f"outcome {said!r:.40} is not success, failure or unknown; left out"
        return Rated(rated.reward, rated.outcome, problem)
    return Rated(rated.reward, outcome, rated.problem)


def _name(value: JsonValue) -> str:
    """Return an id as text; "" if there is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip()


OPENAI_CHAT = Format(
    name="openai-chat",
    expects='one {"messages": [{"role", "content"}, ...]} a line',
    recognises=_recognises,
    read=_read,
)
