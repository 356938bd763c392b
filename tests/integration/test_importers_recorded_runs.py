"""Recordings as they really are: a live run written to a file, the shipped ones, public ones."""

from pathlib import Path

import pytest
from pydantic_ai import Agent, ModelMessagesTypeAdapter, ModelRetry
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit.errors import RecordingError
from agentkit.evaluation.importers import read_recordings
from agentkit.toolbox import load_toolbox, toolset


async def test_a_live_run_written_to_a_file_comes_back_with_its_failures(
    tmp_path: Path, repository: Path
) -> None:
    def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        calls = [
            [ToolCallPart("files_read_text", {"path": "../secret"}, "c1")],
            [ToolCallPart("fussy", {}, "c2"), ToolCallPart("notes_add", {"text": "好"}, "c3")],
            [ToolCallPart("no_such_tool", {}, "c4")],
        ]
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse(parts=calls[turn] if turn < len(calls) else [TextPart("done")])

    def fussy() -> str:
        raise ModelRetry("not now")

    box = load_toolbox([repository / "tools"], root=tmp_path)
    agent = Agent(FunctionModel(script), instructions="Be careful.", toolsets=[toolset(box)])
    agent.tool_plain(retries=3)(fussy)
    result = await agent.run("Go")
    file = tmp_path / "run.json"
    file.write_bytes(ModelMessagesTypeAdapter.dump_json(result.all_messages()))

    report = read_recordings(file, strict=True)

    (recording,) = report.recordings
    assert recording.trajectory.instructions == "Be careful."
    told = [(step.kind, step.tool, step.outcome) for step in recording.trajectory.steps]
    assert told == [
        ("user", None, None),
        ("tool_call", "files_read_text", None),
        ("tool_return", "files_read_text", "failed"),
        ("tool_call", "fussy", None),
        ("tool_call", "notes_add", None),
        ("tool_return", "fussy", "retried"),
        ("tool_return", "notes_add", "ok"),
        ("tool_call", "no_such_tool", None),
        ("tool_return", "no_such_tool", "retried"),
        ("model", None, None),
    ]


def test_the_shipped_sessions_are_whole_and_hold_failures_and_repairs(repository: Path) -> None:
    folder = repository / "evals" / "sessions"
    reports = [
        read_recordings(folder / name, strict=True)
        for name in ("office.openai.jsonl", "analyst.pydantic-ai.json")
    ]
    assert [report.format for report in reports] == ["openai-chat", "pydantic-ai"]
    tasks = [recording for report in reports for recording in report.recordings]
    assert len(tasks) == 13
    repaired = 0
    for task in tasks:
        returns = [step for step in task.trajectory.steps if step.kind == "tool_return"]
        calls = [step.call_id for step in task.trajectory.steps if step.kind == "tool_call"]
        assert sorted(str(step.call_id) for step in returns) == sorted(map(str, calls))
        failed = [step.outcome for step in returns].count("failed")
        repaired += bool(failed) and returns[-1].outcome == "ok"
        assert task.started_at is not None
        assert task.ended_at is not None
        assert task.started_at < task.ended_at
    assert repaired == 9
    assert sum(task.outcome == "failure" for task in tasks) == 1


@pytest.mark.data
def test_every_run_of_a_public_tau_bench_file_is_read(data: Path) -> None:
    report = read_recordings(data / "tau_bench" / "gpt-4o-airline_a.json", strict=True)
    outcomes = [recording.outcome for recording in report.recordings]
    assert (outcomes.count("success"), outcomes.count("failure")) == (31, 69)
    assert len({recording.source_id for recording in report.recordings}) == 100
    for recording in report.recordings:
        calls = [step.call_id for step in recording.trajectory.steps if step.kind == "tool_call"]
        assert len(calls) == len(set(calls))
        assert not any("###STOP###" in step.text for step in recording.trajectory.steps)


@pytest.mark.data
def test_a_public_file_of_damaged_lines_in_a_later_format_is_refused_in_one_line(
    data: Path,
) -> None:
    file = data.parent / "samples" / "claude_code_edge_cases.jsonl"
    if not file.is_file():
        pytest.skip("the samples are not here")
    with pytest.raises(RecordingError, match="is of no known format") as caught:
        read_recordings(file)
    assert "\n" not in str(caught.value)
