import json
from pathlib import Path

import pytest

from agentkit.evaluation.importers import ImportReport, read_recordings
from agentkit.steps import BRIEFING_MARK

Part = dict[str, object]


def request(*parts: Part, **fields: object) -> dict[str, object]:
    return {"kind": "request", "parts": list(parts), **fields}


def response(*parts: Part, **fields: object) -> dict[str, object]:
    return {"kind": "response", "parts": list(parts), **fields}


def prompt(content: object) -> Part:
    return {"part_kind": "user-prompt", "content": content}


def text(content: str) -> Part:
    return {"part_kind": "text", "content": content}


def call(call_id: str, args: object = None, tool: str = "t") -> Part:
    return {"part_kind": "tool-call", "tool_name": tool, "tool_call_id": call_id, "args": args}


def answer(call_id: str, content: object, **fields: object) -> Part:
    return {
        "part_kind": "tool-return",
        "tool_name": "t",
        "tool_call_id": call_id,
        "content": content,
        **fields,
    }


def read(tmp_path: Path, document: object) -> ImportReport:
    file = tmp_path / "history.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    report = read_recordings(file)
    assert report.format == "pydantic-ai"
    return report


@pytest.mark.parametrize(
    ("content", "fields", "outcome"),
    [
        ("fine", {"outcome": "success"}, "ok"),
        ("fine", {}, "ok"),
        ("no", {"outcome": "failed"}, "failed"),
        ("no", {"outcome": "denied"}, "failed"),
        ("", {"outcome": "interrupted"}, "interrupted"),
        ("again", {"outcome": "retried"}, "retried"),
        ("Error: no such file", {"outcome": "success"}, "failed"),
        ({"error": "refused"}, {"outcome": "success"}, "failed"),
        ([1, 2], {}, "ok"),
        (None, {}, "ok"),
    ],
)
def test_the_recorded_outcome_of_a_tool_return_is_kept(
    tmp_path: Path, content: object, fields: dict[str, object], outcome: str
) -> None:
    report = read(tmp_path, [response(call("c")), request(answer("c", content, **fields))])
    assert report.recordings[0].trajectory.steps[1].outcome == outcome


def test_the_instructions_are_those_of_the_last_request(tmp_path: Path) -> None:
    system: Part = {"part_kind": "system-prompt", "content": "You are the ops helper."}
    report = read(
        tmp_path,
        [
            request(system, prompt("hi"), instructions="RULES v1"),
            response(text("hello"), model_name="m-1"),
            request(prompt("again"), instructions="RULES v2"),
        ],
    )
    trajectory = report.recordings[0].trajectory
    assert trajectory.instructions == "RULES v2"
    assert trajectory.model == "m-1"


def test_an_unknown_part_is_reported_and_everything_else_kept(tmp_path: Path) -> None:
    strange: Part = {"part_kind": "hologram", "content": "?"}
    thinking: Part = {"part_kind": "thinking", "content": "hm"}
    report = read(tmp_path, [request(prompt("hi"), strange), response(thinking, text("hello"))])
    assert [step.text for step in report.recordings[0].trajectory.steps] == ["hi", "hello"]
    assert [part.reason for part in report.skipped] == [
        """message 1: cannot use a part of kind "hologram\""""
    ]


def test_what_a_briefing_put_in_front_of_the_model_is_no_word_of_the_user(tmp_path: Path) -> None:
    mark: Part = {BRIEFING_MARK: "r-1"}
    recalled: Part = {"kind": "text-content", "content": "You learnt: x", "metadata": mark}
    report = read(
        tmp_path,
        [
            request(prompt([recalled])),
            request(prompt(["What now?", {"kind": "image-url", "url": "https://x/a.png"}])),
        ],
    )
    steps = report.recordings[0].trajectory.steps
    assert [(step.kind, step.text) for step in steps] == [
        ("briefing", "You learnt: x"),
        ("user", "What now?\n[image-url]"),
    ]


def test_calls_take_arguments_as_text_as_an_object_or_not_at_all(tmp_path: Path) -> None:
    report = read(tmp_path, [response(call("a", '{"x":1}'), call("b", {"列": 2}), call("c"))])
    texts = [step.text for step in report.recordings[0].trajectory.steps]
    assert texts == ['{"x":1}', '{"列":2}', "{}"]


def test_retry_parts_of_older_and_newer_releases_are_returns_to_be_retried(tmp_path: Path) -> None:
    older: Part = {
        "part_kind": "retry-prompt",
        "content": "bad args",
        "tool_name": "t",
        "tool_call_id": "c",
    }
    cause: Part = {"cause": "no_output", "attempt": 1, "max_retries": 3}
    newer: Part = {"part_kind": "retry-feedback", "content": "answer in JSON", "retry": cause}
    report = read(tmp_path, [response(call("c")), request(older), request(newer)])
    steps = report.recordings[0].trajectory.steps
    assert [(step.kind, step.outcome, step.call_id) for step in steps[1:]] == [
        ("tool_return", "retried", "c"),
        ("tool_return", "retried", None),
    ]


def test_a_list_of_histories_and_one_history_a_line_give_one_task_each(tmp_path: Path) -> None:
    first = [request(prompt("one"), conversation_id="talk 1")]
    second = [request(prompt("two"))]
    assert len(read(tmp_path, [first, second]).recordings) == 2
    file = tmp_path / "histories.jsonl"
    file.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n", encoding="utf-8")
    by_line = read_recordings(file, strict=True)
    assert [item.trajectory.goal for item in by_line.recordings] == ["one", "two"]
    assert by_line.recordings[0].session_id == "talk 1"
    assert by_line.recordings[1].session_id == by_line.recordings[1].source_id


def test_a_damaged_message_costs_only_itself(tmp_path: Path) -> None:
    messages = [json.dumps(request(prompt(word)), indent=1) for word in ("one", "two", "three")]
    messages[1] = messages[1].replace('"content"', '"content')
    file = tmp_path / "history.json"
    file.write_text("[" + ",\n".join(messages) + "]", encoding="utf-8")
    report = read_recordings(file)
    (recording,) = report.recordings
    assert [step.text for step in recording.trajectory.steps] == ["one", "three"]
    assert len(report.skipped) == 1


def test_times_are_those_of_the_parts(tmp_path: Path) -> None:
    early = {**prompt("hi"), "timestamp": "2026-11-30T18:00:00Z"}
    report = read(
        tmp_path, [request(early), response(text("yes"), timestamp="2026-11-30T18:00:05Z")]
    )
    recording = report.recordings[0]
    assert recording.started_at is not None
    assert recording.ended_at is not None
    assert (recording.ended_at - recording.started_at).total_seconds() == 5
