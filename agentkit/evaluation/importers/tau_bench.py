"""tau-bench results: a list of runs with their reward."""

from agentkit.evaluation.importers.openai_messages import step_through
from agentkit.evaluation.importers.reading import Format, Reading, rate
from agentkit.evaluation.importers.source import JsonValue, as_list, as_object, as_text
from agentkit.records import Recording

_STOP = "###STOP###"


def _recognises(value: JsonValue) -> bool:
    run = as_object(value)
    return run is not None and "task_id" in run and as_list(run.get("traj")) is not None


def _read(value: JsonValue) -> Reading:
    run = as_object(value) or {}
    messages = as_list(run.get("traj")) or ()
    stepping = step_through([_without_stop(message) for message in messages])
    rated = rate(run.get("reward"))
    problems = (*stepping.problems, *([rated.problem] if rated.problem else ()))
    if not stepping.steps:
        return Reading(recording=None, problems=(*problems, "the run has no steps"))
    name = f"task {run.get('task_id')} trial {run.get('trial', 0)}"
    recording = Recording(
        source_id=name,
        trajectory=stepping.trajectory(model=None),
        session_id=name,
        outcome=rated.outcome,
        reward=rated.reward,
    )
    return Reading(recording=recording, problems=problems)


def _without_stop(message: JsonValue) -> JsonValue:
    """Return a message without the mark by which the simulated user hangs up."""
    fields = as_object(message)
    said = None if fields is None else as_text(fields.get("content"))
    if fields is None or said is None or fields.get("role") != "user":
        return message
    return {**fields, "content": said.replace(_STOP, "").strip()}


TAU_BENCH = Format(
    name="tau-bench",
    expects="a JSON list of {task_id, trial, reward, traj: [chat messages]}",
    recognises=_recognises,
    read=_read,
)
